"""The context key ``destinations``: where notifications may go."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.notifications.rules.destination import Destination, DestinationRefused, destination, to_text
from tidegate_cdk.runner_settings import Context, InvalidContext

_KEY = "destinations"
#: Of the 4 KB for all variables of a function, what these may take.
_MOST_BYTES = 1_200


def read_destinations(context: Context) -> tuple[Destination, ...]:
    """Return the destinations of this context. Raise InvalidContext for the first that cannot be used."""
    given = context.try_get_context(_KEY) or {}
    if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
        raise InvalidContext(_KEY, given, "destinations by their names")
    try:
        found = tuple(destination(name, each) for name, each in given.items())
    except DestinationRefused as error:
        raise InvalidContext(_KEY, error.problem, f"{error.allowed[:1].lower()}{error.allowed[1:]}") from None
    if len(to_text(found)) > _MOST_BYTES:
        raise InvalidContext(_KEY, f"{len(given)} destinations", f"destinations of {_MOST_BYTES} bytes in all")
    return found
