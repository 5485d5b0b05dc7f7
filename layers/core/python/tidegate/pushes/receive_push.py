"""Receive a push to the default branch: enqueue a deployment for every root that it changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from tidegate.config.declarations import Drift
from tidegate.config.loader import Around, always_reviewed
from tidegate.config.organization import Organization
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import UNKNOWN_BEFORE
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.deploys.rules.deployment import Deployment, Trigger
from tidegate.deploys.rules.freeze import Freeze
from tidegate.deploys.rules.requirements_gate import demanded
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.discovery.new_deployments import (
    ChangeEnqueuer,
    Hold,
    Request,
    holding,
    new_deployments,
    required_of,
    requiring,
)
from tidegate.discovery.root_index import Deployable, RootIndexes
from tidegate.discovery.texts.configuration_check import (
    external_id,
    render_invalid,
    render_left_behind,
    render_refused,
    render_valid,
)
from tidegate.ports import (
    Catalog,
    Deliveries,
    Delivery,
    DeliveryOutcome,
    Forge,
    KnownRepository,
    PullRequests,
    PushedTrees,
    SourceHistory,
)
from tidegate.pushes.check_merges import MergeCheck
from tidegate.pushes.missed_push import HEAD, missed_push
from tidegate.roots.rules.root import Revision, Root
from tidegate.rules.access import EVERYBODY
from tidegate.rules.errors import CyclicChange, ForgeRefused, InvalidConfiguration, NotFound
from tidegate.rules.moment import later
from tidegate.vcs.conclude import conclude
from tidegate.vcs.find_makers import pushed_by
from tidegate.vcs.rules.authors import UNKNOWN, Authors
from tidegate.vcs.rules.check_run import CheckRun
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.push import Push

#: How the newer commit of a push that was not forced compares with the older one.
_FOLLOWS = frozenset({Comparison.AHEAD, Comparison.IDENTICAL})
#: How long a push that nobody told of counts as before the one that showed it: its roots' stacks stand in between.
_BEFORE_MICROSECONDS = 1000


def _tell_nobody(*_told: object, **_named: object) -> None:
    return


class TellBaseMoved(Protocol):
    """Tells pull requests that their base branch moved on, and which roots that changed (None: any may be).

    ``rules`` say from now on where they are applied.
    """

    def __call__(
        self, known: KnownRepository, touched: Collection[str] | None, /, *, rules: ApplyRules, replans: bool
    ) -> None: ...


def _confirmed(push: Push) -> Push:
    return push


def _no_freezes(_known: KnownRepository, _freezes: tuple[Freeze, ...]) -> None:
    return None


def _no_sentences(*_told: object) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class PushReceiver:
    """Receives pushes, and heads that no push told of; receiving one again is harmless.

    ``reviewed_unless_granted`` returns a deployment whose plan waits for people unless somebody may deploy it.
    ``around`` tells what holds around a repository's file, ``records`` who pushed to its pull requests. ``hold`` stores
    the policy sets that plans are held against. ``keep_freezes`` keeps the file's freeze windows.
    ``schedule_drift`` lets the cloud's schedules be those of the file, and returns a sentence for each that is refused.
    ``tell_base_moved`` is told what the push changed.
    ``mark_orphans`` returns a sentence for each root that the push takes away, and of which something stays behind.
    ``confirm`` returns what a webhook told as the forge itself knows it, None if the forge knows of no such push.
    """

    deliveries: Deliveries
    forge: Forge
    history: SourceHistory
    catalog: Catalog
    changes: ChangeEnqueuer
    reviewed_unless_granted: Callable[[Deployment, str], Deployment]
    records: PullRequests
    hold: Hold
    around: Callable[[], Around] = always_reviewed
    indexes: RootIndexes = field(default_factory=RootIndexes)
    schedule_drift: Callable[[KnownRepository, Drift], Sequence[str]] = _no_sentences
    keep_freezes: Callable[[KnownRepository, tuple[Freeze, ...]], object] = _no_freezes
    tell_base_moved: TellBaseMoved = _tell_nobody
    confirm: Callable[[Push], Push | None] = _confirmed
    mark_orphans: Callable[[str, Collection[str], Iterable[Root], str, str], Sequence[str]] = _no_sentences

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the push.

        Raise ForgeUnavailable and ForgeRefused (a permission may be given, so that is tried again, too), and
        ExceptionGroup when roots could not be enqueued; all others then are.
        """
        push = _push(delivery)
        return conclude(self.deliveries, delivery.id, lambda: self._received(push))

    def _received(self, push: Push) -> DeliveryOutcome:
        confirmed = self.confirm(push) if push.told else push
        if confirmed is None:
            return DeliveryOutcome(f"The forge does not have {push.after} on {push.branch}: nothing is deployed.")
        return self._outcome(self._judged_forced(confirmed))

    def _judged_forced(self, push: Push) -> Push:
        """Return the push with whether it was forced, where its webhook does not tell: who adds commits forces none."""
        if push.forced is not None:
            return push
        is_first = not push.before.strip("0")
        forced = not is_first and self._compared(push, push.before, push.after) not in _FOLLOWS
        return replace(push, forced=forced)

    def _compared(self, push: Push, base: str, head: str) -> Comparison:
        return self.forge.compare(push.installation, push.repository, base, head)

    def _outcome(self, push: Push) -> DeliveryOutcome:
        """Look for lost pushes before this one is remembered: received again, it finds them again."""
        known = KnownRepository(push.repository, push.installation, push.branch, push.after, push.received_at)
        lost = self._lost(push)
        self.catalog.remember(known)
        outcome = self._deployed(replace(push, lost=lost), known)
        if not lost:
            return outcome
        told = f"What changed from {lost} to {push.before} was not told of; it is received as well."
        return replace(outcome, text=f"{outcome.text} {told}")

    def _lost(self, push: Push) -> str:
        """Store a delivery for pushes before this one that nobody told of. Return the commit that they begin at.

        It is not queued at once, as for heads (``CatchUpHeads``): such a push may only have been overtaken. What it
        deploys comes before what this push deploys, if that still waits; if not, what is contained is superseded.
        """
        known = self._seen_before(push)
        if known is None or not self._is_ahead(push, known):
            return ""
        self.deliveries.store(missed_push(known, push.before, _just_before(push.received_at)))
        return known.seen

    def _seen_before(self, push: Push) -> KnownRepository | None:
        """Return what is known of the repository if this push does not follow on it; a forced one need not."""
        if push.forced or not push.told or not push.before.strip("0"):
            return None
        try:
            known = self.catalog.repository(push.repository)
        except NotFound:
            return None
        return known if known.seen and known.seen not in {push.before, push.after} else None

    def _is_ahead(self, push: Push, known: KnownRepository) -> bool:
        """Tell whether the push began after what is known; otherwise it is this one that was overtaken."""
        return self._compared(push, known.seen, push.before) is Comparison.AHEAD

    def _deployed(self, push: Push, known: KnownRepository) -> DeliveryOutcome:
        try:
            discovery = self._discover(push)
            deployments = self._deployments(push, discovery)
        except NotFound:
            return DeliveryOutcome(f"The forge does not have the commit {push.after} any more: nothing is deployed.")
        except InvalidConfiguration as error:
            shown = self._show(push, render_invalid(push.after, error))
            return DeliveryOutcome(f"{error} Nothing is deployed. {shown}")
        self.keep_freezes(known, discovery.configuration.freezes)
        self.changes.enqueue_all(deployments)
        left = self._left_behind(push, discovery)
        check_run = _check_run(push, discovery, left)
        shown = self._show(push, check_run) if check_run else ""
        refused = self.schedule_drift(known, discovery.configuration.drift)
        rules, configured = discovery.configuration.applying, discovery.configuration.pull_requests
        self.tell_base_moved(known, _touched(discovery), rules=rules, replans=configured.replan_on_base_change)
        text = " ".join(part for part in (_sentences(discovery), *left, shown, *refused) if part)
        return DeliveryOutcome(text, tuple(deployment.id for deployment in deployments))

    def _left_behind(self, push: Push, discovery: Discovery) -> Sequence[str]:
        """Return what stays behind of roots that are gone."""
        if not discovery.gone:
            return ()
        there = discovery.index.found.roots
        return self.mark_orphans(push.repository, discovery.gone, there, push.after, push.received_at)

    def _discover(self, push: Push) -> Discovery:
        with self._fetch(push, push.before, push.after) as trees:
            reading = self._reading(push)
            # Another file around it, another index.
            place = push.repository, f"{push.branch}\n{_digest(reading.around)}"
            known = self.indexes.take(*place, push.before)
            discovery = discover_roots(trees, reading, known=known)
            self.indexes.keep(*place, push.after, discovery.index)
            return discovery

    def _fetch(self, push: Push, before: str, after: str) -> AbstractContextManager[PushedTrees]:
        token = self.forge.clone_token(push.installation, push.repository)
        return self.history.fetch(self.forge.clone_url(push.repository), token, before, after)

    def _reading(self, push: Push) -> Reading:
        configuring = partial(configure, branch=push.branch, dest_branch=push.branch)
        return Reading(push.repository, self.around(), configuring)

    def _rules_lost(self, push: Push) -> tuple[str, ...]:
        """Return what pushes that nobody told of change of the rules: what contains them is reviewed for that."""
        try:
            with self._fetch(push, push.lost, push.before) as trees:
                return discover_roots(trees, self._reading(push)).rule_changes
        except (NotFound, InvalidConfiguration, CyclicChange):
            return UNKNOWN_BEFORE

    def _deployments(self, push: Push, discovery: Discovery) -> list[Deployment]:
        if not discovery.members:
            return []
        request = Request(
            push.repository,
            push.installation,
            Revision(push.after, push.branch),
            Trigger.MERGE,
            _request(push),
            push.sender,
            push.received_at,
            self._authors(push, discovery),
        )
        # Before the first push of a repository there were no rules.
        changes = discovery.rule_changes if push.before.strip("0") else ()
        if push.lost:
            changes = tuple(dict.fromkeys((*changes, *self._rules_lost(push))))
        required = required_of(discovery.configuration, discovery.members)
        deployments = requiring(new_deployments(request, discovery.members), required)
        held = holding(self.hold, request, discovery.configuration, discovery.members, deployments)
        pushed = push.pushed
        if any(map(demanded, held)):
            where = push.installation, push.repository
            pushed = tuple(MergeCheck(self.forge, self.history).checked(where, each) for each in pushed)
        back = [(each.root.name, each.stack) in discovery.returning for each in held]
        known = [replace(each, pushed=pushed, returns=it) for each, it in zip(held, back, strict=True)]
        return self._reviewed(push, [replace(each, rule_changes=changes) for each in known])

    def _reviewed(self, push: Push, deployments: list[Deployment]) -> list[Deployment]:
        """Let plans wait for people where who merged may not deploy: each rule is judged once."""
        judged: dict[object, Deployment] = {}
        for each in deployments:
            rule = each.access, each.review_rule, each.stack
            judged[rule] = judged.get(rule) or self._judged(push, each)
        rules = [judged[each.access, each.review_rule, each.stack].review_rule for each in deployments]
        return [replace(each, review_rule=rule) for each, rule in zip(deployments, rules, strict=True)]

    def _judged(self, push: Push, each: Deployment) -> Deployment:
        """Judge one. If nobody knows who made the push, only what everybody may deploy is theirs."""
        if push.told and push.sender_known:
            return self.reviewed_unless_granted(each, push.sender)
        if each.access is None or EVERYBODY in each.access.apply:
            return each
        return replace(each, review_rule=replace(each.review_rule, when=PlanReview.ALWAYS))

    def _authors(self, push: Push, discovery: Discovery) -> Authors:
        """Return who made the change: the commits and, where it matters, the pull request and what was pushed to it."""
        made = self._made(push)
        if not any(each.configured.review_rule.exclude_authors for each in discovery.members):
            return made
        try:
            found = self.forge.pull_requests_of(push.installation, push.repository, push.after)
        except NotFound:
            return made.and_also(UNKNOWN)
        for spec in (each.spec for each in found):
            pushed = pushed_by(self.records, spec.repository, spec.number, spec.head_sha)
            made = made.and_also(Authors((spec.author,))).and_also(pushed)
        return made

    def _made(self, push: Push) -> Authors:
        """Return who made the commits; the forge is asked only if the delivery does not tell."""
        if push.authors is not None:
            return Authors(push.authors)
        where = push.installation, push.repository
        try:
            if not push.before.strip("0"):
                return self.forge.authors(*where, push.after)
            return self.forge.change(*where, push.before, push.after).authors
        except NotFound:
            return UNKNOWN

    def _show(self, push: Push, check_run: CheckRun) -> str:
        """Show the check run on the commit, once. Return what to add to the outcome when the forge refuses it."""
        where = push.installation, push.repository
        try:
            shown = self.forge.find_check_run(*where, push.after, external_id(push.after))
            if shown is None:
                self.forge.create_check_run(*where, check_run)
            else:
                self.forge.update_check_run(*where, shown, replace(check_run, annotations=()))  # It has them.
        except ForgeRefused as error:
            return f"The check run could not be shown: {error}"
        return ""


def _touched(discovery: Discovery) -> Collection[str] | None:
    """Return the names of the roots that changed; all may have, where the file changes what runs or grants."""
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


def _just_before(at: str) -> str:
    """Return a moment before: what was pushed earlier goes first, and does not count as the newest commit."""
    return later(at, -_BEFORE_MICROSECONDS)


def _check_run(push: Push, discovery: Discovery, left: Sequence[str]) -> CheckRun | None:
    """Return what is to be said of the configuration: what of it is refused, that it is in order, or what it skips.

    ``left`` says which roots are gone, and what stays behind of them.
    """
    if discovery.refused:
        return render_refused(push.after, discovery.refused)
    if not discovery.configures and not discovery.skips:
        return render_left_behind(push.after, left) if left else None
    names = [_name(each) for each in discovery.members]
    stacks = len({each.member.stack for each in discovery.members})
    return render_valid(push.after, names, stacks, (*discovery.warnings, *discovery.notes, *left))


def _request(push: Push) -> str:
    """Return what tells this request from others for the same commit.

    A forced push may bring back a commit that was deployed before: that is a new request, while the
    same push in another delivery is not.
    """
    return f"forced from {push.before}" if push.forced else Trigger.MERGE


def _sentences(discovery: Discovery) -> str:
    names = ", ".join(_name(each) for each in discovery.members)
    enqueued = f"Enqueued: {names}." if names else "No root is changed by this push."
    return " ".join([enqueued, *discovery.notes, *discovery.refused])


def _name(each: Deployable) -> str:
    """Return the name of a root, with its stack where it has several."""
    name = each.member.root.name
    return f"{name} ({each.member.stack})" if each.configured.shared else name
