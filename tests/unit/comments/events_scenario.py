"""A repository, its forge and queues in memory, for what people ask for in comments, requests and re-runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from tests.builders import any_pull_request, any_pull_request_record, sha
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports, port
from tests.instants import utc
from tests.unit.discovery.trees import Trees
from tidegate.comments.receive_comment import receive_comment
from tidegate.deploys.rules.queue import Lock
from tidegate.ports import Change, Delivery
from tidegate.requests.receive_request import receive_request
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict

REPOSITORY, NUMBER = "acme/infra", 5
AT = utc("2026-03-02T08:00")
BASE, MAIN, HEAD = sha(1), sha(2), sha(3)
FILES = {"live/app/main.tf": "", "live/db/main.tf": "", "README.md": ""}
PULL = PullRequest(NUMBER, HEAD, "feature", "main", "author", True, False, True)


class EventsScenario:
    """The port ``SourceHistory``: ``trees`` are the files of commits.

    ``main`` is at MAIN, and the pull request's head at HEAD. ``given`` are ports.
    """

    def __init__(self, *, is_known=True, **given):
        self.trees = {BASE: FILES, MAIN: FILES, HEAD: {**FILES, "live/app/main.tf": "# new"}}
        self.received = 0
        forge = MemoryForge(
            writers={"writer", "reviewer", "maintainer"},
            branches={"main": MAIN},
            pull_requests={NUMBER: PULL},
            changes={("main", HEAD): Change(BASE, Authors(("author", "helper")))},
        )
        self.ports = memory_ports(history=self, **{"forge": forge, **given})
        if is_known:
            self.records.save(any_pull_request_record(spec=any_pull_request(NUMBER, head_sha=HEAD)))

    forge, records, repository_index = port("forge"), port("pull_requests"), port("repository_index")
    queues, deployments, change_sets = port("queues"), port("deployments"), port("change_sets")
    deliveries, event_publisher, audit = port("deliveries"), port("event_publisher"), port("audit")
    workflows, artifacts, clock = port("workflows"), port("artifacts"), port("clock")

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
        where = {"repository": REPOSITORY, "sender": by}
        fields = {**where, "pull_request": number, "comment": 70 + self.received, "text": text}
        return receive_comment(self.ports, self.stored("issue_comment", fields, delivery, at))

    def request(self, *roots, by="operator", delivery=None, **more):
        """Let an operator ask for deploys; return what became of it."""
        fields = {"repository": REPOSITORY, "roots": list(roots), "by": by, **more}
        return receive_request(self.ports, self.stored("manual", fields, delivery))

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
