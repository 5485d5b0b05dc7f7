"""Ports with other methods in place of some of their own."""

from __future__ import annotations

from typing import Any


class With:
    """A port with other methods in place of some of its own."""

    def __init__(self, port: object, **methods: Any) -> None:
        self.port = port
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)
