"""A world in which pushes are received."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.builders import sha
from tests.fakes.catalog import MemoryCatalog
from tests.fakes.change_sets import MemoryChangeSets
from tests.fakes.forge import MemoryForge
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.fakes.pull_requests import MemoryPullRequests
from tests.fakes.stores import MemoryDeliveries, MemoryDeployments, MemoryDeployQueues
from tests.fakes.world import MemoryArtifacts
from tests.unit.usecases.trees import BASE, Trees
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.new_deployments import ChangeEnqueuer
from tidegate.discovery.repository_source import RepositorySource
from tidegate.ports import Delivery, Merged
from tidegate.pull_requests.hold_policies import PolicyHolder
from tidegate.pushes.mark_orphans import OrphanMarker
from tidegate.pushes.receive_push import PushReceiver
from tidegate.rules.errors import CloudUnavailable, NotFound

AFTER = sha(2)
CHANGED = {**BASE, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}


@dataclass
class World:
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    forge: MemoryForge = field(default_factory=MemoryForge)
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    change_sets: MemoryChangeSets = field(default_factory=MemoryChangeSets)
    old: dict[str, str] = field(default_factory=lambda: BASE)
    new: dict[str, str] = field(default_factory=lambda: CHANGED)
    fetched: list[tuple[str, str, str, str]] = field(default_factory=list)
    gone: bool = False
    old_is_known: bool = True
    broken: set[str] = field(default_factory=set)
    enqueued: list = field(default_factory=list)
    moved: list[object] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.queues = MemoryDeployQueues(self.deployments)
        self.records, self.artifacts = MemoryPullRequests(), MemoryArtifacts()
        self.catalog = MemoryCatalog(self.deployments, self.queues)

    @contextmanager
    def fetch(self, url, token, before, after):
        self.fetched.append((url, token, before, after))
        if self.gone or self.unreadable.get(after) == "":
            raise NotFound("commit", after)
        if after in self.unreadable:
            yield Trees(self.old, {**self.new, "tidegate.yaml": self.unreadable[after]})
            return
        yield Trees(self.old, self.new, before_is_known=self.old_is_known)

    @contextmanager
    def merge(self, _url, _token, _base, _head, _common):
        yield Merged(Trees(self.old, self.made))

    def enqueue(self, deployment):
        if deployment.root.name in self.broken:
            raise CloudUnavailable("DynamoDB", "ThrottlingException")
        if self.queues.enqueue(deployment):
            self.enqueued.append(deployment)

    def receive(self, delivery_id="delivery-1", **fields):
        push = {
            "repository": "acme/infra",
            "before": sha(1),
            "after": AFTER,
            "branch": "main",
            "installation": 42,
            "sender": "octocat",
            "forced": False,
            "authors": ["author"],
            **fields,
        }
        delivery = Delivery(delivery_id, "push", push, "2026-03-02T08:00:00.000000+00:00")
        self.deliveries.store(delivery)
        return self.receiver().receive(delivery)

    def receiver(self, review=PlanReview.ALWAYS):
        changes = ChangeEnqueuer(self.change_sets, self.enqueue)
        granted = Authorizer(self.forge, self.queues, self.deployments).reviewed_unless_granted
        return PushReceiver(
            self.deliveries,
            self.forge,
            self,
            self.catalog,
            changes,
            granted,
            self.records,
            PolicyHolder(RepositorySource(self.forge, self), self.artifacts, MemoryOrganizationPolicies({})).hold,
            lambda: review,
            tell_base_moved=lambda known, touched, *, rules, replans: self.moved.append(
                (known.seen, touched, rules, replans)
            ),
            mark_orphans=OrphanMarker(self.catalog, self.queues, self.deployments).mark,
        )

    @property
    def names(self):
        return [deployment.root.name for deployment in self.enqueued]
