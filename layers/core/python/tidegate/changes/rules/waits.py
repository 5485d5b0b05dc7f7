"""What of its change a deployment waits for."""

from __future__ import annotations

from dataclasses import dataclass

#: Refused roots that are named: a record has its limits.
MOST_REFUSED = 100


@dataclass(frozen=True, slots=True)
class Waits:
    """What of its change set a root waits for. It is empty for most.

    ``roots`` (of the same stack) and ``plan_after`` (stacks) must be applied before it is planned, ``apply_after``
    (stacks) before it is applied. Only what is in the change set is named here. ``refused`` are roots in their stacks
    that it would wait for as well and that are refused, the first ``MOST_REFUSED``: it does not go on without them.
    ``by_hand`` are those that no merge deploys: it goes on, but people look at its plan.
    """

    roots: tuple[str, ...] = ()
    plan_after: tuple[str, ...] = ()
    apply_after: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    by_hand: tuple[tuple[str, str], ...] = ()

    @property
    def before_plan(self) -> bool:
        return bool(self.roots or self.plan_after or self.refused)

    @property
    def any(self) -> bool:
        """Tell whether there is a gate to wait at."""
        return self.before_plan or bool(self.apply_after)
