"""Answers of the API: JSON with attribute access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_cli.problems import Unavailable

CHECK_INSTALLATION = "Check that TIDEGATE_URL (or --url) is Tidegate's, and that `tidegate --version` matches it."


class Answer:
    """An object of the API's JSON. For the type checker it is the API's model in tidegate.web.

    Nothing is validated: values of newer installations are shown as they are.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        """Return a field. Raise Unavailable if the answer lacks it."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._fields:
            raise Unavailable(f"The response of the installation has no field `{name}`.", CHECK_INSTALLATION)
        return _read(self._fields[name])


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        return Answer(value)
    return [_read(each) for each in value] if isinstance(value, list) else value


def as_json(answer: Any) -> Any:
    """Return an answer as the API gave it."""
    return answer._fields  # An attribute without a line before it would be a field.
