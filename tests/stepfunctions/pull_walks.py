"""The ways through the pull-request machine."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.way import (
    ENGINE,
    JOB,
    LAMBDA,
    NO_PLAN_SLOT,
    NOT_THERE,
    ON_LAMBDA,
    PLAN,
    REFUSED,
    RUNNER,
    SILENT,
    STOPPED,
    TIMEOUT,
    TWICE,
    Fails,
    Way,
    asking_where,
    late,
    stumbling,
)

FOUND = ("Begin the pull request", "Find what the pull request changes", "Is anything to be planned?")
EACH = ("Plan all that it changes", "Begin the layer")
PLANNING = ("Begin the plan", "Start a runner for the plan", "Plan")
WAITING = ("Begin the plan", "Wait for a concurrency slot")
AGAIN = ("May the plan be tried again?", "Wait before planning again")
RECORDED = ("Record the plan", "Do policies apply?")
JUDGED = (*RECORDED, "Evaluate the policies")
SHOWN = ("Show what the merge would do", "Did Tidegate fail on the way?", "Shown")
ALARMED = (*SHOWN[:-1], "Internal error")
FAILED = ("Record that the plan failed", "Layer failed", *SHOWN)
FAULT = ("Record an internal error", "Layer failed internally")
TOLD = ("Show the internal error", "Internal error")
_LOOK = (*FOUND, *EACH, *PLANNING)
_PLACED = (*FOUND, *EACH, *WAITING)
_GOOD = (*RECORDED, "Layer planned", *SHOWN)
_FAULTY = (*FAULT, *ALARMED)


def _pull(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("pull_request", name, asking_where(states), records=records, **more)


_HELD_AGAINST = {"Record the plan": {"state": "planned", "policies": True}}
PULL_REQUEST = [
    _pull("plans", (*_LOOK, *_GOOD)),
    _pull(
        "plans on Lambda",
        (*_LOOK[:-2], *LAMBDA, _LOOK[-1], *_GOOD),
        answers={"Begin the plan": ON_LAMBDA, **stumbling("pull_request", LAMBDA[1])},
    ),
    _pull(
        "finds no runner on Lambda",
        (*_LOOK[:-2], *NOT_THERE, "Begin the plan", *_LOOK[-2:], *_GOOD),
        answers={"Begin the plan": [ON_LAMBDA, JOB], LAMBDA[1]: TIMEOUT},
    ),
    _pull(
        "everything stumbles",
        (*_PLACED, *PLANNING, *JUDGED, "Layer planned", *SHOWN),
        answers={
            **stumbling(
                "pull_request",
                "Find what the pull request changes",
                "Wait for a concurrency slot",
                "Plan",
                "Evaluate the policies",
                "Show what the merge would do",
            ),
            "Begin the plan": [NO_PLAN_SLOT, *TWICE, JOB],
            "Record the plan": [
                *TWICE,
                _HELD_AGAINST["Record the plan"],
            ],
        },
    ),
    _pull(
        "it asks for more than is allowed",
        (*_LOOK[:-2], *FAILED),
        "RunnerNotOffered",
        answers={"Begin the plan": Fails("RunnerNotOffered")},
    ),
    _pull("its plan fails", (*_LOOK, *FAILED), "TerraformClientError", answers={"Plan": ENGINE}),
    _pull(
        "its failed plan stumbles",
        (*_LOOK, *FAILED),
        "TerraformClientError",
        answers={"Plan": ENGINE, **stumbling("pull_request", "Record that the plan failed")},
    ),
    _pull("its runner starts late", (*_LOOK, *_GOOD), answers=late("Start a runner for the plan")),
    _pull(
        "its runner never starts",
        (*_LOOK[:-1], *_FAULTY),
        "States.Timeout",
        answers={"Start a runner for the plan": TIMEOUT},
    ),
    *(
        _pull(
            f"its runner {what}",
            (*_LOOK, *AGAIN, *PLANNING, *_GOOD),
            answers={"Plan": [error, PLAN]},
        )
        for what, error in (("dies", STOPPED), ("falls silent", SILENT))
    ),
    _pull(
        "plans twice for a fault of the runner, and stumbles when it records that",
        (*_LOOK, *AGAIN, *PLANNING, AGAIN[0], *_FAULTY),
        "RunnerFault",
        answers={"Plan": RUNNER, **stumbling("pull_request", "Record an internal error")},
    ),
    _pull(
        "finds no place",
        (*_PLACED, *_FAULTY),
        "NoFreePlanSlot",
        answers={"Begin the plan": NO_PLAN_SLOT, "Wait for a concurrency slot": TIMEOUT},
    ),
    _pull(
        "may not wait for a place",
        (*_PLACED, *_FAULTY),
        REFUSED.error,
        answers={"Begin the plan": NO_PLAN_SLOT, "Wait for a concurrency slot": REFUSED},
    ),
    *(
        _pull(f"{state} is refused", (*states, *_FAULTY), REFUSED.error, answers={state: REFUSED})
        for state, states in (("Begin the plan", _LOOK[:-2]), ("Record the plan", (*_LOOK, RECORDED[0])))
    ),
    _pull(
        "cannot be held against policies",
        (*_LOOK, *JUDGED, *_FAULTY),
        REFUSED.error,
        answers={**_HELD_AGAINST, "Evaluate the policies": REFUSED},
    ),
    *(
        _pull(
            f"{record} is refused",
            (*_LOOK, *states, record, "Layer failed internally", *ALARMED),
            how.error,
            answers={"Plan": how, record: REFUSED},
        )
        for record, states, how in (
            ("Record that the plan failed", (), ENGINE),
            ("Record an internal error", (*AGAIN, *PLANNING, AGAIN[0]), RUNNER),
        )
    ),
    _pull(
        "cannot be looked at, and that is told",
        (*FOUND[:2], *TOLD),
        REFUSED.error,
        answers={
            "Find what the pull request changes": REFUSED,
            **stumbling("pull_request", "Show the internal error"),
        },
    ),
    _pull(
        "cannot be looked at, and nobody is told",
        (*FOUND[:2], *TOLD),
        REFUSED.error,
        answers={"Find what the pull request changes": REFUSED, "Show the internal error": REFUSED},
    ),
    _pull(
        "cannot be shown",
        (*_LOOK, *RECORDED, "Layer planned", SHOWN[0], "Internal error"),
        answers={"Show what the merge would do": REFUSED},
    ),
    *(
        _pull(
            f"is to {what}",
            (*FOUND, *states),
            answers={"Find what the pull request changes": {"next": what, "layers": []}},
        )
        for what, states in (("nothing", ("Nothing to plan",)), ("comment", SHOWN), ("stop", ("Overtaken",)))
    ),
    _pull(
        "is overtaken before it is shown",
        (*_LOOK, *RECORDED, "Layer planned", *SHOWN[:-1], "Overtaken"),
        answers={"Show what the merge would do": {"outcome": "overtaken"}},
    ),
]
