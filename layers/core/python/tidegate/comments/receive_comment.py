"""Receive a comment on a pull request: deploy its head, lock or unlock queues, or explain what can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.changes.rules.change_set import Key
from tidegate.comments.answer_comment import (
    Comment,
    CommentWork,
    answerer,
    explained,
    outcome,
    refused,
    unseen,
)
from tidegate.comments.rules.command import Command, Misread, Verb, read_comment
from tidegate.comments.texts import replies
from tidegate.comments.texts.help import help_text
from tidegate.config.loaded import LoadedConfiguration
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.rules.deployment import Deployment, Trigger, Unlocking
from tidegate.deploys.rules.locking import Locking, asked_lock
from tidegate.discovery.chosen_roots import Head, chosen_roots
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.discovery.find_repeats import Repeat, enqueue_once, find_repeats
from tidegate.discovery.new_deployments import (
    ChangeEnqueuer,
    Hold,
    Request,
    accesses,
    new_deployments,
    of_head,
)
from tidegate.discovery.repository_source import Granted, RepositorySource
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.texts import chosen_roots as chosen_roots_texts
from tidegate.policies.rules.apply_requirements import Missing, always_missing, may_not_write
from tidegate.policies.rules.policy import HeldPolicySet
from tidegate.ports import Catalog, Deliveries, Delivery, DeliveryOutcome, Forge, PullRequests
from tidegate.pull_requests.check_requirements import RequirementsChecker
from tidegate.requests.lock_many import RepositoryLocker
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root import Revision, queue_id
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.permission import Permission
from tidegate.texts.markdown import escaped
from tidegate.vcs.conclude import conclude, is_concluded
from tidegate.vcs.find_makers import pushed_by
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest


def _no_policies(
    _where: tuple[int, str], _granted: Granted, _members: Sequence[Deployable]
) -> Mapping[Key, tuple[HeldPolicySet, ...]]:
    return {}


def _no_doubts(_comment: Comment) -> DeliveryOutcome | None:
    return None


@dataclass(frozen=True, slots=True)
class CommentReceiver:
    """Receives comments; receiving one again is harmless.

    ``unlock`` and ``lock`` change a queue's lock and say what came of it, ``locker`` that of many. ``others`` carry out
    all other verbs. ``doubts`` refuses a comment that the forge itself does not confirm. ``hold`` stores the policy
    sets that the plans of heads are held against. ``records`` tell who pushed to pull requests.
    """

    deliveries: Deliveries
    source: RepositorySource
    catalog: Catalog
    changes: ChangeEnqueuer
    authorizer: Authorizer
    unlock: Callable[[str, Unlocking], Decision]
    lock: Callable[[str, Locking], Decision]
    locker: RepositoryLocker
    records: PullRequests
    others: Mapping[Verb, CommentWork] = field(default_factory=dict)
    doubts: Callable[[Comment], DeliveryOutcome | None] = _no_doubts
    hold: Hold = _no_policies

    @property
    def forge(self) -> Forge:
        return self.source.forge

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the comment. Raise as for pushes."""
        if is_concluded(self.deliveries, delivery.id):
            return "The comment was answered before."
        comment = Comment(delivery=delivery.id, received_at=delivery.received_at, **delivery.fields)
        return conclude(self.deliveries, delivery.id, lambda: self._outcome(comment))

    def _outcome(self, comment: Comment) -> DeliveryOutcome:
        ignored = self.doubts(comment) or unseen(self.forge, self.deliveries, comment)
        if ignored:
            return ignored
        command = read_comment(comment.text, comment.prefix)
        try:
            if isinstance(command, Misread):
                return self._refuse(comment, command.reply)
            return self._carried_out(comment, command)
        except replies.ANSWERED as error:
            return self._refuse(comment, replies.why_not(error))

    def _carried_out(self, comment: Comment, command: Command) -> DeliveryOutcome:
        match command.verb:
            case Verb.HELP:
                reply = help_text(comment.prefix)
                return explained(self.forge, self.deliveries, comment, "The commands were explained.", reply)
            case Verb.LOCK | Verb.UNLOCK:
                return self._change_locks(comment, command)
            case Verb.DEPLOY:
                return self._deploy(comment, command)
            case verb:
                return self.others[verb].carry_out(comment, command)

    def _refuse(self, comment: Comment, reply: str) -> DeliveryOutcome:
        return refused(self.forge, self.deliveries, comment, reply)

    def _deploy(self, comment: Comment, command: Command) -> DeliveryOutcome:
        pull_request = self.forge.pull_request(*comment.where, comment.pull_request)
        bound = self.deliveries.bind(comment.delivery, pull_request.head_sha)
        if pull_request.merged or bound != pull_request.head_sha:
            return self._refuse(comment, _too_late(comment, pull_request, bound))
        granted = self.source.granted(*comment.where, pull_request.head_branch, pull_request.base_branch)
        if not granted.is_destination:
            return self._refuse(comment, replies.base_does_not_count(pull_request, granted.main))
        meant = PlanRequest(comment.delivery, comment.sender, command.roots, command.directories, command.query)
        missing = self._missing(comment, pull_request, granted.configuration)
        lacks = _lacks(comment, command, pull_request, missing)
        if missing.always or (lacks and meant.asks_for_changed):
            return self._refuse(comment, lacks)
        change = self.forge.change(*comment.where, pull_request.base_branch, pull_request.head_sha)
        head = Head(comment.where, pull_request.head_sha, change.after)
        members = chosen_roots(self.source, head, granted, meant, by_hand=True)
        if isinstance(members, str):
            return self._refuse(comment, "\n\n".join(filter(None, (lacks, members))))
        authors = self._authors(comment, pull_request).and_also(change.authors)
        deployments = new_deployments(_request(comment, command, pull_request, authors), members)
        missing = self._missing_by_root(comment, pull_request, granted, deployments, missing)
        lacks = _lacks(comment, command, pull_request, missing)
        if lacks:
            return self._refuse(comment, lacks)
        # No merge has looked at what policies say of this head: its plan is held against them, whatever is forced.
        held = self.hold(comment.where, granted, members)
        deployments = of_head(deployments, granted)
        deployments = [replace(each, policy_sets=held.get((each.root.name, each.stack), ())) for each in deployments]
        return self._enqueued(comment, command, pull_request, deployments, missing)

    def _authors(self, comment: Comment, pull_request: PullRequest) -> Authors:
        """Return who opened the pull request and pushed to it."""
        pushed = pushed_by(self.records, comment.repository, comment.pull_request, pull_request.head_sha)
        return Authors((pull_request.author,)).and_also(pushed)

    def _enqueued(
        self,
        comment: Comment,
        command: Command,
        pull_request: PullRequest,
        deployments: Sequence[Deployment],
        missing: Missing,
    ) -> DeliveryOutcome:
        """Enqueue all, unless somebody asked for the same at this moment, and answer. Forced, it is enqueued anyway."""
        if command.force:
            self.changes.enqueue_all(deployments)
        else:
            repeats = enqueue_once(self.authorizer.queues, self.authorizer.deployments, self.changes, deployments)
            if repeats:
                missing = Missing((), tuple(self._told(comment, repeats)))
                return self._refuse(comment, _lacks(comment, command, pull_request, missing))
        answer, names = answerer(self.forge, comment), list(dict.fromkeys(each.root.name for each in deployments))
        problems = [answer.accept()]
        if command.force:
            problems.append(answer.reply(replies.forced(comment.sender, pull_request, names, missing)))
        ids = tuple(deployment.id for deployment in deployments)
        return outcome(f"Enqueued: {', '.join(names)}.", *problems, deployments=ids)

    def _missing(self, comment: Comment, pull_request: PullRequest, configuration: LoadedConfiguration) -> Missing:
        """Return what is missing before it is known which roots are deployed."""
        always = always_missing(pull_request)
        least = Permission.WRITE if configuration.policies is None else Permission.READ
        if self.forge.permission(*comment.where, comment.sender) < least:
            always = (may_not_write(comment.sender), *always)
        return Missing(always, self._checker.for_all(comment.where, pull_request, configuration.requirements))

    @property
    def _checker(self) -> RequirementsChecker:
        """What looks at requirements. A head is deployed as it is: whatever it goes to, it is merged with nothing."""
        return RequirementsChecker(self.forge, self.records, merged=False)

    def _missing_by_root(
        self,
        comment: Comment,
        pull_request: PullRequest,
        granted: Granted,
        deployments: Sequence[Deployment],
        missing: Missing,
    ) -> Missing:
        """Return what is missing by root: who may deploy it, and what checks require of it."""
        refusals = self.authorizer.refusals(accesses(deployments), comment.where, Action.APPLY, comment.sender)
        missing = replace(missing, always=tuple(escaped(refusal) for refusal in refusals))
        repeats = find_repeats(self.authorizer.queues, self.authorizer.deployments, deployments)
        told = tuple(self._told(comment, repeats))
        if granted.configuration.checks is None:
            return replace(missing, configured=(*missing.configured, *told))
        keys = [(each.root.name, each.stack) for each in deployments]
        required = {key: granted.requirements[key] for key in keys}
        return replace(missing, configured=(*self._checker.by_root(comment.where, pull_request, required), *told))

    def _told(self, comment: Comment, repeats: Sequence[Repeat]) -> Iterator[str]:
        """Yield what of it was asked for before, and has not ended."""
        for each, earlier in repeats:
            checks = self.forge.pull_request_checks_url(comment.repository, comment.pull_request)
            yield replies.in_line_already(each, earlier, checks)

    def _change_locks(self, comment: Comment, command: Command) -> DeliveryOutcome:
        permission = self.forge.permission(*comment.where, comment.sender)
        if permission < Permission.READ:
            return self._refuse(comment, replies.may_not_unlock(comment.sender, command.verb))
        elsewhere = self._elsewhere(comment)
        if elsewhere:
            return self._refuse(comment, elsewhere)
        if command.scope:
            return self._change_scope(comment, command, permission)
        return self._change_named(comment, command, permission)

    def _change_named(self, comment: Comment, command: Command, permission: Permission) -> DeliveryOutcome:
        """Lock or unlock the queues of roots: those that are named, or else those that the pull request changes."""
        known = [head.root_name for head in self.catalog.roots(comment.repository)]
        names = command.roots or self._changed(comment)
        if not names:
            return self._refuse(comment, chosen_roots_texts.nothing_changed(()))
        unknown = [name for name in names if name not in known] if command.roots else []
        if unknown:
            return self._refuse(comment, chosen_roots_texts.unknown_roots(unknown, known))
        told = [(name, self._lock_changed(comment, command, name, permission)) for name in names]
        text = " ".join(f"{name}: {decision.reason}" for name, decision in told)
        reply = replies.locks_changed(told, "🔒" if command.verb is Verb.LOCK else "🔓")
        if any(decision.done for _, decision in told):
            return outcome(text, answerer(self.forge, comment).reply(reply))
        return explained(self.forge, self.deliveries, comment, text, reply)

    def _change_scope(self, comment: Comment, command: Command, permission: Permission) -> DeliveryOutcome:
        """Lock or unlock a stack, or all roots of the repository."""
        may = self.locker.may(comment.where, command.scope, comment.sender, permission)
        if not may.done:
            return self._refuse(comment, f"**Nothing was {command.verb}ed.** {escaped(may.reason)}")
        at, where = comment.received_at, (comment.repository, command.scope)
        if command.verb is Verb.LOCK:
            decision = self.locker.lock(*where, _locking(comment, command))
        else:
            decision = self.locker.unlock(*where, Unlocking(comment.sender, at))
        reply = escaped(decision.reason)
        if decision.done:
            return outcome(decision.reason, answerer(self.forge, comment).reply(reply))
        return explained(self.forge, self.deliveries, comment, decision.reason, reply)

    def _elsewhere(self, comment: Comment) -> str:
        """Return why the pull request's branches do not count, in Markdown, or an empty text if they do."""
        pull_request = self.forge.pull_request(*comment.where, comment.pull_request)
        main = self.forge.default_branch(*comment.where)
        if pull_request.base_branch == main:
            return ""  # Queues can be unlocked from here also while the default branch's file cannot be used.
        granted = self.source.granted(*comment.where, pull_request.head_branch, pull_request.base_branch)
        return "" if granted.is_destination else replies.base_does_not_count(pull_request, main)

    def _changed(self, comment: Comment) -> Sequence[str]:
        """Return the names of the roots that the pull request changes, or has changed by its merge."""
        pull_request = self.forge.pull_request(*comment.where, comment.pull_request)
        base = pull_request.base_branch
        if not pull_request.is_open:  # The branch may contain it by now, and then differs in nothing.
            base = self.forge.seen_pull_request(*comment.where, comment.pull_request).spec.base_sha
        change = self.forge.change(*comment.where, base, pull_request.head_sha)
        with self.source.fetch(*comment.where, pull_request.head_sha, change.after) as trees:
            found = discover_roots(trees, Reading(comment.repository), by_hand=True)
            return [root.name for root in found.roots]

    def _lock_changed(self, comment: Comment, command: Command, name: str, permission: Permission) -> Decision:
        """Lock or unlock a queue, if who comments may unlock it: by the rule of the deployment that locked it."""
        queue = queue_id(comment.repository, name)
        may = self.authorizer.may_unlock(queue, comment.installation, comment.sender, permission)
        if not may.done:
            return may
        if command.verb is Verb.LOCK:
            return self.lock(queue, _locking(comment, command))
        return self.unlock(queue, Unlocking(comment.sender, comment.received_at))


def _locking(comment: Comment, command: Command) -> Locking:
    return asked_lock(comment.sender, comment.received_at, command.reason, command.duration)


def _too_late(comment: Comment, pull_request: PullRequest, bound: str) -> str:
    if pull_request.merged:
        return replies.merged_already(comment.repository, pull_request)
    return replies.head_moved(bound, pull_request)


def _lacks(comment: Comment, command: Command, pull_request: PullRequest, missing: Missing) -> str:
    """Return the reply that names what holds the command up, or an empty text when nothing does."""
    if missing.always or (missing.configured and not command.force):
        return replies.requirements_missing(pull_request, missing, comment.prefix)
    return ""


def _request(comment: Comment, command: Command, pull_request: PullRequest, authors: Authors) -> Request:
    return Request(
        comment.repository,
        comment.installation,
        Revision(pull_request.head_sha, pull_request.head_branch),
        Trigger.MANUAL,
        f"comment {comment.comment}",
        comment.sender,
        comment.received_at,
        authors,
        pull_request.number,
        command.force,
    )
