"""What of its change a deployment waits for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waits:
    """What of its change set a root waits for. It is empty for most.

    ``roots`` (of the same stack) and ``plan_after`` (stacks) must be applied before it is planned, ``apply_after``
    (stacks) before it is applied. Only what is in the change set is named here.
    """

    roots: tuple[str, ...] = ()
    plan_after: tuple[str, ...] = ()
    apply_after: tuple[str, ...] = ()

    @property
    def before_plan(self) -> bool:
        return bool(self.roots or self.plan_after)
