"""Process a push to the default branch: enqueue a deployment for every root that it changed.

A repeated push is harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from tidegate.config.loader import Around
from tidegate.config.organization import Organization
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import UNKNOWN_BEFORE
from tidegate.config_updates.receive_checks import wake_queue
from tidegate.deploys.authorize import reviewed_unless_granted
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.requirements_gate import demanded
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.confirm_webhook import confirm_push
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.discovery.new_deployments import (
    Request,
    enqueue_change,
    holding,
    new_deployments,
    required_of,
    requiring,
)
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.texts.configuration_check import (
    external_id,
    render_invalid,
    render_left_behind,
    render_refused,
    render_valid,
)
from tidegate.drift.align_drift import align_drift
from tidegate.gates.freezes import keep_freezes
from tidegate.notifications.keep_subscriptions import keep_subscriptions
from tidegate.ports import (
    Delivery,
    DeliveryOutcome,
    KnownRepository,
    Ports,
    PushedTrees,
    RepositoryNames,
)
from tidegate.pull_requests.notify_base_moved import notify_base_moved
from tidegate.pushes.applied_before import AppliedBefore
from tidegate.pushes.check_merges import check_merges
from tidegate.pushes.mark_orphans import mark_orphans
from tidegate.pushes.missed_push import HEAD, missed_push
from tidegate.roots.rules.root import Revision
from tidegate.rules.access import EVERYBODY
from tidegate.rules.errors import CyclicChange, ForgeRefused, InvalidConfiguration, NotFound
from tidegate.vcs.conclude import conclude
from tidegate.vcs.find_makers import pushed_by
from tidegate.vcs.rules.authors import UNKNOWN, Authors
from tidegate.vcs.rules.check_run import CheckRun
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.push import Push

#: Comparisons of an unforced push's new commit with the old one.
_FOLLOWS = frozenset({Comparison.AHEAD, Comparison.IDENTICAL})
#: Time between a missed push and the one that revealed it: stacks of its roots fit in between.
_BEFORE_MICROSECONDS = 1000


def receive_push(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the push, and store it with the delivery.

    Raise ForgeUnavailable and ForgeRefused (which is retried, because a permission may be given), and ExceptionGroup if
    roots could not be enqueued; all others are then.
    """
    push = _push(delivery)
    return conclude(ports.deliveries, delivery.id, lambda: _received(ports, push))


def _received(ports: Ports, push: Push) -> DeliveryOutcome:
    confirmed = confirm_push(ports, push) if push.told else push
    if confirmed is None:
        return DeliveryOutcome(f"{push.after} is not on {push.branch}. Nothing is deployed.")
    wake_queue(ports, push.repository)
    return _outcome(ports, _judged_forced(ports, confirmed))


def _judged_forced(ports: Ports, push: Push) -> Push:
    """Return the push with whether it was forced, if its webhook does not tell: a fast-forward is not."""
    if push.forced is not None:
        return push
    is_first = not push.before.strip("0")
    forced = not is_first and _compared(ports, push, push.before, push.after) not in _FOLLOWS
    return replace(push, forced=forced)


def _compared(ports: Ports, push: Push, base: str, head: str) -> Comparison:
    return ports.commits.compare(push.repository, base, head)


def _outcome(ports: Ports, push: Push) -> DeliveryOutcome:
    """Search missed pushes before this one is recorded: a repeated delivery finds them again."""
    known = KnownRepository(push.repository, push.branch, push.after, push.received_at)
    lost = _lost(ports, push)
    ports.repository_index.remember(known)
    outcome = _deployed(ports, replace(push, lost=lost), known)
    if not lost:
        return outcome
    told = f"The webhook for the changes from {lost} to {push.before} never arrived. Tidegate handles them now."
    return replace(outcome, text=f"{outcome.text} {told}")


def _lost(ports: Ports, push: Push) -> str:
    """Store a delivery for missed pushes before this one. Return the commit before them.

    It is not queued immediately, as for heads (``catch_up_heads``): such a push may only be late. Its deployments come
    before this push's, if those still wait; otherwise they are superseded if contained.
    """
    known = _seen_before(ports, push)
    if known is None or not _is_ahead(ports, push, known):
        return ""
    ports.deliveries.store(missed_push(known, push.before, _just_before(push.received_at)))
    return known.seen


def _seen_before(ports: Ports, push: Push) -> KnownRepository | None:
    """Return the known repository if this push does not follow on it; a forced one need not."""
    if push.forced or not push.told or not push.before.strip("0"):
        return None
    try:
        known = ports.repository_index.repository(push.repository)
    except NotFound:
        return None
    return known if known.seen and known.seen not in {push.before, push.after} else None


def _is_ahead(ports: Ports, push: Push, known: KnownRepository) -> bool:
    """Tell whether the push began after the known commit; otherwise this push itself is late."""
    return _compared(ports, push, known.seen, push.before) is Comparison.AHEAD


def _deployed(ports: Ports, push: Push, known: KnownRepository) -> DeliveryOutcome:
    try:
        discovery = _discover(ports, push)
        deployments = _deployments(ports, push, discovery)
    except NotFound:
        return DeliveryOutcome(f"The commit {push.after} no longer exists in the repository. Nothing is deployed.")
    except InvalidConfiguration as error:
        shown = _show(ports, push, render_invalid(push.after, error))
        return DeliveryOutcome(f"{error} Nothing is deployed. {shown}")
    keep_freezes(ports, known, discovery.configuration.freezes)
    ports.repository_index.keep_names(_names(push.repository, discovery))
    keep_subscriptions(ports, known, discovery.configuration.notifications)
    enqueue_change(ports, deployments, AppliedBefore(ports).enqueue)
    left = _left_behind(ports, push, discovery)
    check_run = _check_run(push, discovery, left)
    shown = _show(ports, push, check_run) if check_run else ""
    refused = align_drift(ports, known, discovery.configuration.drift)
    rules, configured = discovery.configuration.applying, discovery.configuration.pull_requests
    notify_base_moved(ports, known, _touched(discovery), rules=rules, replans=configured.replan_on_base_change)
    text = " ".join(part for part in (_sentences(discovery), *left, shown, *refused) if part)
    return DeliveryOutcome(text, tuple(deployment.id for deployment in deployments))


def _names(repository: str, discovery: Discovery) -> RepositoryNames:
    """Return what searches find of a repository."""
    configuration = discovery.configuration
    return RepositoryNames(
        repository,
        discovery.all_roots.names,
        tuple(sorted(each.definition.name for each in configuration.stacks)),
        tuple(sorted(each.root.name for each in configuration.clusters)),
    )


def _left_behind(ports: Ports, push: Push, discovery: Discovery) -> Sequence[str]:
    """Return the remaining resources of gone roots."""
    if not discovery.gone:
        return ()
    there = discovery.index.found.roots
    return mark_orphans(ports, push.repository, discovery.gone, there, push.after, push.received_at)


def _discover(ports: Ports, push: Push) -> Discovery:
    with _fetch(ports, push, push.before, push.after) as trees:
        reading = _reading(ports, push)
        # Another surrounding configuration, another index.
        place = push.repository, f"{push.branch}\n{_digest(reading.around)}"
        known = ports.root_indexes.take(*place, push.before)
        discovery = discover_roots(trees, reading, known=known)
        ports.root_indexes.keep(*place, push.after, discovery.index)
        return discovery


def _fetch(ports: Ports, push: Push, before: str, after: str) -> AbstractContextManager[PushedTrees]:
    token = ports.clone_tokens.clone_token(push.repository)
    return ports.history.fetch(ports.addresses.clone_url(push.repository), token, before, after)


def _reading(ports: Ports, push: Push) -> Reading:
    configuring = partial(configure, branch=push.branch, dest_branch=push.branch)
    return Reading(push.repository, ports.organization(), configuring)


def _rules_lost(ports: Ports, push: Push) -> tuple[str, ...]:
    """Return the rule changes of missed pushes: deployments that contain them are reviewed."""
    try:
        with _fetch(ports, push, push.lost, push.before) as trees:
            return discover_roots(trees, _reading(ports, push)).rule_changes
    except (NotFound, InvalidConfiguration, CyclicChange):
        return UNKNOWN_BEFORE


def _deployments(ports: Ports, push: Push, discovery: Discovery) -> list[Deployment]:
    if not discovery.members:
        return []
    request = Request(
        push.repository,
        Revision(push.after, push.branch),
        Trigger.MERGE,
        _request(push),
        push.sender,
        push.received_at,
        _authors(ports, push, discovery),
    )
    # Before the first push of a repository there were no rules.
    changes = discovery.rule_changes if push.before.strip("0") else ()
    if push.lost:
        changes = tuple(dict.fromkeys((*changes, *_rules_lost(ports, push))))
    required = required_of(discovery.configuration, discovery.members)
    deployments = requiring(new_deployments(request, discovery.members), required)
    held = holding(ports, request, discovery.configuration, discovery.members, deployments)
    pushed = push.pushed
    if any(map(demanded, held)):
        pushed = tuple(check_merges(ports, push.repository, each) for each in pushed)
    back = [(each.root.name, each.stack) in discovery.returning for each in held]
    known = [
        replace(each, commits=replace(each.commits, pushed=pushed, returns=it))
        for each, it in zip(held, back, strict=True)
    ]
    return _reviewed(
        ports, push, [replace(each, commits=replace(each.commits, rule_changes=changes)) for each in known]
    )


def _reviewed(ports: Ports, push: Push, deployments: list[Deployment]) -> list[Deployment]:
    """Require reviews if the person who merged may not deploy: each rule is evaluated once."""
    judged: dict[object, Deployment] = {}
    for each in deployments:
        rule = each.settings.access, each.settings.review_rule, each.stack
        judged[rule] = judged.get(rule) or _judged(ports, push, each)
    rules = [
        judged[each.settings.access, each.settings.review_rule, each.stack].settings.review_rule for each in deployments
    ]
    return [
        replace(each, settings=replace(each.settings, review_rule=rule))
        for each, rule in zip(deployments, rules, strict=True)
    ]


def _judged(ports: Ports, push: Push, each: Deployment) -> Deployment:
    """Evaluate one. If the pusher is unknown, they only have everybody's permissions."""
    if push.told and push.sender_known:
        return reviewed_unless_granted(ports, each, push.sender)
    if each.settings.access is None or EVERYBODY in each.settings.access.apply:
        return each
    return replace(
        each, settings=replace(each.settings, review_rule=replace(each.settings.review_rule, when=PlanReview.ALWAYS))
    )


def _authors(ports: Ports, push: Push, discovery: Discovery) -> Authors:
    """Return the authors: of the commits and, if needed, of the pull request and its pushes."""
    made = _made(ports, push)
    if not any(each.configured.review_rule.exclude_authors for each in discovery.members):
        return made
    try:
        found = ports.pull_request_reader.pull_requests_of(push.repository, push.after)
    except NotFound:
        return made.and_also(UNKNOWN)
    for spec in (each.spec for each in found):
        pushed = pushed_by(ports.pull_requests, spec.repository, spec.number, spec.head_sha)
        made = made.and_also(Authors((spec.author,))).and_also(pushed)
    return made


def _made(ports: Ports, push: Push) -> Authors:
    """Return the commits' authors; ask the VCS provider only if the delivery lacks them."""
    if push.authors is not None:
        return Authors(push.authors)
    try:
        if not push.before.strip("0"):
            return ports.commits.authors(push.repository, push.after)
        return ports.commits.change(push.repository, push.before, push.after).authors
    except NotFound:
        return UNKNOWN


def _show(ports: Ports, push: Push, check_run: CheckRun) -> str:
    """Publish the check run on the commit, once. Return an addition to the result if that is refused."""
    publisher = ports.check_run_publisher
    try:
        shown = publisher.find_check_run(push.repository, push.after, external_id(push.after))
        if shown is None:
            publisher.create_check_run(push.repository, check_run)
        else:  # It has its annotations.
            publisher.update_check_run(push.repository, shown, replace(check_run, annotations=()))
    except ForgeRefused as error:
        return f"The check could not be shown: {error}"
    return ""


def _touched(discovery: Discovery) -> Collection[str] | None:
    """Return the names of the changed roots; all, if the configuration changes what runs or grants."""
    if discovery.configures and discovery.rule_changes:
        return None
    return {*(root.name for root in discovery.roots), *discovery.kept}


def _digest(around: Around) -> str:
    return around.digest if isinstance(around, Organization) else ""


def _push(delivery: Delivery) -> Push:
    fields = dict(delivery.fields)
    authors = fields.pop("authors", None)
    known = None if authors is None else tuple(authors)
    told = delivery.event != HEAD
    return Push(delivery=delivery.id, received_at=delivery.received_at, authors=known, told=told, **fields)


def _just_before(at: datetime) -> datetime:
    """Return a time just before: an earlier push goes first, and is not the newest commit."""
    return at - timedelta(microseconds=_BEFORE_MICROSECONDS)


def _check_run(push: Push, discovery: Discovery, left: Sequence[str]) -> CheckRun | None:
    """Return the check run of the configuration: refusals, that it is valid, or what it skips.

    ``left`` says which roots are gone, and which resources remain.
    """
    if discovery.refused:
        return render_refused(push.after, discovery.refused)
    if not discovery.configures and not discovery.skips:
        return render_left_behind(push.after, left) if left else None
    names = [_name(each) for each in discovery.members]
    stacks = len({each.member.stack for each in discovery.members})
    return render_valid(push.after, names, stacks, (*discovery.warnings, *discovery.notes, *left))


def _request(push: Push) -> str:
    """Return the id of this request among those for the same commit.

    A forced push may restore a deployed commit: that is a new request, but the same push in another delivery is not.
    """
    return f"forced from {push.before}" if push.forced else Trigger.MERGE


def _sentences(discovery: Discovery) -> str:
    names = ", ".join(_name(each) for each in discovery.members)
    enqueued = f"Enqueued: {names}." if names else "This push changes no root."
    return " ".join([enqueued, *discovery.notes, *discovery.refused])


def _name(each: Deployable) -> str:
    """Return a root's name, with its stack if it has several."""
    name = each.member.root.name
    return f"{name} ({each.member.stack})" if each.configured.shared else name
