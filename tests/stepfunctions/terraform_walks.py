"""The ways through the Terraform machine."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.interpreter import Fails
from tests.stepfunctions.way import (
    CLUSTER_APPLIED,
    CLUSTER_FAILED,
    CLUSTER_UNKNOWN,
    ENGINE,
    JOB,
    LAMBDA,
    MODULE_APPLY,
    NO_SLOT,
    NOT_THERE,
    OF_CLUSTER,
    ON_LAMBDA,
    PLAIN,
    PLAN,
    REFUSED,
    RUNNER,
    SILENT,
    STOPPED,
    TIMEOUT,
    TWICE,
    Way,
    asking_where,
    going_on,
    late,
    recorded,
    stumbling,
)
from tests.stepfunctions.ways import (
    AGAIN,
    APPLIED,
    APPLY,
    APPLYING,
    BEFORE_APPLY,
    BEFORE_PLAN,
    BEGUN,
    CLUSTER,
    EXPIRED,
    FAULTED,
    GATED,
    HELD,
    JUDGED,
    LACKING,
    MODULE,
    OPENED,
    PLANNED,
    PLANNED_AFTER_OTHERS,
    PLANNED_AGAIN,
    PLANNING,
    REPLANNED,
    REVIEWED,
    SLOT,
    UNKNOWN,
    WORKFLOW_FAILED,
)


def _deployment(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("terraform", name, asking_where(states), records=records, **more)


_REVIEW = going_on("review")
_GATE = going_on("gate")
_LACKS = Fails("RequirementsMissing")
_WAITS = {"deployment": "deployment-1", "waits": True}
_FAILED_PLAN = ("Record that the plan failed", "Plan failed")
_FAILED_APPLY = ("Record that the apply failed", "Apply failed")
_FROM_APPLY = (*APPLY, *APPLIED[-2:])
_REVIEWING = ("Wait for the plan review", "Was the plan approved?")
_BACK_AT_THE_GATE = ("Begin the apply", *BEFORE_APPLY, "What follows from the gate?")
#: What leads to each record of an end (but the applied one), that record and what follows, the error, and the answers.
_RECORDED: tuple[tuple[tuple[str, ...], tuple[str, ...], str, dict[str, Any], dict[str, Any]], ...] = (
    (PLANNED[:-2], _FAILED_PLAN, "TerraformClientError", {}, {"Plan": ENGINE}),
    (APPLYING, _FAILED_APPLY, "TerraformClientError", {}, {"Apply": ENGINE}),
    (APPLYING, UNKNOWN, "RunnerStopped", {}, {"Apply": STOPPED}),
    (
        REVIEWED[:-1],
        ("Record that the review expired", "Review expired"),
        "States.Timeout",
        {},
        {"Record the plan": _REVIEW, "Wait for the plan review": TIMEOUT},
    ),
    ((*BEGUN, *BEFORE_PLAN), EXPIRED, "States.Timeout", _WAITS, {"Wait for what this depends on": TIMEOUT}),
    (PLANNED[:3], FAULTED, REFUSED.error, {}, {"Begin the plan": REFUSED}),
)
_OF_MODULE: tuple[tuple[str, tuple[str, ...], str | None, dict[str, Any]], ...] = (
    ("it is applied", APPLIED[-3:], None, {}),
    ("it fails", ("Apply", *_FAILED_APPLY), "TerraformClientError", {"Apply": ENGINE}),
    (
        "its outcome is unknown",
        ("Apply", "Record that the outcome is unknown", "How did it end?", "Outcome unknown"),
        "RunnerStopped",
        {"Apply": STOPPED, "Record that the outcome is unknown": recorded("outcome_unknown", "unknown")},
    ),
    (
        "no runner starts",
        ("Record an internal error", "How did it end?", "Apply failed"),
        "ECS.AccessDeniedException",
        {
            "Start a runner for the apply": Fails("ECS.AccessDeniedException"),
            "Record an internal error": recorded("apply_failed", "apply failed"),
        },
    ),
)
TERRAFORM = [
    _deployment("is approved", (*REVIEWED, *_FROM_APPLY), answers={"Record the plan": _REVIEW}),
    _deployment(
        "is rejected",
        (*REVIEWED, "Rejected"),
        answers={
            "Record the plan": _REVIEW,
            "Wait for the plan review": {"approved": False, "by": "reviewer", "at": "2026-03-02T08:00:00.000000+00:00"},
        },
    ),
    _deployment("needs no review", APPLIED),
    _deployment(
        "is a cluster, which its workflow applies",
        (*CLUSTER, "Did the workflow apply it?", *APPLIED[-2:]),
        answers={"Begin the apply": OF_CLUSTER},
    ),
    _deployment(
        "is a cluster whose workflow fails",
        (*CLUSTER, *WORKFLOW_FAILED, *_FAILED_APPLY),
        "ClusterUnreachable",
        answers={"Begin the apply": OF_CLUSTER, "Run the cluster workflow": CLUSTER_FAILED},
    ),
    _deployment(
        "is a cluster whose root module may have been applied",
        (*CLUSTER, *WORKFLOW_FAILED, *UNKNOWN),
        "RunnerStopped",
        answers={"Begin the apply": OF_CLUSTER, "Run the cluster workflow": CLUSTER_UNKNOWN},
    ),
    *(
        Way("terraform", f"is the root module of a cluster: {name}", (*MODULE, *ends), answers, error, MODULE_APPLY)
        for name, ends, error, answers in _OF_MODULE
    ),
    _deployment(
        "is a cluster whose workflow is stopped",
        (*CLUSTER, *UNKNOWN),
        "States.TaskFailed",
        answers={"Begin the apply": OF_CLUSTER, "Run the cluster workflow": Fails("TidegateFailed")},
    ),
    _deployment(
        "is a cluster whose workflow is throttled",
        (*CLUSTER, "Did the workflow apply it?", *APPLIED[-2:]),
        answers={
            "Begin the apply": OF_CLUSTER,
            "Run the cluster workflow": [Fails("StepFunctions.ThrottlingException"), CLUSTER_APPLIED],
        },
    ),
    _deployment(
        "is planned on Lambda",
        (*APPLIED[:3], *LAMBDA, *APPLIED[4:]),
        answers={"Begin the plan": ON_LAMBDA, **stumbling("terraform", LAMBDA[1])},
    ),
    _deployment(
        "finds no runner on Lambda",
        (*APPLIED[:3], *NOT_THERE, "Begin the plan", *APPLIED[3:]),
        answers={"Begin the plan": [ON_LAMBDA, JOB], LAMBDA[1]: TIMEOUT},
    ),
    _deployment("changes nothing", (*PLANNED, "Nothing to change"), answers={"Record the plan": going_on("nothing")}),
    _deployment(
        "everything stumbles",
        (*BEGUN, *BEFORE_PLAN, "What follows from the gate?", *PLANNED[2:], *HELD, *_REVIEWING, *_FROM_APPLY),
        given=_WAITS,
        answers={
            **stumbling(
                "terraform",
                "Wait for what this depends on",
                "Begin the plan",
                "Plan",
                "Evaluate the policies",
                "Wait for the plan review",
                "Begin the apply",
                "Record that it was applied",
            ),
            "Record the plan": [*TWICE, going_on("policies")],
            "Decide by the results of the policies": [
                *TWICE,
                _REVIEW,
            ],
            "Apply": [Fails("Lambda.TooManyRequestsException"), Fails("ForgeUnavailable"), PLAIN["terraform"]["Apply"]],
        },
    ),
    *(
        _deployment(
            f"stumbles at {record}",
            (*before, record, *after),
            error,
            given=given,
            answers={**how, **stumbling("terraform", record)},
        )
        for before, (record, *after), error, given, how in _RECORDED
    ),
    *(
        _deployment(
            f"its runner for the plan {what}",
            (*REPLANNED, *_FROM_APPLY),
            answers={"Plan": [error, PLAN]},
        )
        for what, error in (("dies", STOPPED), ("falls silent", SILENT), ("takes too long", TIMEOUT))
    ),
    _deployment(
        "plans three times for a fault of the runner, and never again",
        (*BEGUN, *PLANNING, *AGAIN, *PLANNING, *AGAIN, *PLANNING, AGAIN[0], *FAULTED),
        "RunnerFault",
        answers={"Plan": RUNNER},
    ),
    _deployment(
        "it asks for more than is allowed",
        (*PLANNED[:3], *_FAILED_PLAN),
        "RunnerNotOffered",
        answers={"Begin the plan": Fails("RunnerNotOffered")},
    ),
    _deployment("its runner for the plan starts late", APPLIED, answers=late("Start a runner for the plan")),
    _deployment("its runner for the apply starts late", APPLIED, answers=late("Start a runner for the apply")),
    _deployment(
        "its runner for the plan never starts",
        (*PLANNED[:4], *FAULTED),
        "States.Timeout",
        answers={"Start a runner for the plan": TIMEOUT},
    ),
    _deployment(
        "its runner for the apply never starts",
        (*APPLYING[:-1], *FAULTED),
        "States.Timeout",
        answers={"Start a runner for the apply": TIMEOUT},
    ),
    *(
        _deployment(f"its apply ends with {error}", (*APPLYING, *_FAILED_APPLY), error, answers={"Apply": Fails(error)})
        for error in ("PlanAltered", "ApplyNotStarted")
    ),
    *(
        _deployment(
            f"its outcome is unknown after {error.error}", (*APPLYING, *UNKNOWN), error.error, answers={"Apply": error}
        )
        for error in (SILENT, TIMEOUT, Fails("CloudUnavailable"))
    ),
    _deployment(
        "policies refuse it",
        (*PLANNED, *HELD, "Policies refuse the plan", *_FAILED_PLAN),
        "PoliciesRefused",
        answers={"Record the plan": going_on("policies"), "Decide by the results of the policies": going_on("refused")},
    ),
    *(
        _deployment(
            f"{state} is refused",
            (*states, *FAULTED),
            REFUSED.error,
            given=given,
            answers={**how, state: REFUSED},
        )
        for state, states, given, how in (
            ("Wait for what this depends on", (*BEGUN, *BEFORE_PLAN), _WAITS, {}),
            ("Record the plan", PLANNED[:-1], {}, {}),
            (
                "Evaluate the policies",
                (*PLANNED, HELD[0]),
                {},
                {"Record the plan": going_on("policies")},
            ),
            (
                "Decide by the results of the policies",
                (*PLANNED, *HELD[:2]),
                {},
                {"Record the plan": going_on("policies")},
            ),
            ("Wait for the stacks before this one", (*PLANNED, *BEFORE_APPLY), {}, {"Record the plan": _GATE}),
            ("Wait for the plan review", REVIEWED[:-1], {}, {"Record the plan": _REVIEW}),
            ("Begin the apply", APPLYING[:-3], {}, {}),
        )
    ),
    *(
        _deployment(
            f"{record} is refused",
            (*before, record, "Internal error"),
            error,
            given=given,
            answers={**how, record: REFUSED},
        )
        for before, (record, *_), error, given, how in (*_RECORDED, (APPLYING, APPLIED[-2:], None, {}, {}))
    ),
    _deployment("is planned after what it depends on", (*PLANNED_AFTER_OTHERS, *_FROM_APPLY), given=_WAITS),
    _deployment(
        "is not let in at its gate once more",
        (*PLANNED, *BEFORE_APPLY, *EXPIRED),
        "GateBlocked",
        answers={"Record the plan": _GATE, "Wait for the stacks before this one": Fails("GateBlocked")},
    ),
    _deployment(
        "waits at its gate for too long",
        (*PLANNED, *BEFORE_APPLY, *EXPIRED),
        "States.Timeout",
        answers={"Record the plan": _GATE, "Wait for the stacks before this one": TIMEOUT},
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
                *TWICE,
                {"next": "plan again"},
                {"next": "apply"},
            ],
        },
    ),
    _deployment(
        "goes back to a gate that has shut",
        (*GATED, *_BACK_AT_THE_GATE, *_FROM_APPLY),
        answers={"Record the plan": _GATE, "Begin the apply": [Fails("GateShut"), JOB]},
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
            (
                "Decide by the results of the policies",
                (*PLANNED, *HELD[:2]),
                {},
                {"Record the plan": going_on("policies")},
            ),
            ("Wait for the stacks before this one", (*PLANNED, *BEFORE_APPLY), {}, {"Record the plan": _GATE}),
            ("Wait for the plan review", REVIEWED[:-1], {}, {"Record the plan": _REVIEW}),
            ("Begin the apply", APPLYING[:-3], {}, {}),
            ("Wait for its requirements", (*PLANNED, *LACKING), {}, {"Begin the apply": _LACKS}),
            ("Apply", APPLYING, {}, {}),
        )
    ),
    *(
        _deployment(
            f"ends as {state} after its apply was interrupted",
            (*APPLYING, *UNKNOWN[:-1], end),
            "RunnerStopped",
            answers={"Apply": STOPPED, "Record that the outcome is unknown": recorded("any", state)},
        )
        for state, end in (("apply failed", "Apply failed"), ("cancelled", "Cancelled"))
    ),
    _deployment(
        "is cancelled while its third attempt to plan fails",
        (*BEGUN, *PLANNING, *AGAIN, *PLANNING, *AGAIN, *PLANNING, AGAIN[0], *FAULTED[:-1], "Cancelled"),
        "RunnerFault",
        answers={"Plan": RUNNER, "Record an internal error": recorded("cancelled", "cancelled")},
    ),
    _deployment(
        "is not applied once its commit left its branch",
        (*PLANNED, "Begin the apply", "Rejected"),
        answers={"Begin the apply": Fails("CommitLeftBranch")},
    ),
    _deployment(
        "is applied once its requirements are met",
        (*PLANNED, *LACKING, *OPENED, *_FROM_APPLY),
        answers={"Begin the apply": [_LACKS, JOB], **stumbling("terraform", "Wait for its requirements")},
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
        answers={"Begin the apply": _LACKS, "Wait for its requirements": TIMEOUT},
    ),
    _deployment(
        "waits for slots before its plan and before its apply",
        (*BEGUN, PLANNING[0], *SLOT, *PLANNING, *JUDGED, APPLY[0], *SLOT, APPLY[0], *SLOT, *_FROM_APPLY),
        answers={
            "Begin the plan": [NO_SLOT, JOB],
            "Begin the apply": [NO_SLOT, NO_SLOT, JOB],
            "Wait for a concurrency slot": [*TWICE, {}],
        },
    ),
    _deployment(
        "waits for a slot for too long",
        (*BEGUN, PLANNING[0], SLOT[0], *FAULTED),
        "NoFreeSlot",
        answers={"Begin the plan": NO_SLOT, "Wait for a concurrency slot": TIMEOUT},
    ),
    _deployment(
        "cannot wait for a slot",
        (*APPLYING[:-3], SLOT[0], *FAULTED),
        REFUSED.error,
        answers={"Begin the apply": NO_SLOT, "Wait for a concurrency slot": REFUSED},
    ),
    _deployment(
        "is cancelled while it waits for a slot",
        (*BEGUN, PLANNING[0], SLOT[0], "Cancelled"),
        answers={"Begin the plan": NO_SLOT, "Wait for a concurrency slot": Fails("DeploymentCancelled")},
    ),
    _deployment(
        "cannot wait for its requirements",
        (*PLANNED, *LACKING, *FAULTED),
        REFUSED.error,
        answers={"Begin the apply": _LACKS, "Wait for its requirements": REFUSED},
    ),
]
