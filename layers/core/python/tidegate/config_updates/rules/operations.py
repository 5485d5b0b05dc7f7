"""What operators do with a config repository, to which environments, and which right that takes in each of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidegate.rules.access import Action


class Operation(StrEnum):
    """What operators do, by the API's words."""

    PROMOTE = "promote"
    ROLL_BACK = "rollback"
    RETRY = "retry"
    TOKEN = "token"  # noqa: S105  # A word.
    EVICT = "evict"
    HOLD = "hold"
    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"

    @property
    def action(self) -> Action:
        """The right of access control that it takes."""
        return _ACTIONS[self]


#: What brings images into an environment is an apply, what keeps them out a review, and what stops a queue a lock.
_ACTIONS: Mapping[Operation, Action] = {
    Operation.PROMOTE: Action.APPLY,
    Operation.ROLL_BACK: Action.APPLY,
    Operation.RETRY: Action.APPLY,
    Operation.TOKEN: Action.APPLY,
    Operation.EVICT: Action.REVIEW,
    Operation.HOLD: Action.UNLOCK,
    Operation.RELEASE: Action.UNLOCK,
    Operation.PAUSE: Action.UNLOCK,
    Operation.RESUME: Action.UNLOCK,
}


@dataclass(frozen=True, slots=True)
class Operated:
    """What is done to which environments: that of an entry or of a target, one of an image set, all of it, or all."""

    operation: Operation
    repository: str
    image_set: str = ""
    environment: str = ""
    entry: str = ""
    target: str = ""


def concerned(operation: Operation, repository: str, given: Mapping[str, str]) -> Operated:
    """Return which environments an operation is about; what it does not take is not read from ``given``.

    Its keys are ``entry``, ``set``, ``environment`` and ``target``.
    """
    image_set = given.get("set", "")
    match operation:
        case Operation.EVICT | Operation.RETRY:
            return Operated(operation, repository, entry=given.get("entry", ""))
        case Operation.PROMOTE | Operation.ROLL_BACK:
            return Operated(operation, repository, image_set, given.get("environment", ""))
        case Operation.HOLD | Operation.RELEASE:
            return Operated(operation, repository, image_set)
        case Operation.TOKEN:
            return Operated(operation, repository, image_set, target=given.get("target", ""))
        case _:
            return Operated(operation, repository)
