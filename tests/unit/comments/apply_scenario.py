"""A repository that is applied in pull requests, in memory: comments, what they apply, merges and what comes after."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import any_layer, any_pull_request, seen, sha
from tests.fakes.ports import port
from tests.unit.comments.events_scenario import AT, HEAD, MAIN, NUMBER, REPOSITORY, EventsScenario
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.queue import head_after, lock_when_let_in, waiting_for
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import first_record
from tidegate.pushes.receive_push import receive_push
from tidegate.roots.rules.root import Root, queue_id
from tidegate.vcs.rules.authors import Authors

#: The commit that merges the pull request.
MERGED = sha(4)
HERE = ApplyRules(ApplyMode.IN_PULL_REQUEST)
#: A file that asks for nothing besides.
FREE = "version: 1\napply: in_pull_request\napply_requirements: {approved: {enabled: false}}\n"
QUEUE = queue_id(REPOSITORY, "live/app")


class ApplyScenario(EventsScenario):
    """The head contains ``main``, which says that changes are applied in pull requests, and asks for nothing else.

    The pull request has no record, unless something is planned.
    """

    def __init__(self, **given):
        super().__init__(is_known=False, **given)
        self.forge.seen[NUMBER] = seen(any_pull_request())
        self.forge.changes[MAIN, HEAD] = Change(MAIN, Authors(("author", "helper")))
        self.forge.changes["main", HEAD] = self.forge.changes[MAIN, HEAD]
        self.say(FREE)

    layers = port("speculative_plans")

    def say(self, text):
        """Put a tidegate.yaml on ``main``, which the pull request's head has as well."""
        self.file(MAIN, text)
        self.file(HEAD, text)
        self.trees[MERGED] = self.trees[HEAD]

    def open(self):
        """Let the pull request have a record."""
        if not self.records.many([(REPOSITORY, NUMBER)]):
            self.records.save(first_record(self.forge.seen[NUMBER], MAIN))

    @property
    def record(self):
        return self.records.get(REPOSITORY, NUMBER)

    def planned(self, *names, **fields):
        """Let the record know layers of these roots, planned at the head."""
        found = [any_layer(root=name, **fields) for name in names]
        placed = [
            replace(each, root=Root(name, name), state=fields.get("state", LayerState.PLANNED))
            for each, name in zip(found, names, strict=True)
        ]
        self.layers.create(placed)
        self.open()
        record = self.record
        known = replace(record, discovered=record.spec.revision, layers=(*record.layers, *(each.id for each in placed)))
        self.records.save(known)

    def end(self, state=State.APPLIED, root="live/app"):
        """Let the deployment that waits for a root be let in, and end."""
        queue = queue_id(REPOSITORY, root)
        head, first = self.queues.read(queue)
        waiting = self.deployments.get(first.deployment)
        ended = replace(waiting, state=state)
        after = replace(head_after(head, ended), lock=lock_when_let_in(ended, head.lock, AT))
        self.queues.commit(head, after, take=waiting_for(waiting), deployment=ended)
        return self.deployments.get(waiting.id)

    def push(self, after=MERGED, before=MAIN, delivery=None):
        """Let somebody push to ``main``; return what became of it."""
        fields = {
            "repository": REPOSITORY,
            "before": before,
            "after": after,
            "branch": "main",
            "sender": "maintainer",
            "forced": False,
            "authors": ["author"],
        }
        return receive_push(self.ports, self.stored("push", fields, delivery))

    def head(self, queue=QUEUE):
        return self.queues.read(queue)[0]

    def line(self, queue=QUEUE):
        return [each.revision for each in self.queues.waiting(queue)]

    def of(self, commit, root="live/app"):
        """Return the deployment of a commit to a root."""
        (found,) = [each for each in self.enqueued if (each.revision.sha, each.root.name) == (commit, root)]
        return found
