"""The ways that one deployment can go: who does what, and what is to be seen afterwards.

A root's name tells the scripted runner what happens in it. ``Case.faults`` are what AWS refuses meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.stepfunctions.acts import Act, Faults, confirm, nobody, override, refuses, reject, stumbles, stumbling
from tests.stepfunctions.faults import FOR_GOOD, THROTTLED, calls, invokes
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
    DEPLOYED,
    EXPIRED,
    FAULTED,
    HELD,
    LACKING,
    OPENED,
    PLANNED,
    PLANNING,
    REPLANNED,
    RESTED,
    REVIEWED,
    UNKNOWN,
)
from tests.stepfunctions.world import RootInWorld
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.policies.rules.requirements import Requirements


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
    #: What its root requires of every apply: its commit came with no pull request.
    requires: tuple[Requirements, ...] = ()


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
    for fault in stumbling("begin_job", root, deployment):
        root.world.cloud.add_fault(**fault)
    root.world.cloud.add_fault(**invokes("hand_over_job", f"{deployment.id}-apply-", THROTTLED))
    confirm(root, deployment)


_FOR_ROOTS = Waits(plan_after=("dev",))
_FOR_STACKS = Waits(apply_after=("dev",))
_APPROVAL = (Requirements(approvals=1),)
_SUCCESS = ("RUNNING", "SUCCESS")
_FAILURE = ("RUNNING", "FAILURE")
_LOST = ("RUNNING", "UNKNOWN")
_RECORD_REFUSED = refuses("record_result", "{id}")
_NEVER_RAN = (BEGAN, *CLAIMED, "Plan, review and apply", "Record the outcome", *RESTED)

CASES = [
    Case("is-confirmed", (*REVIEWED, *APPLY, *APPLIED[-2:]), State.APPLIED, "success", _SUCCESS, confirm),
    Case("is-rejected", (*REVIEWED, "Rejected"), State.REJECTED, "cancelled", ("REJECTED",), reject),
    Case(
        "review-expires",
        (*REVIEWED[:-1], "Record that the review expired", "Review expired"),
        State.REVIEW_EXPIRED,
        "timed_out",
        faults=stumbles("record_result"),
    ),
    Case("plan-is-empty", (*PLANNED, "Nothing to change"), State.NO_CHANGES, "success"),
    Case("plan-only-adds", APPLIED, State.APPLIED, "success", _SUCCESS),
    Case(
        "plan-fails",
        (*PLANNED[:-2], "Record that the plan failed", "Plan failed"),
        State.PLAN_FAILED,
        "failure",
        faults=stumbles("record_result"),
    ),
    Case(
        "plan-faults",
        (
            *BEGUN,
            *PLANNING,
            *AGAIN,
            *PLANNING,
            *AGAIN,
            *PLANNING,
            "May the plan be tried again?",
            *FAULTED,
        ),
        State.ENGINE_FAULT,
        "failure",
        faults=stumbles("record_result"),
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
        faults=stumbles("record_result"),
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
        faults=stumbles("record_result"),
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
        (*REVIEWED, *APPLY, *APPLIED[-2:]),
        State.APPLIED,
        "success",
        _SUCCESS,
        _confirm_then_stumble,
        _all_at_once(
            stumbles(
                "claim_deployment",
                "validate_revision",
                "begin_job",
                "hand_over_job",
                "record_plan",
                "request_review",
                "record_result",
                "record_outcome",
                "wait_for_signal",
            ),
            _starts({"error": "ThrottlingException", "status": 400}, 1),
        ),
    ),
    Case(
        "plan-only-adds-policies-pass",
        (*PLANNED, *HELD, *APPLY, *APPLIED[-2:]),
        State.APPLIED,
        "success",
        _SUCCESS,
        policy="input.never",
    ),
    Case(
        "policies-refuse",
        (*PLANNED, *HELD, "Policies refuse the plan", "Record that the plan failed", "Plan failed"),
        State.PLAN_FAILED,
        "failure",
        faults=stumbles("check_policies", "judge_plan"),
        policy="true",
    ),
    Case(
        "holding-is-refused",
        (*PLANNED, HELD[0], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("check_policies", "{id}"),
        policy="true",
    ),
    Case(
        "judging-is-refused",
        (*PLANNED, *HELD[:2], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("judge_plan", "{id}"),
        policy="true",
    ),
    Case("start-is-refused", (), State.ENGINE_FAULT, "failure", faults=_starts(FOR_GOOD, None), deploy=_NEVER_RAN),
    Case(
        "comparing-is-refused",
        (),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("validate_revision", "{id}"),
        deploy=(BEGAN, *CLAIMED[:-1], "Record the outcome", *RESTED),
    ),
    Case(
        "beginning-is-refused",
        (*PLANNED[:3], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("begin_job", "{id}"),
    ),
    Case(
        "recording-the-plan-is-refused",
        (*PLANNED[:-1], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("record_plan", "{id}"),
    ),
    Case(
        "review-is-refused",
        (*REVIEWED[:-1], *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("request_review", "{id}"),
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
        (*PLANNED[:3], "Record that Tidegate failed", "Tidegate failed"),
        State.ENGINE_FAULT,
        "failure",
        faults=_all_at_once(refuses("begin_job", "{id}"), _RECORD_REFUSED),
    ),
    Case(
        "never-ends",
        REVIEWED[:-1],
        State.ENGINE_FAULT,
        "timed_out",
    ),
    Case(
        "gate-expires-before-the-plan",
        (*BEGUN, *BEFORE_PLAN, *EXPIRED),
        State.GATE_EXPIRED,
        "timed_out",
        faults=stumbles("record_result"),
        waits=_FOR_ROOTS,
    ),
    Case(
        "gate-expires-before-the-apply",
        (*PLANNED, *BEFORE_APPLY, *EXPIRED),
        State.GATE_EXPIRED,
        "timed_out",
        waits=_FOR_STACKS,
    ),
    Case(
        "gate-expires-unrecorded",
        (*BEGUN, *BEFORE_PLAN, "Record that the gate expired", "Tidegate failed"),
        State.ENGINE_FAULT,
        "failure",
        faults=_RECORD_REFUSED,
        waits=_FOR_ROOTS,
    ),
    Case(
        "waiting-for-roots-is-refused",
        (*BEGUN, *BEFORE_PLAN, *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("wait_at_gate", "{id}"),
        waits=_FOR_ROOTS,
    ),
    Case(
        "waiting-for-stacks-is-refused",
        (*PLANNED, *BEFORE_APPLY, *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("wait_at_gate", "{id}"),
        waits=_FOR_STACKS,
    ),
    Case(
        "plan-only-adds-lacks-approval",
        (*PLANNED, *LACKING, *OPENED, *APPLY, *APPLIED[-2:]),
        State.APPLIED,
        "success",
        ("OVERRIDDEN", *_SUCCESS),
        override,
        faults=stumbles("wait_for_requirements"),
        requires=_APPROVAL,
    ),
    Case(
        "plan-only-adds-requirements-expire",
        (*PLANNED, *LACKING, *EXPIRED),
        State.GATE_EXPIRED,
        "timed_out",
        requires=_APPROVAL,
    ),
    Case(
        "plan-only-adds-waiting-for-requirements-is-refused",
        (*PLANNED, *LACKING, *FAULTED),
        State.ENGINE_FAULT,
        "failure",
        faults=refuses("wait_for_requirements", "{id}"),
        requires=_APPROVAL,
    ),
]
