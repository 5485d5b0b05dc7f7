"""What leads from events to verbs, and the ports of this process."""

from __future__ import annotations

from tidegate.ports.wiring import Ports

_ports: list[Ports] = []


def wiring() -> Ports:
    """Return the ports of this process, made when they are first asked for."""
    if not _ports:
        _ports.append(Ports())
    return _ports[0]


def use(ports: Ports | None) -> None:
    """Put other ports in place (None: make new ones when they are needed next)."""
    _ports[:] = [] if ports is None else [ports]
