"""What the reconciler remembers of failed webhooks, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.ports import Asked


@dataclass(slots=True)
class MemoryRedeliveries:
    """The port ``Redeliveries``."""

    remembered: dict[str, Asked] = field(default_factory=dict)

    def asked(self, guid: str) -> Asked | None:
        return self.remembered.get(guid)

    def remember(self, guid: str, asked: Asked) -> None:
        self.remembered[guid] = asked
