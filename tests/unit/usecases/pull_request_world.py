"""A repository with a pull request, its forge and stores in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.builders import NOW, REPOSITORY, seen, sha
from tests.fakes import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryCatalog,
    MemoryClock,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryEventQueue,
    MemoryForge,
    MemoryPlanPlaces,
    MemoryPullRequestChecks,
    MemoryPullRequests,
    MemoryTemporaryLayers,
    MemoryWorkflows,
)
from tests.unit.usecases.trees import Trees, merged
from tidegate.deploys.slots.give_places import PlaceGiver
from tidegate.discovery.repository_source import RepositorySource
from tidegate.policies.rules.policy import HeldPolicySet
from tidegate.ports import Change, Delivery, KnownRepository
from tidegate.pull_requests.affected_layers import LayerFinder
from tidegate.pull_requests.close_pull_request import PullRequestCloser, PullRequestStopper
from tidegate.pull_requests.discover_pull_request import PullRequestDiscoverer
from tidegate.pull_requests.receive_pull_request import PullRequestFollower, PullRequestReceiver
from tidegate.pull_requests.restart_pull_request import PullRequestRestarter
from tidegate.pull_requests.tell_closed import ClosedTeller
from tidegate.reconciler.follow_pull_requests import FollowPullRequests, RestartPullRequests
from tidegate.reconciler.resend_deliveries import ResendDeliveries
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors

INSTALLATION, NUMBER = 42, 5
#: Plans at a time.
LIMIT = 2
FORK_POINT, MAIN, HEAD = sha(1), sha(2), sha(3)
FILES = {"live/app/main.tf": "", "live/db/main.tf": "", "README.md": ""}


@dataclass
class PullRequestWorld:
    """``trees`` are the files of commits; ``main`` is at MAIN, and the pull request's head at HEAD.

    ``merges`` are texts of files that both changed, as a merge makes them; the others conflict.
    """

    trees: dict[str, dict[str, str]] = field(
        default_factory=lambda: {FORK_POINT: FILES, MAIN: FILES, HEAD: {**FILES, "live/app/main.tf": "# new"}}
    )
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    records: MemoryPullRequests = field(default_factory=MemoryPullRequests)
    layers: MemoryTemporaryLayers = field(default_factory=MemoryTemporaryLayers)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    checks: MemoryPullRequestChecks = field(default_factory=MemoryPullRequestChecks)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    announcements: MemoryAnnouncements = field(default_factory=MemoryAnnouncements)
    events: MemoryEventQueue = field(default_factory=MemoryEventQueue)
    clock: MemoryClock = field(default_factory=MemoryClock)
    places: MemoryPlanPlaces = field(default_factory=MemoryPlanPlaces)
    policies: tuple[HeldPolicySet, ...] = ()
    merges: dict[str, str] = field(default_factory=dict)
    received: int = 0

    def __post_init__(self):
        self.forge = MemoryForge(branches={"main": MAIN}, seen={NUMBER: seen()})
        self.forge.changes[MAIN, HEAD] = Change(FORK_POINT, Authors(("author",)))
        deployments = MemoryDeployments()
        self.catalog = MemoryCatalog(deployments, MemoryDeployQueues(deployments))
        self.catalog.remember(KnownRepository(REPOSITORY, INSTALLATION, "main", MAIN, NOW))
        self.build()

    def build(self, wrap=lambda port: port):
        """Build the use cases on the ports as ``wrap`` returns them."""
        deliveries, records, layers, workflows, checks, artifacts, forge = (
            wrap(port)
            for port in (
                self.deliveries,
                self.records,
                self.layers,
                self.workflows,
                self.checks,
                self.artifacts,
                self.forge,
            )
        )
        giver = PlaceGiver(wrap(self.places), workflows.settle, LIMIT)
        self.stopper = PullRequestStopper(layers, workflows, checks, self.clock, giver.leave)
        self.closer = PullRequestCloser(records, layers, artifacts, self.stopper, self.clock)
        page = lambda spec: f"/pulls/{spec.number}"  # noqa: E731
        self.teller = ClosedTeller(forge, page, self.announcements.pull_request_deployed)
        closing = self.stopper, self.closer, self.clock, self.teller.tell
        self.follower = PullRequestFollower(records, layers, forge, workflows, checks, *closing, catalog=self.catalog)
        self.restarter = PullRequestRestarter(
            records, layers, workflows, checks, self.announcements, self.stopper, self.clock
        )
        source = RepositorySource(forge, self)
        finder = LayerFinder(source, self.hold_policies)
        self.discoverer = PullRequestDiscoverer(records, layers, finder, self.closer, checks, self.clock)
        self.receiver = PullRequestReceiver(deliveries, records, layers, checks, self.announcements, self.follower)

    def hold_policies(self, _spec, granted, members):
        """Hold every member of the change against ``policies``."""
        self.granted = granted
        return {each.member.key: self.policies for each in members} if self.policies else {}

    def discover(self, record=None):
        """Let the machine look for what the pull request changes."""
        spec = (record or self.record).spec
        return self.discoverer.discover(spec.id, spec.revision)

    @property
    def found(self):
        """The layers of the record."""
        return self.layers.many(self.record.layers)

    def take_turn(self, repair):
        """Let a repair have its turn; return its count. What fails fails the test."""
        turn = Turn(self.clock, "")
        turn.until = turn.ago(-60)
        count = repair.repair(turn)
        assert turn.failures == []
        return count

    def reconcile(self):
        """Let the repairs of pull requests have two turns, and what they send arrive."""
        for _ in range(2):
            self.take_turn(FollowPullRequests(self.catalog, self.records, self.forge, self.deliveries))
            self.take_turn(ResendDeliveries(self.deliveries, self.events))
            self.clock.advance(300)
        while self.events.sent:
            self.receiver.receive(self.events.sent.pop(0))
        self.take_turn(RestartPullRequests(self.records, self.restarter.restart))

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
        where = {"repository": REPOSITORY, "pull_request": NUMBER, "installation": INSTALLATION, "sender": "author"}
        self.received += 1
        stored = Delivery(f"delivery-{self.received}", event, {**where, **fields}, self.clock.now())
        self.deliveries.store(stored)
        return stored

    def receive(self, event="pull_request", **fields):
        """Let the forge tell of something; return what became of it."""
        return self.receiver.receive(self.delivery(event, **fields))

    @property
    def record(self):
        return self.records.get(REPOSITORY, NUMBER)

    @property
    def asked(self):
        """What the checks were asked for: the verb, the head, and what was said."""
        return [(verb, record.spec.head_sha, said) for verb, record, _, said in self.checks.asked]

    def discovered(self, *layers, **fields):
        """Let the record's revision be discovered, with these layers."""
        self.layers.create(layers)
        record = replace(
            self.record, discovered=self.record.spec.revision, layers=tuple(layer.id for layer in layers), **fields
        )
        return self.records.save(record)


def changes(world, files, base=None):
    """Let the pull request's head have these files, and where it left the base branch those of ``base``."""
    world.trees[FORK_POINT] = world.trees[MAIN] = base or FILES
    world.trees[HEAD] = {**(base or FILES), **files}
    world.trees[HEAD] = {path: text for path, text in world.trees[HEAD].items() if text is not None}


def opened(world):
    world.receive()
    return world.discover()


def names(world):
    return sorted(layer.root.name for layer in world.found)
