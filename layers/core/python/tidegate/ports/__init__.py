"""Ports: protocols for what verbs need from outside, and `Ports`, which creates and caches their adapters.

Every method may raise its adapter's service errors; the docstrings name errors that callers must handle.

A module is loaded when one of its names is first used: creating all of these classes takes longer than the work of some
functions. Start-critical code imports the module itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # ruff: noqa: F403 - each port is to be had from here
    from tidegate.ports.change_sets import *
    from tidegate.ports.check_runs import *
    from tidegate.ports.clock import *
    from tidegate.ports.cloud import *
    from tidegate.ports.clusters import *
    from tidegate.ports.config_updates import *
    from tidegate.ports.deliveries import *
    from tidegate.ports.drifts import *
    from tidegate.ports.event_publisher import *
    from tidegate.ports.forge import *
    from tidegate.ports.identity import *
    from tidegate.ports.insights import *
    from tidegate.ports.jobs import *
    from tidegate.ports.notifications import *
    from tidegate.ports.plan_slots import *
    from tidegate.ports.policies import *
    from tidegate.ports.pull_requests import *
    from tidegate.ports.queues import *
    from tidegate.ports.repository_index import *
    from tidegate.ports.setup import *
    from tidegate.ports.sign_outs import *
    from tidegate.ports.source import *
    from tidegate.ports.webhook_verifier import *
    from tidegate.ports.wiring import Ports as Ports

_MODULES = {
    "event_publisher": "EventPublisher AuditLog",
    "repository_index": "RepositoryIndex HeadsPage HistoryPage KnownRepository RepositoryNames",
    "change_sets": "ChangeSets Enrolled",
    "check_runs": "CheckRuns QueueSnapshot QueueSnapshots PublishedCheckRun",
    "clock": "Clock",
    "cloud": "Artifacts ObjectStart PlanFunctions Runners Workflows",
    "clusters": "ClusterFiles ClusterStore ClusterWorkflows",
    "config_updates": (
        "BranchMover CiTokens ConfigBranches ConfigUpdateStore Moved Replays TargetStatuses UpdateWorkflows"
    ),
    "deliveries": "Asked Deliveries Delivery DeliveryOutcome EventQueue Redeliveries WebhookSecrets",
    "drifts": "DriftEvents DriftRuns Drifts Schedules",
    "forge": (
        "Accounts Change CheckRunPublisher CloneTokens Comments Commits FailedDelivery Forge ForgeDeliveries "
        "ForgeIssues ForgeUrls People PullRequestMerger PullRequestReader Reviews"
    ),
    "identity": "PublicKeys TokenSigner",
    "insights": "Insights",
    "jobs": "JobLogs Jobs LogChunk PlanRunners",
    "notifications": "NotificationQueue Notifications Receivers SlackAccounts SlackApps",
    "plan_slots": "PlanSlots",
    "policies": "OrganizationPolicies PolicyEngine",
    "pull_requests": "PullRequests SpeculativePlans",
    "queues": "DeployQueues Deployments",
    "setup": "AppManifests AppSecrets SetupCodes",
    "sign_outs": "SignOuts",
    "source": "FileChange Merged OrganizationFile PushedTrees SourceHistory",
    "wiring": "Ports",
    "webhook_verifier": "WebhookVerifier Pushed WrittenComment",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # Type checkers would accept any name.

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
