"""A repository that is applied in pull requests, in memory: comments, what they apply, merges and what comes after."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.builders import any_layer, any_pull_request, seen, sha
from tests.fakes import MemoryArtifacts, MemoryClock, MemoryJobs, MemoryPullRequests, MemoryTemporaryLayers
from tests.unit.usecases.events_world import AT, HEAD, INSTALLATION, MAIN, NUMBER, REPOSITORY, EventsWorld
from tidegate.comments.apply_pull_request import PullRequestApplier
from tidegate.comments.receive_comment import CommentReceiver
from tidegate.comments.rules.command import Verb
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.jobs.check_branch import BranchCheck
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.reviews.decide_review import ReviewDecider
from tidegate.deploys.rules.deployment import State
from tidegate.deploys.rules.queue import head_after, lock_when_let_in, waiting_for
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.temporary_layer import LayerState
from tidegate.discovery.new_deployments import ChangeEnqueuer
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.decide_gate import GateDecider
from tidegate.gates.decide_requirements import RequirementsDecider
from tidegate.ports import Change
from tidegate.pull_requests.cancel_applies import ApplyCanceller
from tidegate.pull_requests.close_applied import AppliedCloser
from tidegate.pull_requests.judge_policies import PolicyJudge
from tidegate.pull_requests.merge_applied import AppliedMerger
from tidegate.pull_requests.rules.record import first_record
from tidegate.pushes.applied_before import AppliedBefore
from tidegate.pushes.receive_push import PushReceiver
from tidegate.roots.rules.root import Root, queue_id
from tidegate.vcs.rules.authors import Authors

#: The commit that merges the pull request.
MERGED = sha(4)
HERE = ApplyRules(ApplyMode.IN_PULL_REQUEST)
#: A file that asks for nothing besides.
FREE = "version: 1\napply: in_pull_request\napply_requirements: {approved: {enabled: false}}\n"
QUEUE = queue_id(REPOSITORY, "live/app")


@dataclass
class ApplyWorld(EventsWorld):
    """The head contains ``main``, which says that changes are applied in pull requests, and asks for nothing else."""

    records: MemoryPullRequests = field(default_factory=MemoryPullRequests)
    layers: MemoryTemporaryLayers = field(default_factory=MemoryTemporaryLayers)
    clock: MemoryClock = field(default_factory=MemoryClock)
    shown: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__post_init__()
        self.records = type(self.records)()
        self.spec = any_pull_request()
        self.forge.seen[NUMBER] = seen(self.spec)
        self.forge.changes[MAIN, HEAD] = Change(MAIN, Authors(("author", "helper")))
        self.forge.changes["main", HEAD] = self.forge.changes[MAIN, HEAD]
        self.say(FREE)
        workers = WorkerEnsurer(self.queues, self.workflows)
        self.applier = PullRequestApplier(
            self.deliveries,
            self.source,
            self.queues,
            self.records,
            self.layers,
            self.changes,
            self.authorizer,
            PolicyJudge(self.forge),
            self.follow,
        )
        self.applied = AppliedBefore(
            self.queues,
            self.deployments,
            self.forge,
            self,
            self.announcements,
            workers,
            self.clock,
            lambda: PlanReview.ALWAYS,
            self.enqueuer.enqueue,
        )
        finisher = Finisher(self.deployments, MemoryJobs(), self.audit)
        reviews = ReviewDecider(
            self.deployments, self.workflows, self.announcements, finisher, MemoryArtifacts(), BranchCheck(self.forge)
        )
        gates = GateDecider(
            self.deployments,
            self.change_sets,
            self.workflows,
            self.announcements,
            lambda _: None,
            self.authorizer.may,
            RequirementsDecider(
                self.deployments,
                ApplyRequirements(self.forge, self.records),
                self.workflows,
                self.announcements,
                self.audit,
            ),
        )
        ender = DeploymentEnder(self.queues, MemoryJobs(), finisher, self.announcements, self.clock)
        self.canceller = ApplyCanceller(
            self.queues,
            self.deployments,
            ender.announce,
            lambda deployment, by, at: reviews.decide(deployment, Answer.REJECT, by, at),
            gates.reject,
            self.clock,
        )
        self.closer = AppliedCloser(
            self.queues, self.deployments, self.forge, self.unlocker.unlock, self.canceller.cancel, self.clock
        )
        self.merger = AppliedMerger(self.records, self.layers, self.deployments, self.forge, self.shown.append)

    def say(self, text):
        """Put a tidegate.yaml on ``main``, which the pull request's head has as well."""
        self.file(MAIN, text)
        self.file(HEAD, text)
        self.trees[MERGED] = self.trees[HEAD]

    def follow(self, _installation, repository, number):
        if not self.records.many([(repository, number)]):
            self.records.save(first_record(self.forge.seen[number], MAIN))
        return ""

    @property
    def record(self):
        return self.records.get(REPOSITORY, NUMBER)

    def comment(self, text, by="writer", delivery=None):
        where = {"repository": REPOSITORY, "installation": INSTALLATION, "sender": by}
        fields = {**where, "pull_request": NUMBER, "comment": 70 + self.received, "text": text}
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
            {Verb.APPLY: self.applier},
        )
        return receiver.receive(self.stored("issue_comment", fields, delivery))

    def planned(self, *names, **fields):
        """Let the record know layers of these roots, planned at the head."""
        found = [any_layer(root=name, **fields) for name in names]
        placed = [
            replace(each, root=Root(name, name), state=fields.get("state", LayerState.PLANNED))
            for each, name in zip(found, names, strict=True)
        ]
        self.layers.create(placed)
        self.follow(INSTALLATION, REPOSITORY, NUMBER)
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
            "installation": INSTALLATION,
            "before": before,
            "after": after,
            "branch": "main",
            "sender": "maintainer",
            "forced": False,
            "authors": ["author"],
        }
        changes = ChangeEnqueuer(self.change_sets, self.applied.enqueue)
        receiver = PushReceiver(
            self.deliveries,
            self.forge,
            self,
            self.catalog,
            changes,
            self.authorizer.reviewed_unless_granted,
            self.records,
            self.hold,
        )
        return receiver.receive(self.stored("push", fields, delivery))

    def head(self, queue=QUEUE):
        return self.queues.read(queue)[0]

    def line(self, queue=QUEUE):
        return [each.revision for each in self.queues.waiting(queue)]

    def of(self, commit, root="live/app"):
        """Return the deployment of a commit to a root."""
        (found,) = [each for each in self.enqueued if (each.revision.sha, each.root.name) == (commit, root)]
        return found
