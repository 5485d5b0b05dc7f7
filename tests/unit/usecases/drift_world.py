"""A repository whose file has schedules that look for drift, its forge, queues and stores in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.builders import NOW, REPOSITORY, any_plan, sha
from tests.fakes import (
    MemoryArtifacts,
    MemoryCatalog,
    MemoryChangeSets,
    MemoryCheckRuns,
    MemoryClock,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryDriftEvents,
    MemoryDrifts,
    MemoryEventQueue,
    MemoryForge,
    MemoryIssues,
    MemorySchedules,
    MemoryTemporaryLayers,
    MemoryWorkflows,
)
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.unit.usecases.trees import Trees
from tidegate.config.loader import load_configuration
from tidegate.deploys.rules.temporary_layer import LayerState
from tidegate.discovery.new_deployments import ChangeEnqueuer
from tidegate.discovery.repository_source import RepositorySource
from tidegate.drift.align_drift import DriftAligner
from tidegate.drift.conclude_drift import DriftConcluder
from tidegate.drift.discover_drift import DriftDiscoverer
from tidegate.drift.receive_drift import DriftReceiver
from tidegate.drift.report_drift import DriftReporter
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import KnownRepository
from tidegate.pull_requests.close_pull_request import remove_plans
from tidegate.pull_requests.hold_policies import PolicyHolder
from tidegate.pull_requests.keep_check_run import CheckRunKeeper
from tidegate.rules.errors import NotFound

INSTALLATION, HEAD = 42, sha(3)
NIGHTLY = "drift: {schedules: {nightly: {tag_query: '', schedule: daily}}}\n"
FILES = {"app/main.tf": "", "db/main.tf": "", "tidegate.yaml": NIGHTLY}
KNOWN = KnownRepository(REPOSITORY, INSTALLATION, "main", HEAD, NOW)
PAGE = "https://tidegate.example"
CHANGED, SAME = any_plan(), any_plan(changes=PlannedChanges())


@dataclass
class DriftWorld:
    """``trees`` are the files of commits; ``main`` is at HEAD, and Tidegate was told so."""

    trees: dict[str, dict[str, str]] = field(default_factory=lambda: {HEAD: FILES})
    drifts: MemoryDrifts = field(default_factory=MemoryDrifts)
    schedules: MemorySchedules = field(default_factory=MemorySchedules)
    layers: MemoryTemporaryLayers = field(default_factory=MemoryTemporaryLayers)
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    change_sets: MemoryChangeSets = field(default_factory=MemoryChangeSets)
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    events: MemoryEventQueue = field(default_factory=MemoryEventQueue)
    told: MemoryDriftEvents = field(default_factory=MemoryDriftEvents)
    issues: MemoryIssues = field(default_factory=MemoryIssues)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    clock: MemoryClock = field(default_factory=MemoryClock)

    def __post_init__(self):
        self.forge = MemoryForge(branches={"main": HEAD})
        self.queues = MemoryDeployQueues(self.deployments)
        self.catalog = MemoryCatalog(self.deployments, self.queues)
        self.catalog.remember(KNOWN)
        source = RepositorySource(self.forge, self)
        self.reporter = DriftReporter(self.issues, CheckRunKeeper(MemoryCheckRuns(), self.forge), PAGE)
        self.aligner = DriftAligner(self.drifts, lambda: self.schedules, self.catalog, self.reporter.withdraw)
        self.discoverer = DriftDiscoverer(
            self.drifts,
            self.layers,
            source,
            self.catalog,
            self.schedules,
            self.aligner.remove,
            self.workflows.ending,
            self.clock,
        )
        self.concluder = DriftConcluder(
            self.drifts,
            self.layers,
            self.deployments,
            self.reporter.report,
            lambda layers: remove_plans(self.artifacts, layers),
            self.told,
            self.deliveries,
            self.events,
            self.clock,
        )
        changes = ChangeEnqueuer(self.change_sets, self.queues.enqueue)
        self.hold = PolicyHolder(source, self.artifacts, MemoryOrganizationPolicies({})).hold
        self.receiver = DriftReceiver(self.deliveries, source, changes.enqueue_all, self.hold)

    @contextmanager
    def fetch(self, _url, _token, before, after):
        if after not in self.trees:
            raise NotFound("commit", after)
        yield Trees(self.trees.get(before, {}), self.trees[after], before_is_known=before in self.trees)

    def file(self, text):
        """Put another tidegate.yaml into HEAD."""
        self.trees[HEAD] = {**self.trees[HEAD], "tidegate.yaml": text}

    def align(self, text=None, known=KNOWN):
        """Let a push bring the file; return what is refused of its schedules."""
        if text is not None:
            self.file(text)
        configuration = load_configuration(self.trees[HEAD]["tidegate.yaml"].encode(), REPOSITORY)
        return self.aligner.align(known, configuration.drift)

    def record(self, name="nightly"):
        return self.drifts.get(REPOSITORY, name)

    def put(self, name="nightly", **fields):
        return self.drifts.save(replace(self.record(name), **fields))

    def discover(self, execution="run-1", name="nightly"):
        if execution not in dict(self.workflows.starts):
            self.workflows.starts.append((execution, name))
        return self.discoverer.discover(REPOSITORY, name, execution)

    def conclude(self, execution="run-1", name="nightly"):
        return self.concluder.conclude(REPOSITORY, name, execution)

    def look(self, execution="run-1", by=lambda layer: layer.root.name, **plans):
        """Let a run find these plans, by root: CHANGED, SAME, or None where the plan fails."""
        following, _ = self.discover(execution)
        assert following == "plan"
        for layer in self.layers.many(self.record().layers):
            plan = plans.get(by(layer), SAME)
            state = LayerState.PLANNED if plan is CHANGED else LayerState.NO_CHANGES
            job = f"{layer.id}-speculate-1"
            if not layer.is_done:
                self.layers.save(replace(layer, state=LayerState.FAILED if plan is None else state, plan=plan, job=job))
        return self.conclude(execution)

    def states(self):
        return {each.root: each.state.value for each in self.record().findings}

    def deliver(self):
        """Let what was asked for be received; return what became of the last."""
        delivery = self.events.sent[-1]
        return self.receiver.receive(delivery)
