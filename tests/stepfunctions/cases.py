"""The ways that one deployment can go: who does what, and what is to be seen afterwards.

A root's name tells the scripted runner what happens in it. ``Case.faults`` are what AWS refuses meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.stepfunctions.faults import FOR_GOOD, THROTTLED, calls, invokes, throttled_then_unavailable
from tests.stepfunctions.world import RootInWorld
from tidegate.domain.changes.waits import Waits
from tidegate.domain.deploys.deployment import Deployment, State

Act = Callable[[RootInWorld, Deployment], None]
Faults = Callable[[RootInWorld, Deployment], list[dict[str, Any]]]

WAITING = "Wait for a revision or an unlock"

CLAIMED = (
    "Claim the next deployment",
    "What to do next?",
    "Compare with the revision deployed last",
    "May it be deployed?",
)
RAN = (*CLAIMED, "Plan, review and apply", "Record the outcome")
RESTED = ("Claim the next deployment", "What to do next?", WAITING)
BEGAN = "Begin to work on the queue"
DEPLOYED = (BEGAN, *RAN, *RESTED)

_PLANNING = ("Begin the plan", "Start a runner for the plan", "Plan")
_AGAIN = ("May the plan be tried again?", "Wait before planning again")
_JUDGED = ("Record the plan", "What does the plan need?")
_HELD = ("Hold the plan against the policies", "Judge the plan by its policies", "What does the plan need?")
_BEGUN = ("Begin the deployment", "Does the plan wait for others?")
_BEFORE_PLAN = ("Wait for what this depends on",)
_BEFORE_APPLY = ("Wait for the stacks before this one",)
_OPENED = ("What follows from the gate?",)
PLANNED = (*_BEGUN, *_PLANNING, *_JUDGED)
PLANNED_AFTER_OTHERS = (*_BEGUN, *_BEFORE_PLAN, *_OPENED, *_PLANNING, *_JUDGED)
GATED = (*PLANNED, *_BEFORE_APPLY, *_OPENED)
PLANNED_AGAIN = ("Begin another plan", *_PLANNING, *_JUDGED, *_BEFORE_APPLY, *_OPENED)
_EXPIRED = ("Record that the gate expired", "Gate expired")
REPLANNED = (*_BEGUN, *_PLANNING, *_AGAIN, *_PLANNING, *_JUDGED)
REVIEWED = (*PLANNED, "Wait for the plan review", "Was the plan approved?")
_APPLYING = ("Begin the apply", "Start a runner for the apply", "Apply")
APPLYING = (*PLANNED, *_APPLYING)
APPLIED = (*APPLYING, "Record that it was applied", "Applied")
FAULTED = ("Record that Tidegate failed", "Tidegate failed")
UNKNOWN = ("Record that the outcome is unknown", "Outcome unknown")


def nobody(_: RootInWorld, __: Deployment) -> None:
    """Let it run."""


def confirm(root: RootInWorld, deployment: Deployment) -> None:
    root.press(deployment, "Confirm")


def reject(root: RootInWorld, deployment: Deployment) -> None:
    root.press(deployment, "Reject")


def refuses(function: str, pattern: str, how: dict[str, Any] | None = None, times: int | None = None) -> Faults:
    """AWS refuses to invoke a function for this deployment. ``{id}`` and ``{queue}`` stand in the pattern."""

    def faults(root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
        text = pattern.replace("{id}", deployment.id).replace("{queue}", f'{root.queue}"')
        return [invokes(function, text, how or FOR_GOOD, times)]

    return faults


def stumbles(*functions: str) -> Faults:
    """Each function is throttled once, and once more cannot reach its table."""

    def faults(root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
        return [fault for function in functions for fault in stumbling(function, root, deployment)]

    return faults


_BY_QUEUE = {"claim-deployment", "wait-for-signal", "close-worker", "hand-over-worker"}


def stumbling(function: str, root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
    return throttled_then_unavailable(function, f'{root.queue}"' if function in _BY_QUEUE else deployment.id)


@dataclass(frozen=True)
class Case:
    """A deployment's way. ``deploy`` and ``terraform`` are the states that the executions go through, in order."""

    name: str
    terraform: tuple[str, ...]
    state: State
    conclusion: str
    audits: tuple[str, ...] = ()
    act: Act = nobody
    faults: Faults = lambda _root, _deployment: []
    deploy: tuple[str, ...] = DEPLOYED
    locked: bool = False
    #: What of its change the deployment waits for: that is enrolled there, and never comes.
    waits: Waits | None = None
    #: What a policy in Rego says of the plan, which holds for it, if any does.
    policy: str = ""


def _all_at_once(*many: Faults) -> Faults:
    return lambda root, deployment: [fault for faults in many for fault in faults(root, deployment)]


def _throttled_runs(kind: str) -> Faults:
    how = {"error": "ThrottlingException", "status": 400}
    return lambda _, deployment: [calls(f"{deployment.id}-{kind}-", "ecs", "RunTask", how)]


def _starts(how: dict[str, Any], times: int | None) -> Faults:
    return lambda _, deployment: [calls(f'"name": "{deployment.id}"', "states", "StartExecution", how, times=times)]


def _audit_fails(_: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
    return [calls(deployment.id, "sns", "Publish", {"error": "AuthorizationError", "status": 403}, times=None)]


def _confirm_then_stumble(root: RootInWorld, deployment: Deployment) -> None:
    """What begins the apply stumbles as well: only now, as the same functions began the plan."""
    root.until_state(deployment, State.AWAITING_REVIEW)
    for fault in stumbling("begin-job", root, deployment):
        root.world.cloud.add_fault(**fault)
    root.world.cloud.add_fault(**invokes("hand-over-job", f"{deployment.id}-apply-", THROTTLED))
    confirm(root, deployment)


_FOR_ROOTS = Waits(plan_after=("dev",))
_FOR_STACKS = Waits(apply_after=("dev",))
_SUCCESS = ("RUNNING", "SUCCESS")
_FAILURE = ("RUNNING", "FAILURE")
_LOST = ("RUNNING", "UNKNOWN")
_RECORD_REFUSED = refuses("record-result", "{id}")
_NEVER_RAN = (BEGAN, *CLAIMED, "Plan, review and apply", "Record the outcome", *RESTED)

CASES = [
    Case("is-confirmed", (*REVIEWED, *_APPLYING, *APPLIED[-2:]), State.APPLIED, "success", _SUCCESS, confirm),
    Case("is-rejected", (*REVIEWED, "Rejected"), State.REJECTED, "cancelled", ("REJECTED",), reject),
    Case(
        "review-expires",
        (*REVIEWED[:-1], "Record that the review expired", "Review expired"),
        State.REVIEW_EXPIRED,
        "timed_out",
        faults=stumbles("record-result"),
    ),
    Case("plan-is-empty", (*PLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("plan-only-adds", APPLIED, State.APPLIED, "success", _SUCCESS),
    Case(
        "plan-fails",
        (*PLANNED[:-2], "Record that the plan failed", "Plan failed"),
        State.PLAN_FAILED,
        "failure",
        faults=stumbles("record-result"),
    ),
    Case(
        "plan-faults",
        (
            *_BEGUN,
            *_PLANNING,
            *_AGAIN,
            *_PLANNING,
            *_AGAIN,
            *_PLANNING,
            "May the plan be tried again?",
            *FAULTED,
        ),
        State.ENGINE_FAULT,
        "failure",
        faults=stumbles("record-result"),
    ),
    Case("dies-in-plan-once-plan-is-empty", (*REPLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("silent-in-plan-once-plan-is-empty", (*REPLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("hangs-in-plan-once-plan-is-empty", (*REPLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("plan-is-slow-plan-is-empty", (*PLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("plan-never-starts", (*PLANNED[:4], *FAULTED), State.ENGINE_FAULT, "timed_out"),
    Case(
        "plan-starts-late-once-plan-is-empty",
        (*PLANNED, "Nothing to change"),
        State.NO_CHANGES,
        "success",
        faults=_throttled_runs("plan"),
    ),
    Case(
        "plan-only-adds-apply-starts-late-once",
        APPLIED,
        State.APPLIED,
        "success",
        _SUCCESS,
        faults=_throttled_runs("apply"),
    ),
    Case("plan-only-adds-apply-never-starts", (*APPLYING[:-1], *FAULTED), State.ENGINE_FAULT, "timed_out", _FAILURE),
    Case(
        "plan-only-adds-apply-fails",
        (*APPLYING, "Record that the apply failed", "Apply failed"),
        State.APPLY_FAILED,
        "failure",
        _FAILURE,
        faults=stumbles("record-result"),
    ),
    Case(
        "plan-only-adds-apply-altered",
        (*APPLYING, "Record that the apply failed", "Apply failed"),
        State.APPLY_FAILED,
        "failure",
        _FAILURE,
    ),
    Case(
        "plan-only-adds-dies-in-apply",
        (*APPLYING, *UNKNOWN),
        State.OUTCOME_UNKNOWN,
        "action_required",
        _LOST,
        faults=stumbles("record-result"),
        locked=True,
    ),
    Case(
        "plan-only-adds-hangs-in-apply",
        (*APPLYING, *UNKNOWN),
        State.OUTCOME_UNKNOWN,
        "action_required",
        _LOST,
        locked=True,
    ),
    Case(
        "plan-only-adds-audit-fails",
        (*APPLYING[:-2], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=_audit_fails,
    ),
    Case(
        "all-stumble",
        (*REVIEWED, *_APPLYING, *APPLIED[-2:]),
        State.APPLIED,
        "success",
        _SUCCESS,
        _confirm_then_stumble,
        _all_at_once(
            stumbles(
                "claim-deployment",
                "validate-revision",
                "begin-job",
                "hand-over-job",
                "record-plan",
                "request-review",
                "record-result",
                "record-outcome",
                "wait-for-signal",
            ),
            _starts({"error": "ThrottlingException", "status": 400}, 1),
        ),
    ),
    Case(
        "plan-only-adds-policies-pass",
        (*PLANNED, *_HELD, *_APPLYING, *APPLIED[-2:]),
        State.APPLIED,
        "success",
        _SUCCESS,
        policy="input.never",
    ),
    Case(
        "policies-refuse",
        (*PLANNED, *_HELD, "Policies refuse the plan", "Record that the plan failed", "Plan failed"),
        State.PLAN_FAILED,
        "failure",
        faults=stumbles("check-policies", "judge-plan"),
        policy="true",
    ),
    Case(
        "holding-is-refused",
        (*PLANNED, _HELD[0], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("check-policies", "{id}"),
        policy="true",
    ),
    Case(
        "judging-is-refused",
        (*PLANNED, *_HELD[:2], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("judge-plan", "{id}"),
        policy="true",
    ),
    Case("start-is-refused", (), State.ENGINE_FAULT, "failure", faults=_starts(FOR_GOOD, None), deploy=_NEVER_RAN),
    Case(
        "comparing-is-refused",
        (),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("validate-revision", "{id}"),
        deploy=(BEGAN, *CLAIMED[:-1], "Record the outcome", *RESTED),
    ),
    Case(
        "beginning-is-refused",
        (*PLANNED[:3], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("begin-job", "{id}"),
    ),
    Case(
        "recording-the-plan-is-refused",
        (*PLANNED[:-1], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("record-plan", "{id}"),
    ),
    Case(
        "review-is-refused",
        (*REVIEWED[:-1], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("request-review", "{id}"),
    ),
    Case(
        "plan-only-adds-record-refused",
        (*APPLIED[:-1], "Tidegate failed"),
        State.OUTCOME_UNKNOWN,
        "action_required",
        _LOST,
        faults=_RECORD_REFUSED,
        locked=True,
    ),
    Case(
        "plan-only-adds-apply-fails-unrecorded",
        (*APPLYING, "Record that the apply failed", "Tidegate failed"),
        State.OUTCOME_UNKNOWN,
        "action_required",
        _LOST,
        faults=_RECORD_REFUSED,
        locked=True,
    ),
    Case(
        "plan-only-adds-dies-in-apply-unrecorded",
        (*APPLYING, "Record that the outcome is unknown", "Tidegate failed"),
        State.OUTCOME_UNKNOWN,
        "action_required",
        _LOST,
        faults=_RECORD_REFUSED,
        locked=True,
    ),
    Case(
        "plan-fails-unrecorded",
        (*PLANNED[:-2], "Record that the plan failed", "Tidegate failed"),
        State.ENGINE_FAULT,
        "failure",
        faults=_RECORD_REFUSED,
    ),
    Case(
        "review-expires-unrecorded",
        (*REVIEWED[:-1], "Record that the review expired", "Tidegate failed"),
        State.ENGINE_FAULT,
        "failure",
        faults=_RECORD_REFUSED,
    ),
    Case(
        "beginning-is-refused-unrecorded",
        (*PLANNED[:3], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=_all_at_once(refuses("begin-job", "{id}"), _RECORD_REFUSED),
    ),
    Case(
        "never-ends",
        REVIEWED[:-1],
        State.ENGINE_FAULT,
        "timed_out",
    ),
    Case(
        "gate-expires-before-the-plan",
        (*_BEGUN, *_BEFORE_PLAN, *_EXPIRED),
        State.GATE_EXPIRED,
        "timed_out",
        faults=stumbles("record-result"),
        waits=_FOR_ROOTS,
    ),
    Case(
        "gate-expires-before-the-apply",
        (*PLANNED, *_BEFORE_APPLY, *_EXPIRED),
        State.GATE_EXPIRED,
        "timed_out",
        waits=_FOR_STACKS,
    ),
    Case(
        "gate-expires-unrecorded",
        (*_BEGUN, *_BEFORE_PLAN, "Record that the gate expired", "Tidegate failed"),
        State.ENGINE_FAULT,
        "failure",
        faults=_RECORD_REFUSED,
        waits=_FOR_ROOTS,
    ),
    Case(
        "waiting-for-roots-is-refused",
        (*_BEGUN, *_BEFORE_PLAN, *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("wait-at-gate", "{id}"),
        waits=_FOR_ROOTS,
    ),
    Case(
        "waiting-for-stacks-is-refused",
        (*PLANNED, *_BEFORE_APPLY, *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("wait-at-gate", "{id}"),
        waits=_FOR_STACKS,
    ),
]
