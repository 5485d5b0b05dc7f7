"""A way through a state machine: what its tasks answer, and the states that it goes through then.

A way says only what differs from the plain one, of which ``PLAIN`` has the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.stepfunctions.interpreter import Answer, Fails

ARTIFACT = {"key": "plans/plan", "sha256": "0" * 64}
COUNTS = dict.fromkeys(("add", "change", "destroy", "replace", "outputs", "moved"), 0)
PLAN = {
    "job": "plan-1",
    "changes": COUNTS,
    "engine_version": "1.2.3",
    "lock_file": None,
    **dict.fromkeys(("file", "json", "text"), ARTIFACT),
}
PROVIDER = {"provider": "hashicorp/aws", "changes": 2, "seconds": 90, "longest": 86}
SIZE = {"cpu": "1024", "memory": "2048", "disk": 30, "seconds": 3600, "life": "3900"}
JOB = {"job": "job-1", "digest": "0" * 64, "size": SIZE, "runner": "fargate", "cluster": None}
OF_CLUSTER = {**JOB, "cluster": {"machine": "cluster-workload-create-simulated", "plan": {"due": {}}}}
CLUSTER_APPLIED = {"state": "applied"}
CLUSTER_FAILED = {"state": "failed", "error": "ClusterUnreachable", "cause": "It does not answer.", "last_lines": ""}
CLUSTER_UNKNOWN = {**CLUSTER_FAILED, "state": "unknown", "error": "RunnerStopped"}
#: The input of the execution that applies the root module of a cluster.
MODULE_APPLY = {
    "deployment": "deployment-1",
    "workflow": "deployment-1",
    "apply": {"job": "deployment-1-apply-2", "digest": "0" * 64, "size": SIZE},
}
ON_LAMBDA = {**JOB, "runner": "lambda"}
STARTED: Answer = {}


#: What follows the beginning of a plan: an installation whose plans all run on Fargate has no such choice.
WHERE = "Where does the plan run?"
LAMBDA = (WHERE, "Start a Lambda runner for the plan")
NOT_THERE = (*LAMBDA, "Let Fargate run the plan")


def asking_where(states: tuple[str, ...]) -> tuple[str, ...]:
    """Return the states of an installation whose plans run on Fargate, with the choice that the file has besides."""
    before = ("", *states)
    asked = (
        (WHERE, state) if state == "Start a runner for the plan" and last == "Begin the plan" else (state,)
        for last, state in zip(before, states, strict=False)
    )
    return tuple(each for states in asked for each in states)


def going_on(what: str) -> Answer:
    return {"next": what, "reason": ""}


def moved(following: str, soak: int = 0) -> Answer:
    return {"next": following, "reason": "", "soak": soak}


def recorded(state: str, end: str = "recorded", error: str | None = None, cause: str | None = None) -> Answer:
    return {"state": state, "end": end, "error": error, "cause": cause}


def decided(step: str) -> Answer:
    return {
        "step": step,
        "reason": "",
        "version": 1,
        "seconds": 60,
        "blocked": False,
        "outrun": 0,
        "commit": "0" * 40 if step == "land" else "",
        "untested": ["0" * 40] if step == "test" else [],
    }


def claimed(step: str) -> Answer:
    return {"step": step, "reason": "", "version": 1, "deployment": "deployment-1" if step == "deploy" else None}


BEGUN = {"commands": True, "job": "job-1", "digest": "0" * 64, "size": SIZE}
TASK_BEGUN = {
    "next": "run",
    "reason": "",
    "job": "job-1",
    "digest": "0" * 64,
    "size": SIZE,
    "seconds": 3600,
    "function": "",
    "payload": {},
}
FAILED_HOOK = {"hook": "tell", "registrar": "repository"}
ABOUT = {"repository": "acme/infra", "root": "app", "stack": "default", "commit": "0" * 40}
LAYERS = {"next": "plan", "layers": ["layer-1"]}
SPECULATED = {"state": "planned", "policies": False}
_LAYER: dict[str, Answer] = {
    "Begin the plan": JOB,
    "Wait for a concurrency slot": {},
    "Start a runner for the plan": STARTED,
    "Plan": PLAN,
    "Record the plan": SPECULATED,
}
#: By machine: what the execution is given, and what each task answers where a way says nothing else.
GIVEN: dict[str, Mapping[str, Any]] = {
    "terraform": {"deployment": "deployment-1", "waits": False},
    "deploy": {"queue": "acme/infra||app"},
    "pull_request": {"pull_request": "acme/infra#1", "revision": "head+base"},
    "drift": {"repository": "acme/infra", "schedule": "nightly"},
    "config_update": {"repository": "acme/config"},
    "promotion": {"repository": "acme/config", "entry": "entry-1", "attempt": 1},
    "cluster_task": {
        "deployment": "deployment-1",
        "execution": "deployment-1",
        "task": "validate",
        "hook": "",
        "registrar": "",
    },
    "cluster_error": {
        "deployment": "deployment-1",
        "execution": "deployment-1",
        "error": "TaskFailed",
        "cause": "told to fail",
    },
}
PLAIN: dict[str, dict[str, Answer]] = {
    "terraform": {
        "Wait for what this depends on": {"next": "plan"},
        "Begin the plan": JOB,
        "Wait for a concurrency slot": {},
        "Start a Lambda runner for the plan": STARTED,
        "Start a runner for the plan": STARTED,
        "Plan": PLAN,
        "Record the plan": going_on("apply"),
        "Evaluate the policies": {"failed": []},
        "Decide by the results of the policies": going_on("apply"),
        "Wait for the stacks before this one": {"next": "apply"},
        "Wait for its requirements": {"next": "apply"},
        "Wait for the plan review": {"approved": True, "by": "reviewer", "at": "2026-03-02T08:00:00.000000+00:00"},
        "Begin the apply": JOB,
        "Start a runner for the apply": STARTED,
        "Run the cluster workflow": CLUSTER_APPLIED,
        "Apply": {"job": "apply-1", "last_lines": "Apply complete!", "providers": [PROVIDER]},
        "Record that it was applied": recorded("applied"),
        "Record that the plan failed": recorded("plan_failed"),
        "Record that the apply failed": recorded("apply_failed"),
        "Record that the review expired": recorded("review_expired"),
        "Record that the gate expired": recorded("gate_expired"),
        "Record that the outcome is unknown": recorded("outcome_unknown", "unknown"),
        "Record an internal error": recorded("engine_fault"),
    },
    "deploy": {
        "Compare with the revision deployed last": {"allowed": True, "reason": "", "waits": False, "about": ABOUT},
        "Plan, review and apply": {},
        "Record the outcome": {"state": "applied"},
        "Wait for a revision or an unlock": Fails("States.Timeout"),
        "Close the queue if nothing came": {"closed": True},
        "Continue as a new execution": {},
    },
    "pull_request": {
        "Find what the pull request changes": LAYERS,
        "Start a Lambda runner for the plan": STARTED,
        **_LAYER,
        "Evaluate the policies": {"failed": []},
        "Record that the plan failed": {"state": "failed", "policies": False},
        "Record an internal error": {"state": "failed", "policies": False},
        "Show what the merge would do": {"outcome": "shown"},
        "Show the internal error": {"outcome": "shown"},
    },
    "drift": {
        "Find the roots to check": LAYERS,
        **_LAYER,
        "Record that there is no plan": {"state": "failed", "policies": False},
        "Keep and show what was found": {"summary": "1 drifted"},
        "Record an internal error": {"summary": "no roots"},
    },
    "config_update": {
        "Align auto with the default branch": BEGUN,
        "Apply the image set": BEGUN,
        "Evict the lowest failed entry and replay the rest": BEGUN,
        "Start a runner for the repository's commands": STARTED,
        "Run the repository's commands": {"job": "job-1", "result": "0" * 64},
        "Push the auto branch": {"moved": True, "reason": ""},
        "Record that the replay failed": {},
        "Push the commits below the failed one by themselves": {"moved": True, "reason": ""},
        "Fast-forward the default branch": {"moved": True, "reason": ""},
        "Wait for an image set, a verdict or a report": Fails("States.Timeout"),
        "Close the queue if nothing came": {"closed": True},
        "Continue as a new execution": {},
    },
    "promotion": {
        "Remember the chain of environments": {},
        "Wait for the required checks": moved("targets"),
        "Wait for the targets": moved("after"),
        "Record that the environment is stalled": {},
        "Wait for the late targets": moved("after"),
        "End the soak": moved("after"),
        "Wait for what comes first": moved("promote"),
        "Promote to the next environment": {"full": False, "reason": ""},
        "Record an internal error": {},
    },
    "cluster_task": {
        "Begin the task": TASK_BEGUN,
        "Apply the root module": recorded("applied"),
        "Call the function": {},
        "Start a runner for the task": STARTED,
        "Run the task": {"job": "task-1"},
        "Record the task": {},
        "Record that the task failed": {"goes_on": False, "reason": ""},
    },
    "cluster_error": {
        "Record the first error": {
            "on_error": [FAILED_HOOK],
            "releases": ["resume-gitops-agent"],
            "always": [FAILED_HOOK],
        },
        "Diagnose the cluster": {},
        "Run the hook on an error": {},
        "Give it back": {},
        "Run the hook in any case": {},
        "Record the end": {"state": "failed", "error": "TaskFailed", "cause": "told to fail", "last_lines": ""},
    },
}


@dataclass(frozen=True)
class Way:
    """One way. ``records`` is the error that is recorded or shown in its end, if one is."""

    machine: str
    name: str
    states: tuple[str, ...]
    answers: Mapping[str, Answer | list[Answer]] = field(default_factory=dict)
    records: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.machine}: {self.name}"

    def script(self) -> dict[str, list[Answer]]:
        every = {**PLAIN[self.machine], **self.answers}
        return {state: answer if isinstance(answer, list) else [answer] for state, answer in every.items()}


REFUSED = Fails("Lambda.AccessDeniedException")
TIMEOUT, SILENT, STOPPED = Fails("States.Timeout"), Fails("States.HeartbeatTimeout"), Fails("RunnerStopped")
ENGINE, RUNNER = Fails("TerraformClientError"), Fails("RunnerFault")
NO_PLAN_SLOT, NO_SLOT = Fails("NoFreePlanSlot"), Fails("NoFreeSlot")
TWICE = [Fails("Lambda.TooManyRequestsException"), Fails("CloudUnavailable")]


def stumbling(machine: str, *states: str) -> dict[str, list[Answer]]:
    """Each of these functions is throttled once, and once more cannot reach its table."""
    return {state: [*TWICE, PLAIN[machine][state]] for state in states}


def late(state: str) -> dict[str, Answer | list[Answer]]:
    """RunTask is throttled, then a runner does not start in time, then one dies before it has the job."""
    return {state: [Fails("ECS.ThrottlingException"), TIMEOUT, STOPPED, STARTED]}
