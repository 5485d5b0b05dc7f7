"""What functions take and answer, and the errors that are answered for them."""

from __future__ import annotations

from pydantic import BaseModel

from runner import faults
from tidegate import messages

#: Functions by placeholder: their input and, unless a person or a runner answers by token, their output.
CONTRACTS: dict[str, tuple[type[BaseModel], type[BaseModel] | None]] = {
    "ClaimDeploymentFunction": (messages.ClaimDeployment, messages.Claimed),
    "ValidateRevisionFunction": (messages.ValidateRevision, messages.RevisionValidated),
    "RecordOutcomeFunction": (messages.RecordOutcome, messages.OutcomeRecorded),
    "WaitForSignalFunction": (messages.WaitForSignal, None),
    "CloseWorkerFunction": (messages.CloseWorker, messages.WorkerClosed),
    "HandOverWorkerFunction": (messages.HandOverWorker, None),
    "BeginJobFunction": (messages.BeginJob, messages.JobBegun),
    "HandOverJobFunction": (messages.HandOverJob, None),
    "RecordPlanFunction": (messages.RecordPlan, messages.PlanRecorded),
    "JudgePlanFunction": (messages.JudgePlan, messages.PlanRecorded),
    "WaitAtGateFunction": (messages.WaitAtGate, messages.GateDecided),
    "WaitForRequirementsFunction": (messages.WaitForRequirements, messages.GateDecided),
    "RequestReviewFunction": (messages.RequestReview, messages.ReviewDecided),
    "RecordResultFunction": (messages.RecordResult, messages.ResultRecorded),
    "DiscoverPullRequestFunction": (messages.DiscoverPullRequest, messages.PullRequestDiscovered),
    "BeginSpeculationFunction": (messages.BeginSpeculation, messages.JobBegun),
    "WaitForPlaceFunction": (messages.WaitForPlace, None),
    "RecordSpeculationFunction": (messages.RecordSpeculation, messages.SpeculationRecorded),
    "CheckPoliciesFunction": (messages.CheckPolicies, messages.PoliciesChecked),
    "PublishPullRequestFunction": (messages.PublishPullRequest, messages.PullRequestPublished),
    "DiscoverDriftFunction": (messages.DiscoverDrift, messages.DriftDiscovered),
    "ConcludeDriftFunction": (messages.ConcludeDrift, messages.DriftConcluded),
}
#: What answers the token of a job.
BY_TOKEN = {"Apply": messages.ApplyResult}
#: Errors that runners report by name, and the one that is reported for a runner that died.
REPORTED = {fault.error for fault in vars(faults).values() if isinstance(fault, type) and hasattr(fault, "error")}
STOPPED = "RunnerStopped"
