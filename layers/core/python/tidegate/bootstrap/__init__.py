"""The wiring: the only place that knows use cases and adapters.

Everything is made when it is first used and kept while the function is warm, so that a function reads
only its own settings and imports only its own adapters. Tests put another ``Bootstrap`` in its place.
"""

from __future__ import annotations

from tidegate.bootstrap.pages import WebPages


class Bootstrap(WebPages):
    """All use cases on their ports."""


_wiring: list[Bootstrap] = []


def wiring() -> Bootstrap:
    """Return the wiring of this process."""
    if not _wiring:
        _wiring.append(Bootstrap())
    return _wiring[0]


def use(bootstrap: Bootstrap | None) -> None:
    """Put another wiring in place (None: make a new one when it is needed next)."""
    _wiring[:] = [] if bootstrap is None else [bootstrap]
