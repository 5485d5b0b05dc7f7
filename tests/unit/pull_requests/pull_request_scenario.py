"""A repository with a pull request, its forge and stores in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tests.builders import NOW, REPOSITORY, seen, sha
from tests.fakes import MemoryForge
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.fakes.ports import memory_ports
from tests.unit.discovery.trees import Trees, merged
from tidegate.ports import Change, Delivery, KnownRepository
from tidegate.pull_requests.discover_pull_request import discover_pull_request
from tidegate.pull_requests.receive_pull_request import follow_pull_request, receive_pull_request
from tidegate.reconciler.follow_pull_requests import follow_pull_requests, restart_pull_requests
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.resend_deliveries import resend_deliveries
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors

NUMBER = 5
FORK_POINT, MAIN, HEAD = sha(1), sha(2), sha(3)
FILES = {"live/app/main.tf": "", "live/db/main.tf": "", "README.md": ""}
PAGE = f"https://tidegate.example/pulls/{REPOSITORY}/{NUMBER}"
#: A file by which every plan is held against a policy set, which operators have stored.
SECURITY = "policy_sets: {security: {source: organization}}\n"


@dataclass
class PullRequestScenario:
    """``trees`` are the files of commits; ``main`` is at MAIN, and the pull request's head at HEAD.

    ``merges`` are texts of files that both changed, as a merge makes them; the others conflict.
    """

    trees: dict[str, dict[str, str]] = field(
        default_factory=lambda: {FORK_POINT: FILES, MAIN: FILES, HEAD: {**FILES, "live/app/main.tf": "# new"}}
    )
    merges: dict[str, str] = field(default_factory=dict)
    received: int = 0

    def __post_init__(self):
        self.ports = memory_ports(
            {"TIDEGATE_PULL_REQUEST_PLANS": "2"},
            forge=MemoryForge(branches={"main": MAIN}, seen={NUMBER: seen()}),
            history=self,
            organization_policies=MemoryOrganizationPolicies({"security": {"main.rego": b"package main"}}),
            web_url="https://tidegate.example",
        )
        self.forge.changes[MAIN, HEAD] = Change(FORK_POINT, Authors(("author",)))
        self.repository_index.remember(KnownRepository(REPOSITORY, "main", MAIN, NOW))

    forge = property(lambda self: self.ports.forge)
    repository_index = property(lambda self: self.ports.repository_index)
    deliveries = property(lambda self: self.ports.deliveries)
    records = property(lambda self: self.ports.pull_requests)
    layers = property(lambda self: self.ports.speculative_plans)
    workflows = property(lambda self: self.ports.workflows)
    artifacts = property(lambda self: self.ports.artifacts)
    event_publisher = property(lambda self: self.ports.event_publisher)
    events = property(lambda self: self.ports.events)
    clock = property(lambda self: self.ports.clock)
    places = property(lambda self: self.ports.plan_slots)

    def discover(self, record=None, ports=None):
        """Let the machine look for what the pull request changes."""
        spec = (record or self.record).spec
        return discover_pull_request(ports or self.ports, spec.id, spec.revision)

    @property
    def found(self):
        """The layers of the record."""
        return self.layers.many(self.record.layers)

    def take_turn(self, repair):
        """Let a repair have its turn; return its count. What fails fails the test."""
        turn = ReconcilerPass(self.clock, self.clock.now() + timedelta(minutes=1))
        count = repair(self.ports, turn)
        assert turn.failures == []
        return count

    def reconcile(self):
        """Let the repairs of pull requests have two turns, and what they send arrive."""
        for _ in range(2):
            self.take_turn(follow_pull_requests)
            self.take_turn(resend_deliveries)
            self.clock.advance(300)
        while self.events.sent:
            receive_pull_request(self.ports, self.events.sent.pop(0))
        self.take_turn(restart_pull_requests)

    @contextmanager
    def fetch(self, _url, _token, before, after):
        if after not in self.trees:
            raise NotFound("commit", after)
        yield Trees(self.trees.get(before, {}), self.trees[after], before_is_known=before in self.trees)

    @contextmanager
    def merge(self, _url, _token, base, head, common):
        missing = [commit for commit in (base, head, common) if commit not in self.trees]
        if missing:
            raise NotFound("commit", missing[0])
        yield merged(*(self.trees[commit] for commit in (base, head, common)), self.merges)

    def file(self, commit, text):
        """Put a tidegate.yaml into a commit."""
        self.trees[commit] = {**self.trees[commit], "tidegate.yaml": text}

    def pull(self, *, is_open=True, merged=False, **fields):
        """Let the forge have the pull request so from now on."""
        spec = replace(self.forge.seen[NUMBER].spec, **fields)
        self.forge.seen[NUMBER] = seen(spec, is_open=is_open, merged=merged)

    def delivery(self, event="pull_request", **fields):
        where = {"repository": REPOSITORY, "pull_request": NUMBER, "sender": "author"}
        self.received += 1
        stored = Delivery(f"delivery-{self.received}", event, {**where, **fields}, self.clock.now())
        self.deliveries.store(stored)
        return stored

    def receive(self, event="pull_request", **fields):
        """Let the forge tell of something; return what became of it."""
        return receive_pull_request(self.ports, self.delivery(event, **fields))

    def follow(self, **wish):
        """Let the record follow the forge; return what became of it."""
        return follow_pull_request(self.ports, REPOSITORY, NUMBER, **wish)

    @property
    def record(self):
        return self.records.get(REPOSITORY, NUMBER)

    @property
    def checks(self):
        """What the check runs say: the commit and the title of each."""
        return [(each.sha, each.title) for each in self.forge.check_runs.values()]

    def discovered(self, *layers, **fields):
        """Let the record's revision be discovered, with these layers."""
        self.layers.create(layers)
        record = replace(
            self.record, discovered=self.record.spec.revision, layers=tuple(layer.id for layer in layers), **fields
        )
        return self.records.save(record)


def changes(scenario, files, base=None):
    """Let the pull request's head have these files, and where it left the base branch those of ``base``."""
    scenario.trees[FORK_POINT] = scenario.trees[MAIN] = base or FILES
    scenario.trees[HEAD] = {**(base or FILES), **files}
    scenario.trees[HEAD] = {path: text for path, text in scenario.trees[HEAD].items() if text is not None}


def opened(scenario):
    scenario.receive()
    return scenario.discover()


def names(scenario):
    return sorted(layer.root.name for layer in scenario.found)
