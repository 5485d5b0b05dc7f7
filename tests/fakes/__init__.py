"""Adapters that keep everything in memory: for tests, and to read what a port means."""

from tests.fakes.change_sets import MemoryChangeSets
from tests.fakes.drifts import (
    MemoryDriftEvents,
    MemoryDriftRuns,
    MemoryDrifts,
    MemoryIssues,
    MemorySchedules,
)
from tests.fakes.forge import MemoryForge, MemoryForgeDeliveries
from tests.fakes.organization import MemoryOrganizationFile
from tests.fakes.plan_slots import MemoryPlanSlots
from tests.fakes.pull_requests import (
    MemoryPullRequests,
    MemorySpeculativePlans,
)
from tests.fakes.queue_snapshots import MemoryQueueSnapshots
from tests.fakes.repository_index import MemoryRepositoryIndex
from tests.fakes.scenario import (
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryClock,
    MemoryEventPublisher,
    MemoryEventQueue,
    MemoryPlanFunctions,
    MemoryRunners,
    MemoryWorkflows,
)
from tests.fakes.stores import (
    MemoryCheckRuns,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryJobLogs,
    MemoryJobs,
    MemoryPlanRunners,
)
from tests.fakes.webhook_verifier import MemoryWebhookVerifier

__all__ = [
    "MemoryArtifacts",
    "MemoryAuditLog",
    "MemoryChangeSets",
    "MemoryCheckRuns",
    "MemoryClock",
    "MemoryDeliveries",
    "MemoryDeployQueues",
    "MemoryDeployments",
    "MemoryDriftEvents",
    "MemoryDriftRuns",
    "MemoryDrifts",
    "MemoryEventPublisher",
    "MemoryEventQueue",
    "MemoryForge",
    "MemoryForgeDeliveries",
    "MemoryIssues",
    "MemoryJobLogs",
    "MemoryJobs",
    "MemoryOrganizationFile",
    "MemoryPlanFunctions",
    "MemoryPlanRunners",
    "MemoryPlanSlots",
    "MemoryPullRequests",
    "MemoryQueueSnapshots",
    "MemoryRepositoryIndex",
    "MemoryRunners",
    "MemorySchedules",
    "MemorySpeculativePlans",
    "MemoryWebhookVerifier",
    "MemoryWorkflows",
]
