"""Ports whose adapters keep everything in memory."""

from __future__ import annotations

from typing import Any

from tests.fakes import (
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryCheckRuns,
    MemoryClock,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryDriftEvents,
    MemoryDriftRuns,
    MemoryDrifts,
    MemoryEventPublisher,
    MemoryEventQueue,
    MemoryForge,
    MemoryForgeDeliveries,
    MemoryIssues,
    MemoryJobLogs,
    MemoryJobs,
    MemoryOrganizationFile,
    MemoryPlanFunctions,
    MemoryPlanRunners,
    MemoryPlanSlots,
    MemoryPullRequests,
    MemoryRepositoryIndex,
    MemoryRunners,
    MemorySchedules,
    MemorySpeculativePlans,
    MemoryWorkflows,
)
from tests.fakes.accounts import MemoryAccounts
from tests.fakes.change_sets import MemoryChangeSets
from tests.fakes.clusters import MemoryClusters, MemoryClusterWorkflows
from tests.fakes.config_updates import (
    MemoryCiTokens,
    MemoryConfigBranches,
    MemoryConfigUpdates,
    MemoryTargetStatuses,
    MemoryUpdateWorkflows,
)
from tests.fakes.insights import MemoryInsights
from tests.fakes.notifications import (
    MemoryNotificationQueue,
    MemoryNotifications,
    MemoryReceivers,
    MemorySlackAccounts,
    MemorySlackApps,
)
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.fakes.queue_snapshots import MemoryQueueSnapshots
from tests.fakes.redeliveries import MemoryRedeliveries
from tests.fakes.setup import MemoryAppManifests, MemoryAppSecrets, MemorySetupCodes
from tests.fakes.sign_outs import MemorySignOuts
from tidegate.ports import Ports

#: What a function reads of its environment, where nothing of it is on AWS.
ENVIRONMENT = {
    "TIDEGATE_ARTIFACT_BUCKET": "artifacts",
    "TIDEGATE_DEPLOY_STATE_MACHINE": "arn:aws:states:eu-central-1:123456789012:stateMachine:deploy",
    "TIDEGATE_CLUSTER_MACHINES": "arn:aws:states:eu-central-1:123456789012:stateMachine:tidegate-",
    "TIDEGATE_EVENT_BUS": "bus",
    "TIDEGATE_WEBHOOK_SECRET_NAME": "webhook-secret",
    "TIDEGATE_WEBHOOK_URL": "https://tidegate.example/webhooks/github",
    "TIDEGATE_CHANGE_QUEUE": "https://sqs.example/changes.fifo",
    "TIDEGATE_CHECK_RUN_QUEUE": "https://sqs.example/check-runs.fifo",
    "TIDEGATE_POSITIONS_QUEUE": "https://sqs.example/lines.fifo",
    "TIDEGATE_POSITIONS_LATER_QUEUE": "https://sqs.example/later-lines",
    "TIDEGATE_PULL_REQUEST_PLANS": "1",
    "TIDEGATE_RUNNER_SLOTS": "100",
    "TIDEGATE_NOTIFICATION_QUEUE": "https://sqs.example/notifications",
    "TIDEGATE_ACTION_QUEUE": "https://sqs.example/actions",
    "TIDEGATE_DISCOVERY_QUEUE": "https://sqs.example/pushes",
}


def port(name: str) -> Any:
    """Return a property of a scenario: the port ``name`` of its ``ports``."""
    return property(lambda scenario: getattr(scenario.ports, name))


def memory_ports(settings: dict[str, str] | None = None, **given: Any) -> Ports:
    """Return ports that keep everything in memory. ``settings`` are environment variables, ``given`` other ports.

    Stores that read one another's records share them: the queues and the repository index those of deployments.
    """
    deployments = given.get("deployments") or MemoryDeployments()
    queues = given.get("queues") or MemoryDeployQueues(deployments)
    forge = given.get("forge") or MemoryForge(writers={"reviewer"})
    config_branches = given.get("config_branches") or MemoryConfigBranches()
    made = {
        "config_branches": config_branches,
        "branch_mover": config_branches,
        "config_updates": MemoryConfigUpdates(),
        "deployments": deployments,
        "queues": queues,
        "repository_index": MemoryRepositoryIndex(deployments, queues),
        "forge": forge,
        "addresses": forge,
        "accounts": MemoryAccounts(),
        "app_manifests": MemoryAppManifests(),
        "app_secrets": MemoryAppSecrets(),
        "event_publisher": MemoryEventPublisher(),
        "artifacts": MemoryArtifacts(),
        "audit": MemoryAuditLog(),
        "change_sets": MemoryChangeSets(),
        "check_runs": MemoryCheckRuns(),
        "ci_tokens": MemoryCiTokens(),
        "clock": MemoryClock(),
        "cluster_workflows": MemoryClusterWorkflows(),
        "clusters": MemoryClusters(),
        "deliveries": MemoryDeliveries(),
        "drift_events": MemoryDriftEvents(),
        "drift_runs": MemoryDriftRuns(),
        "drifts": MemoryDrifts(),
        "events": MemoryEventQueue(),
        "forge_deliveries": MemoryForgeDeliveries(),
        "insights": MemoryInsights(deployments),
        "issues": MemoryIssues(),
        "job_logs": MemoryJobLogs(),
        "jobs": MemoryJobs(),
        "notification_queue": MemoryNotificationQueue(),
        "notifications": MemoryNotifications(),
        "queue_snapshots": MemoryQueueSnapshots(),
        "organization_file": MemoryOrganizationFile(),
        "organization_policies": MemoryOrganizationPolicies(),
        "plan_functions": MemoryPlanFunctions(),
        "plan_slots": MemoryPlanSlots(),
        "plan_runners": MemoryPlanRunners(),
        "pull_check_runs": MemoryCheckRuns(),
        "pull_requests": MemoryPullRequests(),
        "receivers": MemoryReceivers(),
        "redeliveries": MemoryRedeliveries(),
        "runners": MemoryRunners(),
        "schedules": MemorySchedules(),
        "setup_codes": MemorySetupCodes(),
        "sign_outs": MemorySignOuts(),
        "slack_accounts": MemorySlackAccounts(),
        "slack_apps": MemorySlackApps(),
        "speculative_plans": MemorySpeculativePlans(),
        "target_statuses": MemoryTargetStatuses(),
        "update_workflows": MemoryUpdateWorkflows(),
        "webhook_verifier": None,
        "workflows": MemoryWorkflows(),
    }
    return Ports({**ENVIRONMENT, **(settings or {})}, **{**made, **given})


def changed(ports: Ports, settings: dict[str, str] | None = None, **given: Any) -> Ports:
    """Return the same ports with some others, or other settings, in place."""
    return Ports({**ports.environ, **(settings or {})}, **{**ports.given, **given})


class With:
    """A port with other methods in place of some of its own."""

    def __init__(self, port: object, **methods: Any) -> None:
        self.port = port
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)
