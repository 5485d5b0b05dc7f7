"""The state machines, and stored objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ObjectStart:
    """The first bytes of a stored object, and of the whole the size in bytes and the SHA-256 in hexadecimal."""

    content: bytes
    size: int
    sha256: str = ""


class Workflows(Protocol):
    def start_deploy(self, execution: str, queue: str) -> None:
        """Start the deploy machine under this execution name. Started before is success."""

    def ending(self, execution: str) -> str | None:
        """Return how a deploy execution ended, in Step Functions' word; None while it runs.

        Raise NotFound when there is none of this name (any more: they are kept for 90 days).
        """

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        """Answer a task token. Raise TooLate when nobody waits for it any more."""

    def fail(self, token: str, error: str, cause: str) -> None:
        """Fail a task token. Raise TooLate when nobody waits for it any more."""


class Artifacts(Protocol):
    def get(self, key: str) -> bytes:
        """Return a stored object. Raise NotFound."""

    def get_start(self, key: str, size: int) -> ObjectStart:
        """Return at most the first ``size`` bytes of a stored object. Raise NotFound."""

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
