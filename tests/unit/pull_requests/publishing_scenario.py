"""Where pull requests are shown: a forge, records and layers in memory."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, PLAN_TEXT, any_layer, any_plan, any_pull_request_record, sha
from tests.fakes import MemoryArtifacts, MemoryForge
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.pull_requests.publish_pull_request import publish_pull_request, show_again
from tidegate.pull_requests.pull_request_checks import show_progress, show_pull_request
from tidegate.pull_requests.rules.record import judged

PULL = any_pull_request_record().spec.id
REVISION = any_pull_request_record().spec.revision
HEAD = any_pull_request_record().spec.head_sha
WHERE = any_pull_request_record().spec.repository, any_pull_request_record().spec.number
REFUSING = PolicyVerdict("security", (PolicyFinding(Severity.DENY, "main.deny", "No."),))


def planned(root="network", **fields):
    return any_layer(root, state=LayerState.PLANNED, plan=any_plan(), job=f"{root}-1", **fields)


def in_state(root, state, **fields):
    return any_layer(root, state=state, **fields)


class Scenario:
    def __init__(self, *layers, forge=None, **fields):
        self.ports = memory_ports(
            forge=forge or MemoryForge(),
            artifacts=MemoryArtifacts({any_plan().text.key: PLAN_TEXT}),
            web_url="https://tidegate.example",
        )
        self.discovered(*layers, **fields)

    forge = property(lambda self: self.ports.forge)
    records = property(lambda self: self.ports.pull_requests)
    layers = property(lambda self: self.ports.speculative_plans)
    event_publisher = property(lambda self: self.ports.event_publisher)
    deployments = property(lambda self: self.ports.deployments)
    queues = property(lambda self: self.ports.queues)
    places = property(lambda self: self.ports.plan_slots)
    artifacts = property(lambda self: self.ports.artifacts)

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

    def publish(self, revision=REVISION, ports=None, **fault):
        return publish_pull_request(ports or self.ports, PULL, revision, **fault)

    def show_again(self, pull_request=PULL):
        show_again(self.ports, pull_request)

    def begin(self):
        """Show that planning begins."""
        show_pull_request(self.ports, replace(self.record, discovered=""))

    def progress(self, pull_request=PULL, not_before=0):
        show_progress(self.ports, pull_request, not_before)

    @property
    def texts(self):
        return [text for _, text in self.forge.comments]

    def check(self, name):
        return [each for each in self.forge.check_runs.values() if each.name == name][-1]

    def push(self, number):
        """Return the spec of a newer head."""
        return replace(self.record.spec, head_sha=sha(number))
