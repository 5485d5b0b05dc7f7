"""Adapters that keep everything in memory: for tests, and to read what a port means."""

from tests.fakes.catalog import MemoryCatalog
from tests.fakes.change_sets import MemoryChangeSets
from tests.fakes.drifts import (
    MemoryDriftEvents,
    MemoryDriftRuns,
    MemoryDrifts,
    MemoryIssues,
    MemorySchedules,
)
from tests.fakes.forge import MemoryForge, MemoryForgeDeliveries
from tests.fakes.lines import MemoryLineBoards
from tests.fakes.organization import MemoryOrganizationFile
from tests.fakes.plan_places import MemoryPlanPlaces
from tests.fakes.pull_requests import (
    MemoryPullRequestChecks,
    MemoryPullRequests,
    MemoryTemporaryLayers,
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
from tests.fakes.witness import MemoryWitness
from tests.fakes.world import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryClock,
    MemoryEventQueue,
    MemoryPlanFunctions,
    MemoryRunners,
    MemoryWorkflows,
)

__all__ = [
    "MemoryAnnouncements",
    "MemoryArtifacts",
    "MemoryAuditLog",
    "MemoryCatalog",
    "MemoryChangeSets",
    "MemoryCheckRuns",
    "MemoryClock",
    "MemoryDeliveries",
    "MemoryDeployQueues",
    "MemoryDeployments",
    "MemoryDriftEvents",
    "MemoryDriftRuns",
    "MemoryDrifts",
    "MemoryEventQueue",
    "MemoryForge",
    "MemoryForgeDeliveries",
    "MemoryIssues",
    "MemoryJobLogs",
    "MemoryJobs",
    "MemoryLineBoards",
    "MemoryOrganizationFile",
    "MemoryPlanFunctions",
    "MemoryPlanPlaces",
    "MemoryPlanRunners",
    "MemoryPullRequestChecks",
    "MemoryPullRequests",
    "MemoryRunners",
    "MemorySchedules",
    "MemoryTemporaryLayers",
    "MemoryWitness",
    "MemoryWorkflows",
]
