"""The ways through the machine that works on a config repository."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.interpreter import Fails
from tests.stepfunctions.way import BEGUN, REFUSED, TIMEOUT, TWICE, Way, decided, late, stumbling

BEGAN = "Begin to work on the config repository"
DECIDED = ("Read the branches and their checks", "What to do next?")
ALIGN, APPLY = "Align auto with the default branch", "Apply the image set"
EVICT = "Evict the lowest failed entry and replay the rest"
MADE = (
    "Are there entries to make?",
    "Start a runner for the repository's commands",
    "Run the repository's commands",
    "Push the auto branch",
)
MOVED = ("Are there entries to make?", "Push the auto branch")
TEST = "Push the commits below the failed one by themselves"
LAND, WAIT = "Fast-forward the default branch", "Wait for an image set, a verdict or a report"
FAILED = "Record that the replay failed"
QUIET = ("Close the queue if nothing came", "Is there work after all?", "The queue is quiet")
RESTED = (*DECIDED, WAIT, *QUIET)
HANDED = "Continue as a new execution"
NO_COMMANDS = {**BEGUN, "commands": False, "job": "", "digest": "", "size": None}


def _update(name: str, states: tuple[str, ...], *steps: str, **more: Any) -> Way:
    answers = {DECIDED[0]: [decided(step) for step in steps], **more.pop("answers", {})}
    return Way("config_update", name, (BEGAN, *states), answers, **more)


CONFIG_UPDATE = [
    *(
        _update(f"does this, and waits: {step}", (*DECIDED, state, *MADE, *RESTED), step, "wait")
        for step, state in (("align", ALIGN), ("apply", APPLY), ("evict", EVICT))
    ),
    *(
        _update(
            f"just moves the branch: {step}",
            (*DECIDED, state, *MOVED, *RESTED),
            step,
            "wait",
            answers={state: NO_COMMANDS},
        )
        for step, state in (("align", ALIGN), ("evict", EVICT))
    ),
    _update("lands what has passed", (*DECIDED, LAND, *RESTED), "land", "wait"),
    _update("lets CI test what is below a failed entry", (*DECIDED, TEST, *RESTED), "test", "wait"),
    _update(
        "is woken by an announcement, and then by a verdict",
        (*DECIDED, WAIT, *DECIDED, APPLY, *MADE, *DECIDED, WAIT, *DECIDED, LAND, *RESTED),
        "wait",
        "apply",
        "wait",
        "land",
        "wait",
        answers={WAIT: [{}, {}, TIMEOUT]},
    ),
    _update(
        "goes on while entries are open",
        (*DECIDED, WAIT, *QUIET[:2], *RESTED),
        "wait",
        "wait",
        answers={QUIET[0]: [{"closed": False}, {"closed": True}]},
    ),
    _update("hands over after many rounds", (*DECIDED, HANDED, "Continued as a new execution"), "hand over"),
    _update("belongs to another execution", (*DECIDED, "Another execution works here"), "stop"),
    *(
        _update(
            f"cannot do this: {states[-1]}",
            (*DECIDED, *states, FAILED, *RESTED),
            step,
            "wait",
            answers={states[-1]: refused},
            records=refused.error,
        )
        for step, states, refused in (
            ("align", (ALIGN,), REFUSED),
            ("apply", (APPLY,), REFUSED),
            ("evict", (EVICT,), REFUSED),
            ("apply", (APPLY, *MADE[:2]), Fails("ECS.AccessDeniedException")),
            ("apply", (APPLY, *MADE[:3]), REFUSED),
            ("apply", (APPLY, *MADE), REFUSED),
        )
    ),
    *(
        _update(
            f"loses its runner: {lost.error}",
            (*DECIDED, APPLY, *MADE[:3], FAILED, *RESTED),
            "apply",
            "wait",
            answers={MADE[2]: lost},
            records=lost.error,
        )
        for lost in (TIMEOUT, Fails("States.HeartbeatTimeout"), Fails("RunnerStopped"), Fails("RunnerFault"))
    ),
    _update("has a late runner", (*DECIDED, APPLY, *MADE, *RESTED), "apply", "wait", answers=late(MADE[1])),
    _update(
        "everything stumbles",
        (
            *DECIDED,
            ALIGN,
            *MADE,
            *DECIDED,
            EVICT,
            *MADE,
            *DECIDED,
            APPLY,
            *MADE,
            *DECIDED,
            TEST,
            *DECIDED,
            LAND,
            *RESTED,
        ),
        "align",
        "evict",
        "apply",
        "test",
        "land",
        "wait",
        answers=stumbling("config_update", ALIGN, EVICT, APPLY, MADE[2], MADE[3], TEST, LAND, QUIET[0]),
    ),
    *(
        _update(
            f"{states[-1]} is refused, and cannot be recorded",
            (*states, "Internal error"),
            *steps,
            answers={**answers, states[-1]: REFUSED},
            records=REFUSED.error if answers else None,
        )
        for states, steps, answers in (
            (DECIDED[:1], (), {}),
            ((*DECIDED, LAND), ("land",), {}),
            ((*DECIDED, TEST), ("test",), {}),
            ((*DECIDED, WAIT), ("wait",), {}),
            ((*DECIDED, WAIT, QUIET[0]), ("wait",), {}),
            ((*DECIDED, HANDED), ("hand over",), {}),
            ((*DECIDED, APPLY, FAILED), ("apply",), {APPLY: REFUSED}),
        )
    ),
    _update(
        "stumbles when it looks, waits, records and hands over",
        (*DECIDED, APPLY, FAILED, *DECIDED, WAIT, *DECIDED, HANDED, "Continued as a new execution"),
        answers={
            DECIDED[0]: [*TWICE, decided("apply"), decided("wait"), decided("hand over")],
            APPLY: REFUSED,
            WAIT: [*TWICE, {}],
            **stumbling("config_update", FAILED, HANDED),
        },
        records=REFUSED.error,
    ),
]
