"""A deployment's dependencies in its change."""

from __future__ import annotations

from dataclasses import dataclass

#: Refused roots that are named: a record has its limits.
MOST_REFUSED = 100


@dataclass(frozen=True, slots=True)
class Waits:
    """A root's dependencies in its change set. Most have none.

    ``roots`` (of the same stack) and ``plan_after`` (stacks) must be applied before it is planned, ``apply_after``
    (stacks) before it is applied. Only members of the change set are named. ``refused`` are further dependencies that
    are refused, the first ``MOST_REFUSED``: it does not continue without them. ``by_hand`` are those that no merge
    deploys: it continues, but people review its plan.
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
