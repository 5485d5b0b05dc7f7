"""Maps events to verbs, and wires this process' ports."""

from __future__ import annotations

from tidegate.ports.wiring import Ports

_ports: list[Ports] = []


def wiring() -> Ports:
    """Return this process' ports, created on first use."""
    if not _ports:
        _ports.append(Ports())
    return _ports[0]


def use(ports: Ports | None) -> None:
    """Replace the ports (None: create new ones on next use)."""
    _ports[:] = [] if ports is None else [ports]
