"""Process a comment on a pull request: deploy its head, lock or unlock queues, or explain the commands.

A repeated comment is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidegate.comments.answer_comment import (
    Comment,
    answerer,
    explained,
    outcome,
    refused,
    unseen,
)
from tidegate.comments.apply_pull_request import apply_pull_request
from tidegate.comments.cancel_by_comment import cancel_by_comment
from tidegate.comments.confirm_comment import refuse_unconfirmed
from tidegate.comments.destroy_by_comment import destroy_by_comment
from tidegate.comments.dispatch_comment import dispatch_comment
from tidegate.comments.plan_by_comment import plan_by_comment
from tidegate.comments.rules.command import Command, Misread, Verb, read_comment
from tidegate.comments.texts import replies
from tidegate.comments.texts.help import help_text
from tidegate.config.loaded import LoadedConfiguration
from tidegate.deploys.authorize import access_refusals, may_unlock
from tidegate.deploys.queue.lock import lock_queue
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.locking import Locking, asked_lock
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.discovery.chosen_roots import Head, chosen_roots
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.discovery.find_repeats import Repeat, enqueue_once, find_repeats
from tidegate.discovery.new_deployments import (
    Request,
    accesses,
    enqueue_change,
    new_deployments,
    of_head,
)
from tidegate.discovery.repository_source import Granted, fetch_commit, read_granted
from tidegate.discovery.save_policies import save_policies
from tidegate.discovery.texts import chosen_roots as chosen_roots_texts
from tidegate.gates.check_requirements import RequirementsChecker
from tidegate.policies.rules.apply_requirements import Missing, always_missing, may_not_write
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.requests.lock_many import lock_many, may_lock_many, unlock_many
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


def receive_comment(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the comment, and store it with the delivery. Raise as for pushes."""
    if is_concluded(ports.deliveries, delivery.id):
        return "The comment was already answered."
    comment = Comment.of(delivery)
    return conclude(ports.deliveries, delivery.id, lambda: _outcome(ports, comment))


def _outcome(ports: Ports, comment: Comment) -> DeliveryOutcome:
    ignored = refuse_unconfirmed(ports, comment) or unseen(ports, comment)
    if ignored:
        return ignored
    command = read_comment(comment.text, comment.prefix)
    try:
        if isinstance(command, Misread):
            return _refuse(ports, comment, command.reply)
        return _carried_out(ports, comment, command)
    except replies.ANSWERED as error:
        return _refuse(ports, comment, replies.why_not(error))


def _carried_out(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    match command.verb:
        case Verb.HELP:
            reply = help_text(comment.prefix)
            return explained(ports, comment, "The commands were explained.", reply)
        case Verb.LOCK | Verb.UNLOCK:
            return _change_locks(ports, comment, command)
        case Verb.DEPLOY:
            return _deploy(ports, comment, command)
        case verb:
            return _OTHERS[verb](ports, comment, command)


def _refuse(ports: Ports, comment: Comment, reply: str) -> DeliveryOutcome:
    return refused(ports, comment, reply)


def _deploy(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    pull_request = ports.pull_request_reader.pull_request(comment.repository, comment.pull_request)
    bound = ports.deliveries.bind(comment.delivery, pull_request.head_sha)
    if pull_request.merged or bound != pull_request.head_sha:
        return _refuse(ports, comment, _too_late(comment, pull_request, bound))
    granted = read_granted(ports, comment.repository, pull_request.head_branch, pull_request.base_branch)
    if not granted.is_destination:
        return _refuse(ports, comment, replies.base_does_not_count(pull_request, granted.main))
    meant = PlanRequest(comment.delivery, comment.sender, command.roots, command.directories, command.query)
    missing = _missing(ports, comment, pull_request, granted.configuration)
    lacks = _lacks(comment, command, pull_request, missing)
    if missing.always or (lacks and meant.asks_for_changed):
        return _refuse(ports, comment, lacks)
    change = ports.commits.change(comment.repository, pull_request.base_branch, pull_request.head_sha)
    head = Head(comment.repository, pull_request.head_sha, change.after)
    members = chosen_roots(ports, head, granted, meant, by_hand=True)
    if isinstance(members, str):
        return _refuse(ports, comment, "\n\n".join(filter(None, (lacks, members))))
    authors = _authors(ports, comment, pull_request).and_also(change.authors)
    deployments = new_deployments(_request(comment, command, pull_request, authors), members)
    missing = _missing_by_root(ports, comment, pull_request, granted, deployments, missing)
    lacks = _lacks(comment, command, pull_request, missing)
    if lacks:
        return _refuse(ports, comment, lacks)
    # No merge has checked policies for this head: they evaluate its plan, also with ``--force``.
    held = save_policies(ports, comment.repository, granted, members)
    deployments = of_head(deployments, granted)
    deployments = [
        replace(each, policies=replace(each.policies, sets=held.get((each.root.name, each.stack), ())))
        for each in deployments
    ]
    return _enqueued(ports, comment, command, pull_request, deployments, missing)


def _authors(ports: Ports, comment: Comment, pull_request: PullRequest) -> Authors:
    """Return who opened the pull request and pushed to it."""
    pushed = pushed_by(ports.pull_requests, comment.repository, comment.pull_request, pull_request.head_sha)
    return Authors((pull_request.author,)).and_also(pushed)


def _enqueued(
    ports: Ports,
    comment: Comment,
    command: Command,
    pull_request: PullRequest,
    deployments: Sequence[Deployment],
    missing: Missing,
) -> DeliveryOutcome:
    """Enqueue all, unless a concurrent request did, and answer. A forced one is enqueued anyway."""
    if command.force:
        enqueue_change(ports, deployments)
    else:
        repeats = enqueue_once(ports, deployments)
        if repeats:
            missing = Missing((), tuple(_told(ports, comment, repeats)))
            return _refuse(ports, comment, _lacks(comment, command, pull_request, missing))
    answer, names = answerer(ports.comments, comment), list(dict.fromkeys(each.root.name for each in deployments))
    problems = [answer.accept()]
    if command.force:
        problems.append(answer.reply(replies.forced(comment.sender, pull_request, names, missing)))
    ids = tuple(deployment.id for deployment in deployments)
    return outcome(f"Enqueued: {', '.join(names)}.", *problems, deployments=ids)


def _missing(ports: Ports, comment: Comment, pull_request: PullRequest, configuration: LoadedConfiguration) -> Missing:
    """Return what is missing before the roots are known."""
    always = always_missing(pull_request)
    least = Permission.WRITE if configuration.policies is None else Permission.READ
    if ports.people.permission(comment.repository, comment.sender) < least:
        always = (may_not_write(comment.sender), *always)
    return Missing(always, _checker(ports).for_all(comment.repository, pull_request, configuration.requirements))


def _checker(ports: Ports) -> RequirementsChecker:
    """Checks requirements. A head is deployed as it is, not merged with its base."""
    return RequirementsChecker(ports, merged=False)


def _missing_by_root(
    ports: Ports,
    comment: Comment,
    pull_request: PullRequest,
    granted: Granted,
    deployments: Sequence[Deployment],
    missing: Missing,
) -> Missing:
    """Return what is missing by root: access, and requirements."""
    refusals = access_refusals(ports, accesses(deployments), comment.repository, Action.APPLY, comment.sender)
    missing = replace(missing, always=tuple(escaped(refusal) for refusal in refusals))
    repeats = find_repeats(ports, deployments)
    told = tuple(_told(ports, comment, repeats))
    if granted.configuration.checks is None:
        return replace(missing, configured=(*missing.configured, *told))
    keys = [(each.root.name, each.stack) for each in deployments]
    required = {key: granted.requirements[key] for key in keys}
    return replace(missing, configured=(*_checker(ports).by_root(comment.repository, pull_request, required), *told))


def _told(ports: Ports, comment: Comment, repeats: Sequence[Repeat]) -> Iterator[str]:
    """Yield what was requested before and has not ended."""
    for each, earlier in repeats:
        checks = ports.addresses.pull_request_checks_url(comment.repository, comment.pull_request)
        yield replies.already_queued(each, earlier, checks)


def _change_locks(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    permission = ports.people.permission(comment.repository, comment.sender)
    if permission < Permission.READ:
        return _refuse(ports, comment, replies.may_not_unlock(comment.sender, command.verb))
    elsewhere = _elsewhere(ports, comment)
    if elsewhere:
        return _refuse(ports, comment, elsewhere)
    if command.scope:
        return _change_scope(ports, comment, command, permission)
    return _change_named(ports, comment, command, permission)


def _change_named(ports: Ports, comment: Comment, command: Command, permission: Permission) -> DeliveryOutcome:
    """Lock or unlock the queues of named roots, or else of those that the pull request changes."""
    known = [head.root_name for head in ports.repository_index.roots(comment.repository)]
    names = command.roots or _changed(ports, comment)
    if not names:
        return _refuse(ports, comment, chosen_roots_texts.nothing_changed(()))
    unknown = [name for name in names if name not in known] if command.roots else []
    if unknown:
        return _refuse(ports, comment, chosen_roots_texts.unknown_roots(unknown, known))
    told = [(name, _lock_changed(ports, comment, command, name, permission)) for name in names]
    text = " ".join(f"{name}: {decision.reason}" for name, decision in told)
    reply = replies.locks_changed(told, "🔒" if command.verb is Verb.LOCK else "🔓")
    if any(decision.done for _, decision in told):
        return outcome(text, answerer(ports.comments, comment).reply(reply))
    return explained(ports, comment, text, reply)


def _change_scope(ports: Ports, comment: Comment, command: Command, permission: Permission) -> DeliveryOutcome:
    """Lock or unlock a stack, or all roots of the repository."""
    may = may_lock_many(ports, comment.repository, command.scope, comment.sender, permission)
    if not may.done:
        return _refuse(ports, comment, f"**Nothing was {command.verb}ed.** {escaped(may.reason)}")
    at, where = comment.received_at, (comment.repository, command.scope)
    if command.verb is Verb.LOCK:
        decision = lock_many(ports, *where, _locking(comment, command))
    else:
        decision = unlock_many(ports, *where, Unlocking(comment.sender, at))
    reply = escaped(decision.reason)
    if decision.done:
        return outcome(decision.reason, answerer(ports.comments, comment).reply(reply))
    return explained(ports, comment, decision.reason, reply)


def _elsewhere(ports: Ports, comment: Comment) -> str:
    """Return why the pull request's branches do not count, in Markdown, or an empty text if they do."""
    pull_request = ports.pull_request_reader.pull_request(comment.repository, comment.pull_request)
    main = ports.commits.default_branch(comment.repository)
    if pull_request.base_branch == main:
        return ""  # Unlocking works even while the default branch's configuration is invalid.
    granted = read_granted(ports, comment.repository, pull_request.head_branch, pull_request.base_branch)
    return "" if granted.is_destination else replies.base_does_not_count(pull_request, main)


def _changed(ports: Ports, comment: Comment) -> Sequence[str]:
    """Return the names of the roots that the pull request or its merge changes."""
    pull_request = ports.pull_request_reader.pull_request(comment.repository, comment.pull_request)
    base = pull_request.base_branch
    if not pull_request.is_open:  # The branch may contain it by now, without any difference.
        base = ports.pull_request_reader.seen_pull_request(comment.repository, comment.pull_request).spec.base_sha
    change = ports.commits.change(comment.repository, base, pull_request.head_sha)
    with fetch_commit(ports, comment.repository, pull_request.head_sha, change.after) as trees:
        found = discover_roots(trees, Reading(comment.repository), by_hand=True)
        return [root.name for root in found.roots]


def _lock_changed(ports: Ports, comment: Comment, command: Command, name: str, permission: Permission) -> Decision:
    """Lock or unlock a queue, if the commenter may unlock it: by the rule of the deployment that locked it."""
    queue = queue_id(comment.repository, name)
    may = may_unlock(ports, queue, comment.sender, permission)
    if not may.done:
        return may
    if command.verb is Verb.LOCK:
        return lock_queue(ports, queue, _locking(comment, command))
    return unlock_queue(ports, queue, Unlocking(comment.sender, comment.received_at))


#: Carries out the other verbs. The function for buttons also decides reviews by comments.
_OTHERS: Mapping[Verb, Callable[[Ports, Comment, Command], DeliveryOutcome]] = {
    Verb.APPROVE: dispatch_comment,
    Verb.REJECT: dispatch_comment,
    Verb.PLAN: plan_by_comment,
    Verb.APPLY: apply_pull_request,
    Verb.CANCEL: cancel_by_comment,
    Verb.DESTROY: destroy_by_comment,
}


def _locking(comment: Comment, command: Command) -> Locking:
    return asked_lock(comment.sender, comment.received_at, command.reason, command.duration)


def _too_late(comment: Comment, pull_request: PullRequest, bound: str) -> str:
    if pull_request.merged:
        return replies.merged_already(comment.repository, pull_request)
    return replies.head_moved(bound, pull_request)


def _lacks(comment: Comment, command: Command, pull_request: PullRequest, missing: Missing) -> str:
    """Return the reply that names what prevents the command, or an empty text."""
    if missing.always or (missing.configured and not command.force):
        return replies.requirements_missing(pull_request, missing, comment.prefix)
    return ""


def _request(comment: Comment, command: Command, pull_request: PullRequest, authors: Authors) -> Request:
    return Request(
        comment.repository,
        Revision(pull_request.head_sha, pull_request.head_branch),
        Trigger.MANUAL,
        f"comment {comment.comment}",
        comment.sender,
        comment.received_at,
        authors,
        pull_request.number,
        command.force,
    )
