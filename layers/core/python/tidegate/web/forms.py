"""Forms that pages send."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from tidegate.web.refusals import ForgedRequest, InvalidRequest

#: Fields of a form: one for each selected plan, and some more.
_MOST_FIELDS = 50


def form_of(event: Any, url: str) -> dict[str, list[str]]:
    """Return a form's values by field. Raise ForgedRequest if another site than the pages at ``url`` sent it."""
    origin = event.headers.get("origin")
    if origin is not None and origin != url:
        raise ForgedRequest
    try:
        return parse_qs(event.decoded_body or "", keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidRequest("The form has too many fields.") from error
