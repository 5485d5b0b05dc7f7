"""Adapters that keep everything in memory: for tests, and to read what a port means."""

from tidegate.adapters.memory.catalog import MemoryCatalog
from tidegate.adapters.memory.change_sets import MemoryChangeSets
from tidegate.adapters.memory.drifts import (
    MemoryDriftEvents,
    MemoryDriftRuns,
    MemoryDrifts,
    MemoryIssues,
    MemorySchedules,
)
from tidegate.adapters.memory.forge import MemoryForge, MemoryForgeDeliveries
from tidegate.adapters.memory.lines import MemoryLineBoards
from tidegate.adapters.memory.organization import MemoryOrganizationFile
from tidegate.adapters.memory.plan_places import MemoryPlanPlaces
from tidegate.adapters.memory.pull_requests import (
    MemoryPullRequestChecks,
    MemoryPullRequests,
    MemoryTemporaryLayers,
)
from tidegate.adapters.memory.stores import (
    MemoryCheckRuns,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryJobLogs,
    MemoryJobs,
    MemoryPlanRunners,
)
from tidegate.adapters.memory.witness import MemoryWitness
from tidegate.adapters.memory.world import (
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
