"""The ways through the machines that do one task of a cluster's workflow, and that handle its failure."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.interpreter import Answer, Fails
from tests.stepfunctions.way import REFUSED, SILENT, TASK_BEGUN, TIMEOUT, Way, late, recorded, stumbling

ASKED = ("Begin", "Begin the task", "What is to be done?")
STARTED = (*ASKED, "Start a runner for the task")
RAN = (*STARTED, "Run the task")
DONE = (*RAN, "Record the task", "Done")
APPLYING = (*ASKED, "Apply the root module", "Was the root module applied?")
CALLED = (*ASKED, "Call the function")
AGAIN = ("May it be tried again?", "Wait before trying again", *RAN[1:])
FAILED = ("Record that the task failed", "Does the workflow go on?", "Task failed")
BROKEN = ("Record that the task failed", "Internal error")
MODULE_APPLIED: Answer = recorded("applied")
MODULE_FAILED: Answer = recorded("apply_failed", "apply failed", "TerraformClientError", "")
UNREACHABLE, TASK = Fails("ClusterUnreachable"), Fails("TaskFailed")


def _task(name: str, states: tuple[str, ...], records: str | None = None, **answers: Answer | list[Answer]) -> Way:
    said = {key.replace("_", " ").capitalize(): answer for key, answer in answers.items()}
    return Way("cluster_task", name, states, answers=said, records=records)


def _following(step: str) -> Answer:
    return {**TASK_BEGUN, "next": step}


OF_MODULE = {**TASK_BEGUN, "next": "apply"}

CLUSTER_TASK = [
    _task("is done by a runner", DONE),
    Way(
        "cluster_task",
        "everything stumbles",
        DONE,
        answers={
            **stumbling("cluster_task", "Begin the task", "Run the task", "Record the task"),
            **late("Start a runner for the task"),
        },
    ),
    _task(
        "applies the root module before",
        (*APPLYING, "Begin the task", *DONE[2:]),
        begin_the_task=[OF_MODULE, TASK_BEGUN],
    ),
    _task(
        "applies the root module, and then cannot reach its cluster at first",
        (*APPLYING, "Begin the task", *DONE[2:5], *AGAIN, *DONE[5:]),
        begin_the_task=[OF_MODULE, TASK_BEGUN],
        apply_the_root_module=[Fails("StepFunctions.ThrottlingException"), MODULE_APPLIED],
        run_the_task=[UNREACHABLE, {"job": "task-2"}],
    ),
    _task(
        "applies the root module, which fails",
        (*APPLYING, "Take the error of the apply", *FAILED),
        "TerraformClientError",
        begin_the_task=OF_MODULE,
        apply_the_root_module=MODULE_FAILED,
    ),
    _task(
        "applies the root module, which is cancelled before it begins",
        (*APPLYING, "Take the error of the apply", *FAILED),
        "DeploymentCancelled",
        begin_the_task=OF_MODULE,
        apply_the_root_module={"Error": "DeploymentCancelled", "Cause": "The deployment was cancelled."},
    ),
    _task(
        "applies the root module, of which nothing is heard",
        (*APPLYING[:-1], *FAILED),
        "States.TaskFailed",
        begin_the_task=OF_MODULE,
        apply_the_root_module=Fails("TidegateFailed"),
    ),
    _task("was done before", (*ASKED, "Done before"), begin_the_task=_following("done")),
    _task("is not needed", (*ASKED, "Not needed"), begin_the_task=_following("not needed")),
    _task(
        "is a function, throttled at first",
        (*CALLED, "Record the task", "Done"),
        begin_the_task=_following("call"),
        call_the_function=[Fails("Lambda.TooManyRequestsException"), {}],
    ),
    _task(
        "is a function that fails",
        (*CALLED, *FAILED),
        "Hook",
        begin_the_task=_following("call"),
        call_the_function=Fails("Hook"),
    ),
    _task("is refused", (*ASKED[:2], *FAILED), REFUSED.error, begin_the_task=REFUSED),
    _task(
        "has no runner",
        (*STARTED, *FAILED),
        "ECS.AccessDeniedException",
        start_a_runner_for_the_task=Fails("ECS.AccessDeniedException"),
    ),
    *(
        _task(f"ends with {error.error}", (*RAN, *FAILED), error.error, run_the_task=error)
        for error in (TASK, TIMEOUT, SILENT, Fails("RunnerStopped"))
    ),
    _task("reaches its cluster at last", (*RAN, *AGAIN, *DONE[5:]), run_the_task=[UNREACHABLE, {"job": "task-2"}]),
    _task(
        "never reaches its cluster",
        (*RAN, *AGAIN * 11, AGAIN[0], *FAILED),
        UNREACHABLE.error,
        run_the_task=UNREACHABLE,
    ),
    _task("cannot be recorded", (*RAN, "Record the task", *FAILED), REFUSED.error, record_the_task=REFUSED),
    _task(
        "fails, and that is only a warning",
        (*RAN, *FAILED[:2], "Went on with a warning"),
        TASK.error,
        run_the_task=TASK,
        record_that_the_task_failed={"goes_on": True, "reason": ""},
    ),
    Way(
        "cluster_task",
        "fails, and stumbles when that is recorded",
        (*RAN, *FAILED),
        answers={"Run the task": TASK, **stumbling("cluster_task", "Record that the task failed")},
        records=TASK.error,
    ),
    _task(
        "fails, and that cannot be recorded",
        (*RAN, *BROKEN),
        TASK.error,
        run_the_task=TASK,
        record_that_the_task_failed=REFUSED,
    ),
]

_FIRST = ("Begin", "Record the first error")
_LAST = ("Record the end", "Error handled")


def _handling(outcomes: tuple[str, str, str, str]) -> tuple[str, ...]:
    diagnosed, told, given, over = outcomes
    return (
        *_FIRST,
        "Diagnose the clusters",
        *("Diagnose the cluster", diagnosed) * 2,
        "Run the hooks on errors",
        *("Run the hook on an error", told),
        "Give back what is held",
        *("Give it back", given),
        "Run the hooks that always run",
        *("Run the hook in any case", over),
        *_LAST,
    )


HANDLED = _handling(("Cluster diagnosed", "Hook on an error run", "Given back", "Hook in any case run"))
UNHANDLED = _handling(("Cluster not diagnosed", "Hook on an error failed", "Still held", "Hook in any case failed"))
_CHILDREN = ("Diagnose the cluster", "Run the hook on an error", "Give it back", "Run the hook in any case")
_NOTHING: dict[str, Any] = {"on_error": [], "releases": [], "always": []}
_WITHOUT_ITEMS = tuple(
    state
    for state in HANDLED
    if state not in {*_CHILDREN[1:], "Hook on an error run", "Given back", "Hook in any case run"}
)


def _error(name: str, states: tuple[str, ...], answers: dict[str, Any] | None = None) -> Way:
    return Way("cluster_error", name, states, answers=answers or {}, records="TaskFailed")


CLUSTER_ERROR = [
    _error("is handled", HANDLED),
    _error("has nothing to give back", _WITHOUT_ITEMS, {"Record the first error": _NOTHING}),
    _error("nothing works, and the first error stays", UNHANDLED, dict.fromkeys(_CHILDREN, TASK)),
    _error(
        "everything stumbles",
        HANDLED,
        {
            **stumbling("cluster_error", "Record the first error", "Record the end"),
            **{state: [Fails("StepFunctions.ThrottlingException"), {}] for state in _CHILDREN},
        },
    ),
    _error("is not recorded, and the cluster is unlocked", (*_FIRST, *_LAST), {"Record the first error": REFUSED}),
    _error("cannot end", (*HANDLED[:-1], "Internal error"), {"Record the end": REFUSED}),
]
