"""The ways through each state machine: what its tasks answer, and the states that it goes through then.

A way says only what differs from the plain one, of which ``PLAIN`` has the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.stepfunctions import drift_cases as drift
from tests.stepfunctions import pull_cases as pulls
from tests.stepfunctions.interpreter import Answer, Fails
from tests.stepfunctions.ways import (
    AGAIN,
    APPLIED,
    APPLY,
    APPLYING,
    BEFORE_APPLY,
    BEFORE_PLAN,
    BEGAN,
    BEGUN,
    CLAIMED,
    EXPIRED,
    FAULTED,
    GATED,
    HELD,
    LACKING,
    OPENED,
    PLANNED,
    PLANNED_AFTER_OTHERS,
    PLANNED_AGAIN,
    PLANNING,
    RAN,
    REPLANNED,
    RESTED,
    REVIEWED,
    UNKNOWN,
)

_ARTIFACT = {"key": "plans/plan", "sha256": "0" * 64}
_COUNTS = dict.fromkeys(("add", "change", "destroy", "replace", "outputs", "moved"), 0)
_PLAN = {
    "job": "plan-1",
    "changes": _COUNTS,
    "engine_version": "1.2.3",
    "lock_file": None,
    **dict.fromkeys(("file", "json", "text"), _ARTIFACT),
}
_JOB = {"job": "job-1", "digest": "0" * 64}
_STARTED: Answer = {}


def _next(what: str) -> Answer:
    return {"next": what, "reason": ""}


def _claims(step: str) -> Answer:
    return {"step": step, "reason": "", "version": 1, "deployment": "deployment-1" if step == "deploy" else None}


_LAYERS = {"next": "plan", "layers": ["layer-1"]}
_SPECULATED = {"state": "planned", "policies": False}
_LAYER: dict[str, Answer] = {
    "Begin the plan": _JOB,
    "Wait for a free place": {},
    "Start a runner for the plan": _STARTED,
    "Plan": _PLAN,
    "Record the plan": _SPECULATED,
}
#: By machine: what the execution is given, and what each task answers where a way says nothing else.
GIVEN: dict[str, Mapping[str, Any]] = {
    "terraform": {"deployment": "deployment-1", "waits": False},
    "deploy": {"queue": "acme/infra||app"},
    "pull_request": {"pull_request": "acme/infra#1", "revision": "head+base"},
    "drift": {"repository": "acme/infra", "schedule": "nightly"},
}
PLAIN: dict[str, dict[str, Answer]] = {
    "terraform": {
        "Wait for what this depends on": {"next": "plan"},
        "Begin the plan": _JOB,
        "Start a runner for the plan": _STARTED,
        "Plan": _PLAN,
        "Record the plan": _next("apply"),
        "Hold the plan against the policies": {"failed": []},
        "Judge the plan by its policies": _next("apply"),
        "Wait for the stacks before this one": {"next": "apply"},
        "Wait for its requirements": {"next": "apply"},
        "Wait for the plan review": {"approved": True, "by": "reviewer", "at": "2026-01-01"},
        "Begin the apply": _JOB,
        "Start a runner for the apply": _STARTED,
        "Apply": {"job": "apply-1", "last_lines": "Apply complete!"},
        "Record that it was applied": {"state": "applied", "end": "recorded"},
        "Record that the plan failed": {"state": "plan_failed", "end": "recorded"},
        "Record that the apply failed": {"state": "apply_failed", "end": "recorded"},
        "Record that the review expired": {"state": "review_expired", "end": "recorded"},
        "Record that the gate expired": {"state": "gate_expired", "end": "recorded"},
        "Record that the outcome is unknown": {"state": "outcome_unknown", "end": "unknown"},
        "Record that Tidegate failed": {"state": "engine_fault", "end": "recorded"},
    },
    "deploy": {
        "Compare with the revision deployed last": {"allowed": True, "reason": "", "waits": False},
        "Plan, review and apply": {},
        "Record the outcome": {"state": "applied"},
        "Wait for a revision or an unlock": Fails("States.Timeout"),
        "Close the queue if nothing came": {"closed": True},
        "Hand over to a new execution": {},
    },
    "pull_request": {
        "Find what the pull request changes": _LAYERS,
        **_LAYER,
        "Hold the plan against the policies": {"failed": []},
        "Record that the plan failed": {"state": "failed", "policies": False},
        "Record that Tidegate failed": {"state": "failed", "policies": False},
        "Show what the merge would do": {"outcome": "shown"},
        "Show that Tidegate failed": {"outcome": "shown"},
    },
    "drift": {
        "Find what is looked at": _LAYERS,
        **_LAYER,
        "Record that there is no plan": {"state": "failed", "policies": False},
        "Keep and show what was found": {"summary": "1 drifted"},
        "Record that Tidegate failed": {"summary": "no roots"},
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


_REFUSED = Fails("Lambda.AccessDeniedException")
_TIMEOUT, _SILENT, _STOPPED = Fails("States.Timeout"), Fails("States.HeartbeatTimeout"), Fails("RunnerStopped")
_ENGINE, _RUNNER = Fails("TerraformClientError"), Fails("RunnerFault")
_NO_PLACE = Fails("NoFreePlace")
_TWICE = [Fails("Lambda.TooManyRequestsException"), Fails("CloudUnavailable")]


def _stumbling(machine: str, *states: str) -> dict[str, list[Answer]]:
    """Each of these functions is throttled once, and once more cannot reach its table."""
    return {state: [*_TWICE, PLAIN[machine][state]] for state in states}


def _late(state: str) -> dict[str, Answer | list[Answer]]:
    """RunTask is throttled, then a runner does not start in time, then one dies before it has the job."""
    return {state: [Fails("ECS.ThrottlingException"), _TIMEOUT, _STOPPED, _STARTED]}


def _deployment(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("terraform", name, states, records=records, **more)


_REVIEW = _next("review")
_GATE = _next("gate")
_LACKS = Fails("RequirementsMissing")
_WAITS = {"deployment": "deployment-1", "waits": True}
_FAILED_PLAN = ("Record that the plan failed", "Plan failed")
_FAILED_APPLY = ("Record that the apply failed", "Apply failed")
_FROM_APPLY = (*APPLY, *APPLIED[-2:])
_REVIEWING = ("Wait for the plan review", "Was the plan approved?")
_BACK_AT_THE_GATE = ("Begin the apply", *BEFORE_APPLY, "What follows from the gate?")

TERRAFORM = [
    _deployment("is confirmed", (*REVIEWED, *_FROM_APPLY), answers={"Record the plan": _REVIEW}),
    _deployment(
        "is rejected",
        (*REVIEWED, "Rejected"),
        answers={
            "Record the plan": _REVIEW,
            "Wait for the plan review": {"approved": False, "by": "reviewer", "at": "2026-01-01"},
        },
    ),
    _deployment("needs no review", APPLIED),
    _deployment("changes nothing", (*PLANNED, "Nothing to change"), answers={"Record the plan": _next("nothing")}),
    _deployment(
        "everything stumbles",
        (*BEGUN, *BEFORE_PLAN, "What follows from the gate?", *PLANNED[2:], *HELD, *_REVIEWING, *_FROM_APPLY),
        given=_WAITS,
        answers={
            **_stumbling(
                "terraform",
                "Wait for what this depends on",
                "Begin the plan",
                "Plan",
                "Hold the plan against the policies",
                "Wait for the plan review",
                "Begin the apply",
                "Record that it was applied",
            ),
            "Record the plan": [*_TWICE, _next("policies")],
            "Judge the plan by its policies": [
                *_TWICE,
                _REVIEW,
            ],
            "Apply": [Fails("Lambda.TooManyRequestsException"), Fails("ForgeUnavailable"), PLAIN["terraform"]["Apply"]],
        },
    ),
    *(
        _deployment(
            f"stumbles at {state}",
            states,
            error,
            given=given,
            answers={**how, **_stumbling("terraform", state)},
        )
        for state, states, error, given, how in (
            (
                "Record that the plan failed",
                (*PLANNED[:-2], *_FAILED_PLAN),
                "TerraformClientError",
                {},
                {"Plan": _ENGINE},
            ),
            (
                "Record that the apply failed",
                (*APPLYING, *_FAILED_APPLY),
                "TerraformClientError",
                {},
                {"Apply": _ENGINE},
            ),
            ("Record that the outcome is unknown", (*APPLYING, *UNKNOWN), "RunnerStopped", {}, {"Apply": _STOPPED}),
            (
                "Record that the review expired",
                (*REVIEWED[:-1], "Record that the review expired", "Review expired"),
                "States.Timeout",
                {},
                {"Record the plan": _REVIEW, "Wait for the plan review": _TIMEOUT},
            ),
            (
                "Record that the gate expired",
                (*BEGUN, *BEFORE_PLAN, *EXPIRED),
                "States.Timeout",
                _WAITS,
                {"Wait for what this depends on": _TIMEOUT},
            ),
            (
                "Record that Tidegate failed",
                (*PLANNED[:3], *FAULTED),
                _REFUSED.error,
                {},
                {"Begin the plan": _REFUSED},
            ),
        )
    ),
    *(
        _deployment(
            f"its runner for the plan {what}",
            (*REPLANNED, *_FROM_APPLY),
            answers={"Plan": [error, _PLAN]},
        )
        for what, error in (("dies", _STOPPED), ("falls silent", _SILENT), ("takes too long", _TIMEOUT))
    ),
    _deployment(
        "plans three times for a fault of the runner, and never again",
        (*BEGUN, *PLANNING, *AGAIN, *PLANNING, *AGAIN, *PLANNING, AGAIN[0], *FAULTED),
        "RunnerFault",
        answers={"Plan": _RUNNER},
    ),
    _deployment("its runner for the plan starts late", APPLIED, answers=_late("Start a runner for the plan")),
    _deployment("its runner for the apply starts late", APPLIED, answers=_late("Start a runner for the apply")),
    _deployment(
        "its runner for the plan never starts",
        (*PLANNED[:4], *FAULTED),
        "States.Timeout",
        answers={"Start a runner for the plan": _TIMEOUT},
    ),
    _deployment(
        "its runner for the apply never starts",
        (*APPLYING[:-1], *FAULTED),
        "States.Timeout",
        answers={"Start a runner for the apply": _TIMEOUT},
    ),
    *(
        _deployment(f"its apply ends with {error}", (*APPLYING, *_FAILED_APPLY), error, answers={"Apply": Fails(error)})
        for error in ("PlanAltered", "ApplyNotStarted")
    ),
    *(
        _deployment(
            f"its outcome is unknown after {error.error}", (*APPLYING, *UNKNOWN), error.error, answers={"Apply": error}
        )
        for error in (_SILENT, _TIMEOUT, Fails("CloudUnavailable"))
    ),
    _deployment(
        "policies refuse it",
        (*PLANNED, *HELD, "Policies refuse the plan", *_FAILED_PLAN),
        "PoliciesRefused",
        answers={"Record the plan": _next("policies"), "Judge the plan by its policies": _next("refused")},
    ),
    *(
        _deployment(
            f"{state} is refused",
            (*states, *FAULTED),
            _REFUSED.error,
            given=given,
            answers={**how, state: _REFUSED},
        )
        for state, states, given, how in (
            ("Wait for what this depends on", (*BEGUN, *BEFORE_PLAN), _WAITS, {}),
            ("Record the plan", PLANNED[:-1], {}, {}),
            (
                "Hold the plan against the policies",
                (*PLANNED, HELD[0]),
                {},
                {"Record the plan": _next("policies")},
            ),
            ("Judge the plan by its policies", (*PLANNED, *HELD[:2]), {}, {"Record the plan": _next("policies")}),
            ("Wait for the stacks before this one", (*PLANNED, *BEFORE_APPLY), {}, {"Record the plan": _GATE}),
            ("Wait for the plan review", REVIEWED[:-1], {}, {"Record the plan": _REVIEW}),
            ("Begin the apply", APPLYING[:-2], {}, {}),
        )
    ),
    *(
        _deployment(
            f"{record} is refused",
            (*states, record, "Tidegate failed"),
            error,
            given=given,
            answers={**how, record: _REFUSED},
        )
        for states, record, error, given, how in (
            (APPLYING, "Record that it was applied", None, {}, {}),
            (APPLYING, "Record that the apply failed", "TerraformClientError", {}, {"Apply": _ENGINE}),
            (APPLYING, "Record that the outcome is unknown", "RunnerStopped", {}, {"Apply": _STOPPED}),
            (PLANNED[:-2], "Record that the plan failed", "TerraformClientError", {}, {"Plan": _ENGINE}),
            (
                REVIEWED[:-1],
                "Record that the review expired",
                "States.Timeout",
                {},
                {"Record the plan": _REVIEW, "Wait for the plan review": _TIMEOUT},
            ),
            (
                (*BEGUN, *BEFORE_PLAN),
                "Record that the gate expired",
                "States.Timeout",
                _WAITS,
                {"Wait for what this depends on": _TIMEOUT},
            ),
            (PLANNED[:3], FAULTED[0], _REFUSED.error, {}, {"Begin the plan": _REFUSED}),
        )
    ),
    _deployment("is planned after what it depends on", (*PLANNED_AFTER_OTHERS, *_FROM_APPLY), given=_WAITS),
    _deployment(
        "waits at its gate for too long",
        (*PLANNED, *BEFORE_APPLY, *EXPIRED),
        "States.Timeout",
        answers={"Record the plan": _GATE, "Wait for the stacks before this one": _TIMEOUT},
    ),
    *(
        _deployment(
            f"goes from its gate to {after[0]}",
            (*GATED, *after),
            answers={"Record the plan": _GATE, "Wait for the stacks before this one": {"next": to}},
        )
        for to, after in (
            ("apply", _FROM_APPLY),
            ("review", (*_REVIEWING, *_FROM_APPLY)),
            ("rejected", ("Rejected",)),
            ("superseded", ("Superseded",)),
        )
    ),
    _deployment(
        "is planned again at its gate",
        (*GATED, *PLANNED_AGAIN, *_FROM_APPLY),
        answers={
            "Record the plan": _GATE,
            "Wait for the stacks before this one": [
                *_TWICE,
                {"next": "plan again"},
                {"next": "apply"},
            ],
        },
    ),
    _deployment(
        "goes back to a gate that has shut",
        (*GATED, *_BACK_AT_THE_GATE, *_FROM_APPLY),
        answers={"Record the plan": _GATE, "Begin the apply": [Fails("GateShut"), _JOB]},
    ),
    *(
        _deployment(
            f"is cancelled at {state}",
            (*states, "Cancelled"),
            given=given,
            answers={**how, state: Fails("DeploymentCancelled")},
        )
        for state, states, given, how in (
            ("Wait for what this depends on", (*BEGUN, *BEFORE_PLAN), _WAITS, {}),
            ("Begin the plan", PLANNED[:3], {}, {}),
            ("Plan", PLANNED[:5], {}, {}),
            ("Record the plan", PLANNED[:-1], {}, {}),
            ("Judge the plan by its policies", (*PLANNED, *HELD[:2]), {}, {"Record the plan": _next("policies")}),
            ("Wait for the stacks before this one", (*PLANNED, *BEFORE_APPLY), {}, {"Record the plan": _GATE}),
            ("Wait for the plan review", REVIEWED[:-1], {}, {"Record the plan": _REVIEW}),
            ("Begin the apply", APPLYING[:-2], {}, {}),
            ("Wait for its requirements", (*PLANNED, *LACKING), {}, {"Begin the apply": _LACKS}),
            ("Apply", APPLYING, {}, {}),
        )
    ),
    *(
        _deployment(
            f"ends as {state} after its apply was interrupted",
            (*APPLYING, *UNKNOWN[:-1], end),
            "RunnerStopped",
            answers={"Apply": _STOPPED, "Record that the outcome is unknown": {"state": "any", "end": state}},
        )
        for state, end in (("apply failed", "Apply failed"), ("cancelled", "Cancelled"))
    ),
    _deployment(
        "is cancelled while its third attempt to plan fails",
        (*BEGUN, *PLANNING, *AGAIN, *PLANNING, *AGAIN, *PLANNING, AGAIN[0], *FAULTED[:-1], "Cancelled"),
        "RunnerFault",
        answers={"Plan": _RUNNER, "Record that Tidegate failed": {"state": "cancelled", "end": "cancelled"}},
    ),
    _deployment(
        "is not applied once its commit left its branch",
        (*PLANNED, "Begin the apply", "Rejected"),
        answers={"Begin the apply": Fails("CommitLeftBranch")},
    ),
    _deployment(
        "is applied once its requirements are met",
        (*PLANNED, *LACKING, *OPENED, *_FROM_APPLY),
        answers={"Begin the apply": [_LACKS, _JOB], **_stumbling("terraform", "Wait for its requirements")},
    ),
    _deployment(
        "is rejected while it waits for its requirements",
        (*PLANNED, *LACKING, *OPENED, "Rejected"),
        answers={"Begin the apply": _LACKS, "Wait for its requirements": {"next": "rejected"}},
    ),
    _deployment(
        "waits for its requirements for too long",
        (*PLANNED, *LACKING, *EXPIRED),
        "States.Timeout",
        answers={"Begin the apply": _LACKS, "Wait for its requirements": _TIMEOUT},
    ),
    _deployment(
        "cannot wait for its requirements",
        (*PLANNED, *LACKING, *FAULTED),
        _REFUSED.error,
        answers={"Begin the apply": _LACKS, "Wait for its requirements": _REFUSED},
    ),
]

_QUIET = ("Close the queue if nothing came", "Is there work after all?", "The queue is quiet")
_HANDED = ("Claim the next deployment", "What to do next?", "Hand over to a new execution")


def _queue(name: str, states: tuple[str, ...], *claims: str, **more: Any) -> Way:
    answers = {"Claim the next deployment": [_claims(step) for step in claims], **more.pop("answers", {})}
    return Way("deploy", name, (BEGAN, *states), answers, **more)


DEPLOY = [
    _queue("deploys, and closes when it is quiet", (*RAN, *RESTED, *_QUIET), "deploy", "wait"),
    _queue(
        "is woken and deploys again",
        (*RESTED, *RAN, *RESTED, *_QUIET),
        "wait",
        "deploy",
        "wait",
        answers={"Wait for a revision or an unlock": [{}, _TIMEOUT]},
    ),
    _queue(
        "finds work while it closes",
        (*RESTED, *_QUIET[:2], *RAN, *RESTED, *_QUIET),
        "wait",
        "deploy",
        "wait",
        answers={"Close the queue if nothing came": [{"closed": False}, {"closed": True}]},
    ),
    _queue("hands over after many rounds", (*RAN, *_HANDED, "Handed over"), "deploy", "hand over"),
    _queue("belongs to another execution", (*CLAIMED[:2], "Another execution works here"), "stop"),
    _queue(
        "may not deploy the revision",
        (*CLAIMED, "Record the outcome", *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={"Compare with the revision deployed last": {"allowed": False, "reason": "", "waits": False}},
    ),
    _queue(
        "cannot compare the revision",
        (*CLAIMED[:-1], "Record the outcome", *RESTED, *_QUIET),
        "deploy",
        "wait",
        answers={"Compare with the revision deployed last": _REFUSED},
        records=_REFUSED.error,
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
            **_stumbling(
                "deploy",
                "Compare with the revision deployed last",
                "Record the outcome",
                "Wait for a revision or an unlock",
                "Close the queue if nothing came",
            ),
            "Claim the next deployment": [
                Fails("Lambda.TooManyRequestsException"),
                Fails("Conflict"),
                _claims("deploy"),
                _claims("wait"),
            ],
            "Plan, review and apply": [Fails("StepFunctions.ThrottlingException"), {}],
        },
    ),
    _queue(
        "the hand-over stumbles",
        (*_HANDED, "Handed over"),
        "hand over",
        answers=_stumbling("deploy", "Hand over to a new execution"),
    ),
    *(
        _queue(f"{states[-1]} is refused", (*states, "Tidegate failed"), *claims, answers={states[-1]: _REFUSED})
        for states, claims in (
            (CLAIMED[:1], ("deploy",)),
            (RAN, ("deploy",)),
            (RESTED, ("wait",)),
            ((*RESTED, _QUIET[0]), ("wait",)),
            (_HANDED, ("hand over",)),
        )
    ),
]

_LOOK = (*pulls.FOUND, *pulls.EACH, *pulls.PLANNING)
_PLACED = (*pulls.FOUND, *pulls.EACH, *pulls.WAITING)
_GOOD = (*pulls.RECORDED, "Layer planned", *pulls.SHOWN)
_FAULTY = (*pulls.FAULT, *pulls.ALARMED)


def _pull(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("pull_request", name, states, records=records, **more)


_HELD_AGAINST = {"Record the plan": {"state": "planned", "policies": True}}

PULL_REQUEST = [
    _pull("plans", (*_LOOK, *_GOOD)),
    _pull(
        "everything stumbles",
        (*_PLACED, *pulls.PLANNING, *pulls.JUDGED, "Layer planned", *pulls.SHOWN),
        answers={
            **_stumbling(
                "pull_request",
                "Find what the pull request changes",
                "Wait for a free place",
                "Plan",
                "Hold the plan against the policies",
                "Show what the merge would do",
            ),
            "Begin the plan": [_NO_PLACE, *_TWICE, _JOB],
            "Record the plan": [
                *_TWICE,
                _HELD_AGAINST["Record the plan"],
            ],
        },
    ),
    _pull("its plan fails", (*_LOOK, *pulls.FAILED), "TerraformClientError", answers={"Plan": _ENGINE}),
    _pull(
        "its failed plan stumbles",
        (*_LOOK, *pulls.FAILED),
        "TerraformClientError",
        answers={"Plan": _ENGINE, **_stumbling("pull_request", "Record that the plan failed")},
    ),
    _pull("its runner starts late", (*_LOOK, *_GOOD), answers=_late("Start a runner for the plan")),
    _pull(
        "its runner never starts",
        (*_LOOK[:-1], *_FAULTY),
        "States.Timeout",
        answers={"Start a runner for the plan": _TIMEOUT},
    ),
    *(
        _pull(
            f"its runner {what}",
            (*_LOOK, *pulls.AGAIN, *pulls.PLANNING, *_GOOD),
            answers={"Plan": [error, _PLAN]},
        )
        for what, error in (("dies", _STOPPED), ("falls silent", _SILENT))
    ),
    _pull(
        "plans twice for a fault of the runner, and stumbles when it records that",
        (*_LOOK, *pulls.AGAIN, *pulls.PLANNING, pulls.AGAIN[0], *_FAULTY),
        "RunnerFault",
        answers={"Plan": _RUNNER, **_stumbling("pull_request", "Record that Tidegate failed")},
    ),
    _pull(
        "finds no place",
        (*_PLACED, *_FAULTY),
        "NoFreePlace",
        answers={"Begin the plan": _NO_PLACE, "Wait for a free place": _TIMEOUT},
    ),
    _pull(
        "may not wait for a place",
        (*_PLACED, *_FAULTY),
        _REFUSED.error,
        answers={"Begin the plan": _NO_PLACE, "Wait for a free place": _REFUSED},
    ),
    *(
        _pull(f"{state} is refused", (*states, *_FAULTY), _REFUSED.error, answers={state: _REFUSED})
        for state, states in (("Begin the plan", _LOOK[:-2]), ("Record the plan", (*_LOOK, pulls.RECORDED[0])))
    ),
    _pull(
        "cannot be held against policies",
        (*_LOOK, *pulls.JUDGED, *_FAULTY),
        _REFUSED.error,
        answers={**_HELD_AGAINST, "Hold the plan against the policies": _REFUSED},
    ),
    *(
        _pull(
            f"{record} is refused",
            (*_LOOK, *states, record, "Layer at fault", *pulls.ALARMED),
            how.error,
            answers={"Plan": how, record: _REFUSED},
        )
        for record, states, how in (
            ("Record that the plan failed", (), _ENGINE),
            ("Record that Tidegate failed", (*pulls.AGAIN, *pulls.PLANNING, pulls.AGAIN[0]), _RUNNER),
        )
    ),
    _pull(
        "cannot be looked at, and that is told",
        (*pulls.FOUND[:2], *pulls.TOLD),
        _REFUSED.error,
        answers={
            "Find what the pull request changes": _REFUSED,
            **_stumbling("pull_request", "Show that Tidegate failed"),
        },
    ),
    _pull(
        "cannot be looked at, and nobody is told",
        (*pulls.FOUND[:2], *pulls.TOLD),
        _REFUSED.error,
        answers={"Find what the pull request changes": _REFUSED, "Show that Tidegate failed": _REFUSED},
    ),
    _pull(
        "cannot be shown",
        (*_LOOK, *pulls.RECORDED, "Layer planned", pulls.SHOWN[0], "Tidegate failed"),
        answers={"Show what the merge would do": _REFUSED},
    ),
    *(
        _pull(
            f"is to {what}",
            (*pulls.FOUND, *states),
            answers={"Find what the pull request changes": {"next": what, "layers": []}},
        )
        for what, states in (("nothing", ("Nothing to plan",)), ("comment", pulls.SHOWN), ("stop", ("Overtaken",)))
    ),
    _pull(
        "is overtaken before it is shown",
        (*_LOOK, *pulls.RECORDED, "Layer planned", *pulls.SHOWN[:-1], "Overtaken"),
        answers={"Show what the merge would do": {"outcome": "overtaken"}},
    ),
]

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
            **_stumbling(
                "drift",
                "Find what is looked at",
                "Wait for a free place",
                "Plan",
                "Record the plan",
                "Keep and show what was found",
            ),
            "Begin the plan": [_NO_PLACE, *_TWICE, _JOB],
        },
    ),
    _drift(
        "its plan fails, and stumbles when it records that",
        (*_LOOKING, *drift.FAILED),
        "TerraformClientError",
        answers={"Plan": _ENGINE, **_stumbling("drift", "Record that there is no plan")},
    ),
    *(
        _drift(
            f"its runner is at fault: {error.error}", (*_LOOKING, *drift.FAULT), error.error, answers={"Plan": error}
        )
        for error in (_RUNNER, _SILENT, _STOPPED, _TIMEOUT)
    ),
    _drift(
        "its runner starts late",
        (*_LOOKING, *drift.PLANNED, *drift.SHOWN),
        answers=_late("Start a runner for the plan"),
    ),
    _drift(
        "its runner never starts",
        (*_LOOKING[:-1], *drift.FAULT),
        "States.Timeout",
        answers={"Start a runner for the plan": _TIMEOUT},
    ),
    _drift(
        "finds no place",
        (*_QUEUED, *drift.FAULT),
        "NoFreePlace",
        answers={"Begin the plan": _NO_PLACE, "Wait for a free place": _TIMEOUT},
    ),
    _drift(
        "may not wait for a place",
        (*_QUEUED, *drift.FAULT),
        _REFUSED.error,
        answers={"Begin the plan": _NO_PLACE, "Wait for a free place": _REFUSED},
    ),
    *(
        _drift(f"{state} is refused", (*states, *drift.FAULT), _REFUSED.error, answers={state: _REFUSED})
        for state, states in (("Begin the plan", _LOOKING[:-2]), ("Record the plan", (*_LOOKING, drift.PLANNED[0])))
    ),
    _drift(
        "cannot record that there is no plan",
        (*_LOOKING, drift.UNPLANNED[0], "Layer at fault", *drift.ALARMED),
        "RunnerFault",
        answers={"Plan": _RUNNER, "Record that there is no plan": _REFUSED},
    ),
    _drift(
        "cannot be looked at, and that is kept",
        drift.TOLD,
        _REFUSED.error,
        answers={"Find what is looked at": _REFUSED, **_stumbling("drift", "Record that Tidegate failed")},
    ),
    _drift(
        "cannot be looked at, and nobody is told",
        drift.TOLD,
        _REFUSED.error,
        answers={"Find what is looked at": _REFUSED, "Record that Tidegate failed": _REFUSED},
    ),
    _drift(
        "what was found cannot be kept",
        (*_LOOKING, *drift.PLANNED, drift.SHOWN[0], "Tidegate failed"),
        answers={"Keep and show what was found": _REFUSED},
    ),
    *(
        _drift(
            f"is to {what}", (*drift.FOUND, *states), answers={"Find what is looked at": {"next": what, "layers": []}}
        )
        for what, states in (("conclude", drift.SHOWN), ("stop", ("Not this run",)))
    ),
]

WAYS = [*TERRAFORM, *DEPLOY, *PULL_REQUEST, *DRIFT]
