"""The ways through the deploy machine."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.interpreter import Fails
from tests.stepfunctions.way import (
    ABOUT,
    REFUSED,
    TIMEOUT,
    Way,
    claimed,
    stumbling,
)
from tests.stepfunctions.ways import (
    BEGAN,
    CLAIMED,
    RAN,
    RESTED,
)

_QUIET = ("Close the queue if nothing came", "Is there work after all?", "The queue is quiet")
_HANDED = ("Claim the next deployment", "What to do next?", "Continue as a new execution")


def _queue(name: str, states: tuple[str, ...], *claims: str, **more: Any) -> Way:
    answers = {"Claim the next deployment": [claimed(step) for step in claims], **more.pop("answers", {})}
    return Way("deploy", name, (BEGAN, *states), answers, **more)


DEPLOY = [
    _queue("deploys, and closes when it is quiet", (*RAN, *RESTED, *_QUIET), "deploy", "wait"),
    _queue(
        "is woken and deploys again",
        (*RESTED, *RAN, *RESTED, *_QUIET),
        "wait",
        "deploy",
        "wait",
        answers={"Wait for a revision or an unlock": [{}, TIMEOUT]},
    ),
    _queue(
        "finds work while it closes",
        (*RESTED, *_QUIET[:2], *RAN, *RESTED, *_QUIET),
        "wait",
        "deploy",
        "wait",
        answers={"Close the queue if nothing came": [{"closed": False}, {"closed": True}]},
    ),
    _queue("hands over after many rounds", (*RAN, *_HANDED, "Continued as a new execution"), "deploy", "hand over"),
    _queue("belongs to another execution", (*CLAIMED[:2], "Another execution works here"), "stop"),
    _queue(
        "may not deploy the revision",
        (*CLAIMED, "Record the outcome", *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={
            "Compare with the revision deployed last": {"allowed": False, "reason": "", "waits": False, "about": ABOUT}
        },
    ),
    _queue(
        "cannot compare the revision",
        (*CLAIMED[:-1], "Record the outcome", *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={"Compare with the revision deployed last": REFUSED},
        records=REFUSED.error,
    ),
    _queue(
        "the deployment's execution fails",
        (*RAN, *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={"Plan, review and apply": Fails("TidegateFailed")},
        records="States.TaskFailed",
    ),
    _queue(
        "the deployment's execution cannot be started",
        (*RAN, *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={"Plan, review and apply": Fails("StepFunctions.AccessDeniedException")},
        records="StepFunctions.AccessDeniedException",
    ),
    _queue(
        "everything stumbles",
        (*RAN, *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={
            **stumbling(
                "deploy",
                "Compare with the revision deployed last",
                "Record the outcome",
                "Wait for a revision or an unlock",
                "Close the queue if nothing came",
            ),
            "Claim the next deployment": [
                Fails("Lambda.TooManyRequestsException"),
                Fails("Conflict"),
                claimed("deploy"),
                claimed("wait"),
            ],
            "Plan, review and apply": [Fails("StepFunctions.ThrottlingException"), {}],
        },
    ),
    _queue(
        "the hand-over stumbles",
        (*_HANDED, "Continued as a new execution"),
        "hand over",
        answers=stumbling("deploy", "Continue as a new execution"),
    ),
    *(
        _queue(f"{states[-1]} is refused", (*states, "Internal error"), *claims, answers={states[-1]: REFUSED})
        for states, claims in (
            (CLAIMED[:1], ("deploy",)),
            (RAN, ("deploy",)),
            (RESTED, ("wait",)),
            ((*RESTED, _QUIET[0]), ("wait",)),
            (_HANDED, ("hand over",)),
        )
    ),
]
