"""A world in memory for the use cases of the Terraform machine, and deployments placed in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.builders import any_plan
from tests.fakes import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryChangeSets,
    MemoryCheckRuns,
    MemoryClock,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryForge,
    MemoryJobs,
    MemoryLineBoards,
    MemoryPullRequests,
    MemoryRunners,
    MemoryWorkflows,
)
from tests.slots import keeper
from tidegate.check_runs.check_run_view import CheckRunPainter, Links
from tidegate.deploys.jobs.check_branch import BranchCheck
from tidegate.deploys.jobs.stop_runner import RunnerStopper
from tidegate.deploys.slots.get_slot_wait import SlotWaits
from tidegate.gates.apply_requirements import ApplyRequirements


@dataclass
class World:
    """Every port, in memory."""

    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    change_sets: MemoryChangeSets = field(default_factory=MemoryChangeSets)
    check_runs: MemoryCheckRuns = field(default_factory=MemoryCheckRuns)
    forge: MemoryForge = field(default_factory=lambda: MemoryForge(writers={"reviewer", "maintainer"}))
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    announcements: MemoryAnnouncements = field(default_factory=MemoryAnnouncements)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    clock: MemoryClock = field(default_factory=MemoryClock)
    pull_requests: MemoryPullRequests = field(default_factory=MemoryPullRequests)
    boards: MemoryLineBoards = field(default_factory=MemoryLineBoards)
    runners: MemoryRunners = field(default_factory=MemoryRunners)

    def __post_init__(self):
        self.queues = MemoryDeployQueues(self.deployments)
        self.stopper = RunnerStopper(self.jobs, self.runners)
        self.branches = BranchCheck(self.forge)
        self.slots = keeper(self.deployments, announcements=self.announcements)
        self.slot_waits = SlotWaits(self.slots.places, self.slots.limit)
        self.requirements = ApplyRequirements(self.forge, self.pull_requests)
        self.artifacts.put(any_plan().text.key, b"  + resource\n")

    def put(self, deployment):
        assert self.deployments.add(deployment)
        return deployment

    def painter(self, **links):
        return CheckRunPainter(
            self.queues,
            self.deployments,
            self.change_sets,
            self.boards,
            self.check_runs,
            self.artifacts,
            self.forge,
            self.slot_waits,
            Links(**links),
        )

    def states(self):
        return [deployment.state for deployment in self.announcements.announced]
