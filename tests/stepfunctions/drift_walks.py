"""The ways through the machine that looks for drift."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.way import (
    ENGINE,
    JOB,
    NO_PLAN_SLOT,
    REFUSED,
    RUNNER,
    SILENT,
    STOPPED,
    TIMEOUT,
    TWICE,
    Fails,
    Way,
    late,
    stumbling,
)

FOUND = ("Begin the run", "Find the roots to check", "Are there roots to check?")
WAITING = ("Begin the plan", "Wait for a concurrency slot")
LOOKING = ("Check the roots", "Begin the layer", "Begin the plan", "Start a runner for the plan", "Plan")
PLANNED = ("Record the plan", "Layer checked")
SHOWN = ("Keep and show what was found", "Did Tidegate fail on the way?", "Drift checked")
ALARMED = (*SHOWN[:-1], "Internal error")
UNPLANNED = ("Record that there is no plan", "Whose failure is it?")
FAILED = (*UNPLANNED, "Layer checked", *SHOWN)
FAULT = (*UNPLANNED, "Layer failed internally", *ALARMED)
TOLD = (*FOUND[:2], "Record an internal error", "Internal error")
_LOOKING = (*FOUND, *LOOKING)
_QUEUED = (*FOUND, *LOOKING[:2], *WAITING)


def _drift(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("drift", name, states, records=records, **more)


DRIFT = [
    _drift("looks", (*_LOOKING, *PLANNED, *SHOWN)),
    _drift(
        "everything stumbles",
        (*_QUEUED, *LOOKING[2:], *PLANNED, *SHOWN),
        answers={
            **stumbling(
                "drift",
                "Find the roots to check",
                "Wait for a concurrency slot",
                "Plan",
                "Record the plan",
                "Keep and show what was found",
            ),
            "Begin the plan": [NO_PLAN_SLOT, *TWICE, JOB],
        },
    ),
    _drift(
        "it asks for more than is allowed",
        (*_LOOKING[:-2], *FAILED),
        "RunnerNotOffered",
        answers={"Begin the plan": Fails("RunnerNotOffered")},
    ),
    _drift(
        "its plan fails, and stumbles when it records that",
        (*_LOOKING, *FAILED),
        "TerraformClientError",
        answers={"Plan": ENGINE, **stumbling("drift", "Record that there is no plan")},
    ),
    *(
        _drift(f"its runner is at fault: {error.error}", (*_LOOKING, *FAULT), error.error, answers={"Plan": error})
        for error in (RUNNER, SILENT, STOPPED, TIMEOUT)
    ),
    _drift(
        "its runner starts late",
        (*_LOOKING, *PLANNED, *SHOWN),
        answers=late("Start a runner for the plan"),
    ),
    _drift(
        "its runner never starts",
        (*_LOOKING[:-1], *FAULT),
        "States.Timeout",
        answers={"Start a runner for the plan": TIMEOUT},
    ),
    _drift(
        "finds no place",
        (*_QUEUED, *FAULT),
        "NoFreePlanSlot",
        answers={"Begin the plan": NO_PLAN_SLOT, "Wait for a concurrency slot": TIMEOUT},
    ),
    _drift(
        "may not wait for a place",
        (*_QUEUED, *FAULT),
        REFUSED.error,
        answers={"Begin the plan": NO_PLAN_SLOT, "Wait for a concurrency slot": REFUSED},
    ),
    *(
        _drift(f"{state} is refused", (*states, *FAULT), REFUSED.error, answers={state: REFUSED})
        for state, states in (("Begin the plan", _LOOKING[:-2]), ("Record the plan", (*_LOOKING, PLANNED[0])))
    ),
    _drift(
        "cannot record that there is no plan",
        (*_LOOKING, UNPLANNED[0], "Layer failed internally", *ALARMED),
        "RunnerFault",
        answers={"Plan": RUNNER, "Record that there is no plan": REFUSED},
    ),
    _drift(
        "cannot be checked, and that is kept",
        TOLD,
        REFUSED.error,
        answers={"Find the roots to check": REFUSED, **stumbling("drift", "Record an internal error")},
    ),
    _drift(
        "cannot be checked, and nobody is told",
        TOLD,
        REFUSED.error,
        answers={"Find the roots to check": REFUSED, "Record an internal error": REFUSED},
    ),
    _drift(
        "what was found cannot be kept",
        (*_LOOKING, *PLANNED, SHOWN[0], "Internal error"),
        answers={"Keep and show what was found": REFUSED},
    ),
    *(
        _drift(f"is to {what}", (*FOUND, *states), answers={"Find the roots to check": {"next": what, "layers": []}})
        for what, states in (("conclude", SHOWN), ("stop", ("Run skipped",)))
    ),
]
