"""A repository, its forge and queues in memory, for what people ask for in comments, requests and re-runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.builders import any_pull_request, any_pull_request_record, sha
from tests.fakes import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryCatalog,
    MemoryChangeSets,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryForge,
    MemoryWorkflows,
)
from tests.fakes.policies import MemoryOrganizationPolicies
from tests.fakes.pull_requests import MemoryPullRequests
from tests.unit.usecases.trees import Trees
from tidegate.comments.destroy_by_comment import CommentDestroyer
from tidegate.comments.receive_comment import CommentReceiver
from tidegate.comments.rules.command import Verb
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.queue.enqueue import Enqueuer
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.rules.queue import Lock
from tidegate.discovery.new_deployments import ChangeEnqueuer
from tidegate.discovery.repository_source import RepositorySource
from tidegate.ports import Change, Delivery
from tidegate.pull_requests.hold_policies import PolicyHolder
from tidegate.requests.destroy_roots import RootDestroyer
from tidegate.requests.lock import QueueLocker
from tidegate.requests.lock_many import RepositoryLocker
from tidegate.requests.receive_request import RequestReceiver
from tidegate.requests.unlock import QueueUnlocker
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict

REPOSITORY, INSTALLATION, NUMBER = "acme/infra", 42, 5
AT = "2026-03-02T08:00:00.000000+00:00"
BASE, MAIN, HEAD = sha(1), sha(2), sha(3)
FILES = {"live/app/main.tf": "", "live/db/main.tf": "", "README.md": ""}
PULL = PullRequest(NUMBER, HEAD, "feature", "main", "author", True, False, True)


@dataclass
class EventsWorld:
    """``trees`` are the files of commits; ``main`` is at MAIN, and the pull request's head at HEAD."""

    trees: dict[str, dict[str, str]] = field(
        default_factory=lambda: {BASE: FILES, MAIN: FILES, HEAD: {**FILES, "live/app/main.tf": "# new"}}
    )
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    change_sets: MemoryChangeSets = field(default_factory=MemoryChangeSets)
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    announcements: MemoryAnnouncements = field(default_factory=MemoryAnnouncements)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    records: MemoryPullRequests = field(default_factory=MemoryPullRequests)
    received: int = 0

    def __post_init__(self):
        self.queues = MemoryDeployQueues(self.deployments)
        self.records.save(any_pull_request_record(spec=any_pull_request(NUMBER, head_sha=HEAD)))
        self.catalog = MemoryCatalog(self.deployments, self.queues)
        self.forge = MemoryForge(
            writers={"writer", "reviewer", "maintainer"},
            branches={"main": MAIN},
            pull_requests={NUMBER: PULL},
            changes={("main", HEAD): Change(BASE, Authors(("author", "helper")))},
        )
        workers = WorkerEnsurer(self.queues, self.workflows)
        self.enqueuer = Enqueuer(self.queues, self.deployments, self.audit, self.announcements, workers)
        self.unlocker = QueueUnlocker(self.queues, self.deployments, self.audit, self.announcements, workers)
        self.locker = QueueLocker(self.queues, self.audit, self.announcements)
        stores = self.queues, self.catalog, self.deployments
        authorizer = Authorizer(self.forge, self.queues, self.deployments)
        self.many = RepositoryLocker(*stores, authorizer, self.audit, self.announcements, workers)
        self.source = RepositorySource(self.forge, self)
        self.changes = ChangeEnqueuer(self.change_sets, self.enqueuer.enqueue)
        self.authorizer = Authorizer(self.forge, self.queues, self.deployments)
        self.hold = PolicyHolder(self.source, self.artifacts, MemoryOrganizationPolicies({})).hold
        self.destroyer = RootDestroyer(self.source, self.catalog, self.authorizer, self.changes, self.hold)

    @contextmanager
    def fetch(self, _url, _token, before, after):
        if after not in self.trees:
            raise NotFound("commit", after)
        yield Trees(self.trees.get(before, {}), self.trees[after], before_is_known=before in self.trees)

    def file(self, commit, text):
        """Put a tidegate.yaml into a commit."""
        self.trees[commit] = {**self.trees[commit], "tidegate.yaml": text}

    def pull(self, **fields):
        self.forge.pull_requests[NUMBER] = replace(self.forge.pull_requests[NUMBER], **fields)

    def stored(self, event, fields, delivery=None, at=AT):
        self.received += delivery is None
        stored = Delivery(delivery or f"delivery-{self.received}", event, fields, at)
        self.deliveries.store(stored)
        return stored

    def comment(self, text, by="writer", delivery=None, *, at=AT, number=NUMBER):
        """Let somebody comment on a pull request; return what became of it."""
        where = {"repository": REPOSITORY, "installation": INSTALLATION, "sender": by}
        fields = {**where, "pull_request": number, "comment": 70 + self.received, "text": text}
        receiver = CommentReceiver(
            self.deliveries,
            self.source,
            self.catalog,
            self.changes,
            self.authorizer,
            self.unlocker.unlock,
            self.locker.lock,
            self.many,
            self.records,
            {Verb.DESTROY: CommentDestroyer(self.forge, self.deliveries, self.destroyer)},
            hold=self.hold,
        )
        return receiver.receive(self.stored("issue_comment", fields, delivery, at))

    def request(self, *roots, by="operator", delivery=None, **more):
        """Let an operator ask for deploys; return what became of it."""
        fields = {"repository": REPOSITORY, "installation": INSTALLATION, "roots": list(roots), "by": by, **more}
        receiver = RequestReceiver(self.deliveries, self.source, self.changes, self.authorizer, self.destroyer)
        return receiver.receive(self.stored("manual", fields, delivery))

    @property
    def enqueued(self):
        return sorted(self.deployments.all(), key=lambda deployment: deployment.root.name)

    @property
    def names(self):
        return [deployment.root.name for deployment in self.enqueued]

    @property
    def reply(self):
        """The one reply that was written."""
        ((number, text),) = self.forge.comments
        assert number == NUMBER
        return text

    def approve(self, by, sha=HEAD, verdict=ReviewVerdict.APPROVED):
        self.forge.reviewed.setdefault(NUMBER, []).append(PullRequestReview(by, verdict, sha, AT))

    def lock(self, root):
        """Lock the queue of a root; return its id."""
        queue = queue_id(REPOSITORY, root)
        head, _ = self.queues.read(queue)
        self.queues.commit(head, replace(head, lock=Lock("somebody", AT, HEAD, "reason")))
        return queue
