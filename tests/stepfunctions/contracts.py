"""What steps take and answer, and the errors that are answered for them."""

from __future__ import annotations

from pydantic import BaseModel

from runner import faults
from tidegate import messages
from tidegate.messages import clusters
from tidegate.messages import config_updates as updates

#: Steps by their kind: their input and, unless a person or a runner answers by token, their output.
CONTRACTS: dict[str, tuple[type[BaseModel], type[BaseModel] | None]] = {
    "claim_deployment": (messages.ClaimDeployment, messages.Claimed),
    "validate_revision": (messages.ValidateRevision, messages.RevisionValidated),
    "record_outcome": (messages.RecordOutcome, messages.OutcomeRecorded),
    "wait_for_signal": (messages.WaitForSignal, None),
    "close_worker": (messages.CloseWorker, messages.WorkerClosed),
    "continue_as_new": (messages.ContinueAsNew, None),
    "begin_job": (messages.BeginJob, messages.JobBegun),
    "start_on_lambda": (messages.StartOnLambda, None),
    "dispatch_job": (messages.DispatchJob, None),
    "record_plan": (messages.RecordPlan, messages.PlanRecorded),
    "evaluate_plan": (messages.EvaluatePlan, messages.PlanRecorded),
    "wait_at_gate": (messages.WaitAtGate, messages.GateDecided),
    "wait_for_slot": (messages.WaitForSlot, None),
    "wait_for_requirements": (messages.WaitForRequirements, messages.GateDecided),
    "request_review": (messages.RequestReview, messages.ReviewDecided),
    "record_result": (messages.RecordResult, messages.ResultRecorded),
    "discover_pull_request": (messages.DiscoverPullRequest, messages.PullRequestDiscovered),
    "begin_speculative_plan": (messages.BeginSpeculativePlan, messages.JobBegun),
    "wait_for_plan_slot": (messages.WaitForPlanSlot, None),
    "record_speculative_plan": (messages.RecordSpeculativePlan, messages.SpeculativePlanRecorded),
    "check_policies": (messages.CheckPolicies, messages.PoliciesChecked),
    "publish_pull_request": (messages.PublishPullRequest, messages.PullRequestPublished),
    "discover_drift": (messages.DiscoverDrift, messages.DriftDiscovered),
    "conclude_drift": (messages.ConcludeDrift, messages.DriftConcluded),
    "claim_update": (updates.ClaimUpdate, updates.UpdateClaimed),
    "begin_replay": (updates.BeginReplay, updates.ReplayBegun),
    "push_replay": (updates.PushReplay, updates.BranchMoved),
    "fail_replay": (updates.FailReplay, None),
    "push_untested": (updates.PushUntested, updates.BranchMoved),
    "land_update": (updates.LandUpdate, updates.BranchMoved),
    "wait_for_update": (updates.WaitForUpdate, None),
    "close_update_worker": (updates.CloseUpdateWorker, messages.WorkerClosed),
    "continue_updates": (updates.ContinueUpdates, None),
    "begin_promotion": (updates.BeginPromotion, None),
    "wait_in_promotion": (updates.WaitInPromotion, updates.PromotionMoved),
    "stall_promotion": (updates.StallPromotion, None),
    "end_soak": (updates.EndSoak, updates.PromotionMoved),
    "promote_entry": (updates.PromoteEntry, updates.EntryPromoted),
    "fail_promotion": (updates.FailPromotion, None),
    "begin_cluster": (clusters.BeginCluster, clusters.ClusterBegun),
    "end_cluster": (clusters.EndCluster, None),
    "begin_cluster_task": (clusters.BeginClusterTask, clusters.ClusterTaskBegun),
    "record_cluster_task": (clusters.RecordClusterTask, None),
    "fail_cluster_task": (clusters.FailClusterTask, clusters.ClusterTaskFailed),
    "fail_cluster": (clusters.FailCluster, clusters.ClusterFailed),
    "end_failed_cluster": (clusters.EndFailedCluster, clusters.FailedClusterEnded),
}
#: What answers the token of a job.
BY_TOKEN = {"Apply": messages.ApplyResult, "Run the repository's commands": updates.ReplayMade}
#: Errors that runners report by name, and the one that is reported for a runner that died.
REPORTED = {fault.error for fault in vars(faults).values() if isinstance(fault, type) and hasattr(fault, "error")}
STOPPED = "RunnerStopped"
