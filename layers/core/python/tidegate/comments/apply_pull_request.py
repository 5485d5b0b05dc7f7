"""Carry out ``tidegate apply``: deploy the merge result of a pull request before its merge, if nothing is missing.

The same comment again enqueues the same deployments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.changes.rules.change_set import Key
from tidegate.comments.answer_comment import Comment, answerer, outcome, refused
from tidegate.comments.rules.command import Command
from tidegate.comments.texts import replies as comment_replies
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.deploys.authorize import access_refusals
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.lock_text import keeps_out, locked_until
from tidegate.discovery.chosen_roots import Head, chosen_roots
from tidegate.discovery.find_repeats import Repeat, enqueue_once, find_repeats
from tidegate.discovery.new_deployments import Request, accesses, new_deployments, of_head
from tidegate.discovery.repository_source import Granted, read_granted
from tidegate.gates.check_requirements import RequirementsChecker
from tidegate.policies.rules.apply_requirements import always_missing, may_not_write
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.ports import (
    Change,
    DeliveryOutcome,
    Ports,
)
from tidegate.pull_requests.evaluate_policies import evaluate_policies
from tidegate.pull_requests.receive_pull_request import follow_pull_request
from tidegate.pull_requests.rules import apply_replies
from tidegate.pull_requests.rules.record import Applying, PullRequestRecord
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root import Revision
from tidegate.rules.access import Action
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.permission import Permission
from tidegate.texts.markdown import code, escaped
from tidegate.vcs.find_makers import pushed_by
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest

#: Policy sets by root and stack.
_Held = Mapping[Key, tuple[PolicySetStatus, ...]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A comment's request, with its data as of one time."""

    comment: Comment
    command: Command
    pull_request: PullRequest
    granted: Granted


def apply_pull_request(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    pull_request = ports.pull_request_reader.pull_request(comment.repository, comment.pull_request)
    bound = ports.deliveries.bind(comment.delivery, pull_request.head_sha)
    granted = read_granted(ports, comment.repository, pull_request.head_branch, pull_request.base_branch)
    asked = _Asked(comment, command, pull_request, granted)
    reply = _not_here(asked, bound)
    if reply:
        return refused(ports, comment, reply)
    missing = _always(ports, asked)
    if missing:
        return _refuse(ports, asked, missing)
    # It is merged with the base branch's current commit, whatever comes meanwhile.
    base = ports.commits.branch_head(comment.repository, pull_request.base_branch)
    change = ports.commits.change(comment.repository, base, pull_request.head_sha)
    names = command.roots
    head = Head(comment.repository, pull_request.head_sha, change.after)
    members = chosen_roots(ports, head, granted, PlanRequest("", comment.sender, names), by_hand=bool(names))
    if isinstance(members, str):
        return refused(ports, comment, _both(_lacks_of_all(ports, asked), members))
    pushed = pushed_by(ports.pull_requests, comment.repository, comment.pull_request, pull_request.head_sha)
    deployments = new_deployments(_request(asked, change, base, pushed), members)
    return _applied(ports, asked, deployments)


def _applied(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> DeliveryOutcome:
    """Enqueue the deployments unless something is missing. The record has them before any work starts."""
    held, by_policies = _policies(ports, asked, deployments)
    repeats = find_repeats(ports, deployments)
    missing = [
        *_people(ports, asked, deployments),
        *_required(ports, asked, deployments),
        *_locks(ports, asked, deployments),
        *_told(ports, asked, repeats),
        *by_policies,
        *_otherwise_shown(ports, asked, deployments),
    ]
    if missing:
        if repeats:  # An interrupted call may have recorded and not enqueued it.
            _step_back(ports, asked, deployments, [_applying(each, earlier) for each, earlier in repeats])
        return _refuse(ports, asked, missing)
    # The apply makes a new plan, perhaps with another result: the same sets evaluate it.
    deployments = of_head(deployments, asked.granted)
    deployments = [
        replace(each, policies=replace(each.policies, sets=held.get((each.root.name, each.stack), ())))
        for each in deployments
    ]
    before = _remember(ports, asked, deployments)
    repeats = enqueue_once(ports, deployments)
    if repeats:
        _step_back(ports, asked, deployments, before)
        return _refuse(ports, asked, [*_told(ports, asked, repeats)])
    names = list(dict.fromkeys(each.root.name for each in deployments))
    accepted = answerer(ports.comments, asked.comment).accept()
    ids = tuple(each.id for each in deployments)
    return outcome(f"Enqueued: {', '.join(names)}.", accepted, deployments=ids)


def _refuse(ports: Ports, asked: _Asked, missing: Sequence[str]) -> DeliveryOutcome:
    reply = apply_replies.apply_missing(asked.pull_request, missing, asked.comment.prefix)
    return refused(ports, asked.comment, reply)


def _always(ports: Ports, asked: _Asked) -> Sequence[str]:
    """Return what is missing for any root, without naming the roots."""
    comment, always = asked.comment, always_missing(asked.pull_request)
    least = Permission.WRITE if asked.granted.configuration.policies is None else Permission.READ
    if ports.people.permission(comment.repository, comment.sender) < least:
        return (may_not_write(comment.sender), *always)
    return always


def _people(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> Iterator[str]:
    comment = asked.comment
    refusals = access_refusals(ports, accesses(deployments), comment.repository, Action.APPLY, comment.sender)
    return map(escaped, refusals)


def _lacks_of_all(ports: Ports, asked: _Asked) -> str:
    """Return what is missing also for wrongly named roots, as a reply, or an empty text."""
    missing = () if asked.granted.configuration.checks else _required(ports, asked, ())
    return apply_replies.apply_missing(asked.pull_request, missing, asked.comment.prefix) if missing else ""


def _required(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> Sequence[str]:
    checker, configuration = RequirementsChecker(ports), asked.granted.configuration
    if configuration.checks is None:
        return checker.for_all(asked.comment.repository, asked.pull_request, configuration.requirements)
    keys = [(each.root.name, each.stack) for each in deployments]
    required = {key: asked.granted.requirements[key] for key in keys}
    return checker.by_root(asked.comment.repository, asked.pull_request, required)


def _locks(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> Iterator[str]:
    """Yield which queues are locked by others, such as other applied pull requests."""
    for name, queue in dict.fromkeys((each.root.name, each.queue) for each in deployments):
        lock = ports.queues.read(queue)[0].lock
        if lock is not None and keeps_out(lock, asked.pull_request.number):
            yield locked_until(name, lock, asked.comment.prefix, name=code, prose=escaped)


def _told(ports: Ports, asked: _Asked, repeats: Sequence[Repeat]) -> Iterator[str]:
    """Yield what was requested before and has not ended."""
    for each, earlier in repeats:
        checks = ports.addresses.pull_request_checks_url(asked.comment.repository, asked.pull_request.number)
        yield comment_replies.already_queued(each, earlier, checks)


def _policies(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> tuple[_Held, Sequence[str]]:
    """Return the policy sets of each root in its stack, and what they lack by the published plans."""
    if not asked.granted.configuration.policy_sets:
        return {}, ()
    record = _record(ports, asked)
    spec, pull_request = record.spec, asked.pull_request
    now = pull_request.head_sha, pull_request.base_branch
    if record.discovered != spec.revision or (spec.head_sha, spec.base) != now:
        return {}, [apply_replies.not_planned_yet(pull_request)]
    # A plan with options, such as for one resource, may omit what a policy refuses; a stopped one does not count.
    layers = ports.speculative_plans.many(record.layers)
    whole = [each for each in layers if not each.options and each.state is not LayerState.CANCELLED]
    planned = {(each.root.name, each.stack): each for each in whole}
    keys = {(each.root.name, each.stack): None for each in deployments}
    unknown = dict.fromkeys(root for root, stack in keys if (root, stack) not in planned)
    judged = [layer for key, layer in planned.items() if key in keys]
    missing = [apply_replies.without_plan(root, asked.comment.prefix) for root in unknown]
    held = {key: layer.policy_sets for key, layer in planned.items() if key in keys}
    return held, [*missing, *_held_up(ports, record, judged)]


def _held_up(ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan]) -> Iterator[str]:
    policy_statuses = evaluate_policies(ports, record.spec, layers, record.rule_changes)
    return (apply_replies.held_up(each) for each in policy_statuses if each.blocks)


def _otherwise_shown(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> Iterator[str]:
    """Yield roots that would be deployed otherwise than their plan shows."""
    record = _record(ports, asked)
    shown = {
        (each.root.name, each.stack): each for each in ports.speculative_plans.many(record.layers) if not each.options
    }
    for each in deployments:
        layer = shown.get((each.root.name, each.stack))
        how = each.root, each.settings.run, each.request.destroy is not None
        if layer is not None and (layer.root, layer.run, layer.destroy) != how:
            yield apply_replies.otherwise_shown(each.root.name)


def _record(ports: Ports, asked: _Asked) -> PullRequestRecord:
    """Return the pull request's record, missing if it is older than the installation."""
    number = asked.pull_request.number
    if not ports.pull_requests.many([(asked.comment.repository, number)]):
        follow_pull_request(ports, asked.comment.repository, number)
    return ports.pull_requests.get(asked.comment.repository, number)


def _remember(ports: Ports, asked: _Asked, deployments: Sequence[Deployment]) -> Sequence[Applying]:
    """Record the deployments; return the previously recorded ones."""
    applies = [_applying(each, each) for each in deployments]
    return deciding_again(partial(_save, ports, asked, asked.granted.configuration.applying, applies))


def _save(ports: Ports, asked: _Asked, rules: ApplyRules, applies: Sequence[Applying]) -> Sequence[Applying]:
    record = _record(ports, asked)
    newest = {each.key: each for each in (*record.applies, *applies)}
    saved = replace(record, rules=rules, applies=tuple(newest.values()))
    if saved != record:
        ports.pull_requests.save(saved)
    return record.applies


def _step_back(ports: Ports, asked: _Asked, deployments: Sequence[Deployment], others: Sequence[Applying]) -> None:
    """Replace deployments in the record that are not enqueued, if it has these."""
    ours, instead = {each.id for each in deployments}, {each.key: each for each in others}

    def save() -> None:
        record = _record(ports, asked)
        named = [instead.get(each.key) if each.deployment in ours else each for each in record.applies]
        applies = tuple(each for each in named if each is not None)
        if applies != record.applies:
            ports.pull_requests.save(replace(record, applies=applies))

    deciding_again(save)


def _applying(wanted: Deployment, does: Deployment) -> Applying:
    """Return that a deployment does what is wanted of a root in its stack."""
    return Applying(wanted.root.name, wanted.stack, does.id)


def _not_here(asked: _Asked, bound: str) -> str:
    """Return why this pull request cannot be applied by anybody, or an empty text."""
    pull_request, granted = asked.pull_request, asked.granted
    if pull_request.merged:
        return comment_replies.merged_already(asked.comment.repository, pull_request)
    if not granted.configuration.applying.in_pull_request:
        return apply_replies.applied_on_merge(asked.comment.prefix, from_fork=pull_request.from_fork)
    if bound != pull_request.head_sha:
        return comment_replies.head_moved(bound, pull_request)
    if not granted.is_destination:
        return comment_replies.base_does_not_count(pull_request, granted.main)
    return ""


def _both(one: str, other: str) -> str:
    return "\n\n".join(filter(None, (one, other)))


def _request(asked: _Asked, change: Change, base: str, pushed: Authors) -> Request:
    comment, pull_request = asked.comment, asked.pull_request
    return Request(
        comment.repository,
        Revision(pull_request.head_sha, pull_request.head_branch),
        Trigger.MANUAL,
        f"comment {comment.comment}",
        comment.sender,
        comment.received_at,
        Authors((pull_request.author,)).and_also(pushed).and_also(change.authors),
        pull_request.number,
        base_sha=base,
        fork_sha=change.fork_sha,
    )
