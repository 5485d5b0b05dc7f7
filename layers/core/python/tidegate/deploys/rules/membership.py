"""A deployment's membership in its change."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.changes.rules.waits import Waits


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
