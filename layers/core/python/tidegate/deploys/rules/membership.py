"""A deployment's membership in its change."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import WaveRules


@dataclass(frozen=True, slots=True)
class Membership:
    """Which change set a deployment is part of, why, and its dependencies there. Set at creation."""

    #: The id of the change set, empty for a deployment by itself.
    id: str = ""
    #: A sentence that says why the root is part of it.
    why: str = ""
    #: Its layer in its stack's part of the change, from 1.
    layer: int = 1
    #: How many layers its stack has there.
    layers: int = 1
    #: Its dependencies in the change.
    waits: Waits = field(default_factory=Waits)
    #: How its stack is rolled out.
    wave: WaveRules = field(default_factory=WaveRules)

    @property
    def has_wave(self) -> bool:
        """Whether its stack's rules count: a deployment by itself has no others."""
        return bool(self.id) and self.wave.any

    @property
    def waits_before_apply(self) -> bool:
        """Whether it comes to a gate between its plan and its apply."""
        return self.waits.before_apply or self.has_wave
