"""Where pull requests are shown: a forge, records and layers in memory."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, PLAN_TEXT, any_layer, any_plan, any_pull_request_record, sha
from tests.contract.queue_actors import Fate, Mortal
from tests.fakes import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryCheckRuns,
    MemoryClock,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryForge,
    MemoryPlanPlaces,
    MemoryPullRequests,
    MemoryTemporaryLayers,
)
from tidegate.deploys.rules.temporary_layer import LayerState
from tidegate.deploys.slots.look_at_places import PlaceLooker
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.pull_requests.judge_policies import PolicyJudge
from tidegate.pull_requests.keep_check_run import CheckRunKeeper
from tidegate.pull_requests.publish_pull_request import PublicationAsker, PullRequestPublisher
from tidegate.pull_requests.pull_request_checks import ForgeChecks, ProgressShower
from tidegate.pull_requests.pull_request_view import LayerPainter, PlanPainter
from tidegate.pull_requests.rules.record import judged
from tidegate.pull_requests.tell_closed import ClosedTeller

PULL = any_pull_request_record().spec.id
REVISION = any_pull_request_record().spec.revision
HEAD = any_pull_request_record().spec.head_sha
WHERE = any_pull_request_record().spec.repository, any_pull_request_record().spec.number
REFUSING = PolicyVerdict("security", (PolicyFinding(Severity.DENY, "main.deny", "No."),))


def planned(root="network", **fields):
    return any_layer(root, state=LayerState.PLANNED, plan=any_plan(), job=f"{root}-1", **fields)


def in_state(root, state, **fields):
    return any_layer(root, state=state, **fields)


class World:
    def __init__(self, *layers, **fields):
        self.records = MemoryPullRequests()
        self.layers = MemoryTemporaryLayers()
        self.forge = MemoryForge()
        self.check_runs = MemoryCheckRuns()
        self.announcements = MemoryAnnouncements()
        self.deployments = MemoryDeployments()
        self.queues = MemoryDeployQueues(self.deployments)
        self.clock, self.places = MemoryClock(), MemoryPlanPlaces()
        self.artifacts = MemoryArtifacts({any_plan().text.key: PLAN_TEXT})
        self.fate = Fate()
        self.build()
        self.discovered(*layers, **fields)

    def build(self):
        records, layers, forge, check_runs, announcements = (
            Mortal(port, self.fate)
            for port in (self.records, self.layers, self.forge, self.check_runs, self.announcements)
        )
        painter = LayerPainter(forge, "https://tidegate.example")
        plans, keeper = PlanPainter(self.artifacts, painter), CheckRunKeeper(check_runs, forge)
        self.checks = ForgeChecks(keeper, painter, PolicyJudge(forge))
        teller = ClosedTeller(forge, painter.page, announcements.pull_request_deployed)
        stores = self.clock, self.deployments, self.queues
        self.publisher = PullRequestPublisher(
            records, layers, forge, self.checks, keeper, plans, announcements, *stores, teller
        )
        looker = PlaceLooker(self.places, layers, 1)
        self.progress = ProgressShower(records, layers, keeper, plans, self.clock, looker)
        self.asker = PublicationAsker(records, announcements)

    def discovered(self, *layers, spec=None, **fields):
        """Let the newest revision have these layers."""
        before = self.record if self.records.many([WHERE]) else any_pull_request_record()
        spec = spec or before.spec
        self.layers.create(layers)
        names = tuple(each.id for each in layers)
        found = replace(before, spec=spec, discovered=spec.revision, layers=names, **fields)
        self.records.save(judged(found, layers, NOW))

    @property
    def record(self):
        return self.records.get(*WHERE)

    def publish(self, revision=REVISION, **fault):
        return self.publisher.publish(PULL, revision, **fault)

    @property
    def texts(self):
        return [text for _, text in self.forge.comments]

    def check(self, name):
        return [each for each in self.forge.check_runs.values() if each.name == name][-1]

    def push(self, number):
        """Return the spec of a newer head."""
        return replace(self.record.spec, head_sha=sha(number))
