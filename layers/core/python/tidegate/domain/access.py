"""Who may do what with a root: the rule that the configuration has for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What people do: ask for a plan, ask for a deploy (or to run one again), unlock, decide a plan review."""

    PLAN = "plan"
    APPLY = "apply"
    UNLOCK = "unlock"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Access:
    """For each action who may: ``*``, ``user:LOGIN``, ``team:SLUG`` or ``role:ROLE`` (that role or a higher one).

    ``*`` stands for everybody who may write to the repository. Nobody may where a list is empty; ``denied`` is
    then the reason, such as that no policy matches the root.
    """

    plan: tuple[str, ...] = ("*",)
    apply: tuple[str, ...] = ("*",)
    unlock: tuple[str, ...] = ("*",)
    review: tuple[str, ...] = ("*",)
    denied: str = ""

    def who_may(self, action: Action) -> tuple[str, ...]:
        """Return who may do it."""
        match action:
            case Action.PLAN:
                return self.plan
            case Action.APPLY:
                return self.apply
            case Action.UNLOCK:
                return self.unlock
            case Action.REVIEW:
                return self.review
