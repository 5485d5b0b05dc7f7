"""A repository whose file has schedules that look for drift, its forge, queues and stores in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from tests.builders import NOW, REPOSITORY, any_plan, sha
from tests.fakes import MemoryForge
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.fakes.ports import memory_ports
from tests.unit.discovery.trees import Trees
from tidegate.config.loader import load_configuration
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.drift.align_drift import align_drift
from tidegate.drift.conclude_drift import conclude_drift
from tidegate.drift.discover_drift import discover_drift
from tidegate.drift.receive_drift import receive_drift
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import KnownRepository
from tidegate.rules.errors import NotFound

HEAD = sha(3)
NIGHTLY = "drift: {schedules: {nightly: {tag_query: '', schedule: daily}}}\n"
FILES = {"app/main.tf": "", "db/main.tf": "", "tidegate.yaml": NIGHTLY}
KNOWN = KnownRepository(REPOSITORY, "main", HEAD, NOW)
CHANGED, SAME = any_plan(), any_plan(changes=PlannedChanges())


class DriftScenario:
    """``trees`` are the files of commits; ``main`` is at HEAD, and Tidegate was told so."""

    def __init__(self):
        self.trees = {HEAD: FILES}
        self.ports = memory_ports(
            forge=MemoryForge(branches={"main": HEAD}),
            history=self,
            organization_policies=MemoryOrganizationPolicies(),
            web_url="https://tidegate.example",
        )
        self.ports.repository_index.remember(KNOWN)

    forge = property(lambda self: self.ports.forge)
    drifts = property(lambda self: self.ports.drifts)
    schedules = property(lambda self: self.ports.schedules)
    runs = property(lambda self: self.ports.drift_runs)
    layers = property(lambda self: self.ports.speculative_plans)
    deployments = property(lambda self: self.ports.deployments)
    queues = property(lambda self: self.ports.queues)
    deliveries = property(lambda self: self.ports.deliveries)
    events = property(lambda self: self.ports.events)
    told = property(lambda self: self.ports.drift_events.told)
    issues = property(lambda self: self.ports.issues)
    artifacts = property(lambda self: self.ports.artifacts)

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
        return align_drift(self.ports, known, configuration.drift)

    def record(self, name="nightly"):
        return self.drifts.get(REPOSITORY, name)

    def put(self, name="nightly", **fields):
        return self.drifts.save(replace(self.record(name), **fields))

    def discover(self, execution="run-1", name="nightly"):
        self.runs.start(execution, REPOSITORY, name)
        return discover_drift(self.ports, REPOSITORY, name, execution)

    def conclude(self, execution="run-1", name="nightly"):
        return conclude_drift(self.ports, REPOSITORY, name, execution)

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
        return receive_drift(self.ports, self.events.sent[-1])
