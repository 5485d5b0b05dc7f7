"""The ways through the machine that looks for drift."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions import drift_cases as drift
from tests.stepfunctions.way import (
    ENGINE,
    JOB,
    NO_PLACE,
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

_LOOKING = (*drift.FOUND, *drift.LOOKING)
_QUEUED = (*drift.FOUND, *drift.LOOKING[:2], *drift.WAITING)


def _drift(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("drift", name, states, records=records, **more)


DRIFT = [
    _drift("looks", (*_LOOKING, *drift.PLANNED, *drift.SHOWN)),
    _drift(
        "everything stumbles",
        (*_QUEUED, *drift.LOOKING[2:], *drift.PLANNED, *drift.SHOWN),
        answers={
            **stumbling(
                "drift",
                "Find what is looked at",
                "Wait for a free place",
                "Plan",
                "Record the plan",
                "Keep and show what was found",
            ),
            "Begin the plan": [NO_PLACE, *TWICE, JOB],
        },
    ),
    _drift(
        "it asks for more than is allowed",
        (*_LOOKING[:-2], *drift.FAILED),
        "RunnerNotOffered",
        answers={"Begin the plan": Fails("RunnerNotOffered")},
    ),
    _drift(
        "its plan fails, and stumbles when it records that",
        (*_LOOKING, *drift.FAILED),
        "TerraformClientError",
        answers={"Plan": ENGINE, **stumbling("drift", "Record that there is no plan")},
    ),
    *(
        _drift(
            f"its runner is at fault: {error.error}", (*_LOOKING, *drift.FAULT), error.error, answers={"Plan": error}
        )
        for error in (RUNNER, SILENT, STOPPED, TIMEOUT)
    ),
    _drift(
        "its runner starts late",
        (*_LOOKING, *drift.PLANNED, *drift.SHOWN),
        answers=late("Start a runner for the plan"),
    ),
    _drift(
        "its runner never starts",
        (*_LOOKING[:-1], *drift.FAULT),
        "States.Timeout",
        answers={"Start a runner for the plan": TIMEOUT},
    ),
    _drift(
        "finds no place",
        (*_QUEUED, *drift.FAULT),
        "NoFreePlace",
        answers={"Begin the plan": NO_PLACE, "Wait for a free place": TIMEOUT},
    ),
    _drift(
        "may not wait for a place",
        (*_QUEUED, *drift.FAULT),
        REFUSED.error,
        answers={"Begin the plan": NO_PLACE, "Wait for a free place": REFUSED},
    ),
    *(
        _drift(f"{state} is refused", (*states, *drift.FAULT), REFUSED.error, answers={state: REFUSED})
        for state, states in (("Begin the plan", _LOOKING[:-2]), ("Record the plan", (*_LOOKING, drift.PLANNED[0])))
    ),
    _drift(
        "cannot record that there is no plan",
        (*_LOOKING, drift.UNPLANNED[0], "Layer at fault", *drift.ALARMED),
        "RunnerFault",
        answers={"Plan": RUNNER, "Record that there is no plan": REFUSED},
    ),
    _drift(
        "cannot be looked at, and that is kept",
        drift.TOLD,
        REFUSED.error,
        answers={"Find what is looked at": REFUSED, **stumbling("drift", "Record that Tidegate failed")},
    ),
    _drift(
        "cannot be looked at, and nobody is told",
        drift.TOLD,
        REFUSED.error,
        answers={"Find what is looked at": REFUSED, "Record that Tidegate failed": REFUSED},
    ),
    _drift(
        "what was found cannot be kept",
        (*_LOOKING, *drift.PLANNED, drift.SHOWN[0], "Tidegate failed"),
        answers={"Keep and show what was found": REFUSED},
    ),
    *(
        _drift(
            f"is to {what}", (*drift.FOUND, *states), answers={"Find what is looked at": {"next": what, "layers": []}}
        )
        for what, states in (("conclude", drift.SHOWN), ("stop", ("Not this run",)))
    ),
]
