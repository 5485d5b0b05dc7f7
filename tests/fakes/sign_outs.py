"""Sessions that were ended, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class MemorySignOuts:
    """The port ``SignOuts``."""

    ended: set[str] = field(default_factory=set)

    def end(self, session: str, expires_at: int) -> None:
        del expires_at  # Nothing expires in memory.
        self.ended.add(session)

    def is_ended(self, session: str) -> bool:
        return session in self.ended
