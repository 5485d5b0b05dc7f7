"""Receive what happens to a pull request: keep its record, and see that an execution works on its newest commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from tidegate.deploys.rules.approval import asked_for
from tidegate.ports import (
    Announcements,
    Catalog,
    Clock,
    Deliveries,
    Delivery,
    DeliveryOutcome,
    Forge,
    KnownRepository,
    PullRequestChecks,
    PullRequests,
    TemporaryLayers,
    Workflows,
)
from tidegate.pull_requests.close_pull_request import PullRequestCloser, PullRequestStopper
from tidegate.pull_requests.rules.record import (
    PullRequestRecord,
    PullRequestState,
    anew,
    asked,
    first_record,
    followed,
    judged,
    stands_where,
)
from tidegate.pull_requests.tell_base_moved import BASE_MOVED
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest
from tidegate.vcs.rules.pushers import HeadPush, and_pushes

#: Why what works on the same commit is stopped.
_AGAIN = "It is planned again."
#: When a repository was told of of which no push was received yet: before any push.
_BEFORE_ALL = "1970-01-01T00:00:00.000000+00:00"


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is wanted besides that the record follows the forge."""

    again: bool = False
    request: PlanRequest | None = None
    pushes: Sequence[HeadPush] = ()

    def of(self, record: PullRequestRecord) -> _Wish:
        """Return what is still to be done: a request that the record has was received before."""
        is_known = self.request is not None and record.request is not None and record.request.id == self.request.id
        return _Wish() if is_known else self

    def moves(self, record: PullRequestRecord) -> bool:
        """Whether it takes the base branch as it is now: not if plans are kept, which are of an older commit of it."""
        if self.request is None:
            return self.again
        return not (self.request.is_partial and record.layers)


class WhenClosed(Protocol):
    """Does what is to be done once a pull request is closed. Once more is harmless."""

    def __call__(self, record: PullRequestRecord, *, merged: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class PullRequestFollower:
    """Brings records to what the forge has now, whatever told of it and in whichever order. Once more is harmless.

    What an older commit left is ended before the record is saved, what the newer one needs is begun after: whoever
    dies in between finds by the record where to go on. ``after_apply`` ends what an apply left open, ``tell_closed``
    says in comments that it is over. ``catalog`` hears of repositories of which no push was received yet, so that their
    pages are found.
    """

    records: PullRequests
    layers: TemporaryLayers
    forge: Forge
    workflows: Workflows
    checks: PullRequestChecks
    stopper: PullRequestStopper
    closer: PullRequestCloser
    clock: Clock
    tell_closed: WhenClosed
    after_apply: WhenClosed | None = None
    catalog: Catalog | None = None

    def follow(
        self,
        installation: int,
        repository: str,
        number: int,
        *,
        again: bool = False,
        request: PlanRequest | None = None,
        pushes: Sequence[HeadPush] = (),
    ) -> str:
        """Return in sentences what became of it. ``again`` plans the commit once more, with the base branch as it is.

        A ``request`` asks for that, too, once; of only some roots, as long as others have plans, on the same commit of
        the base branch. ``pushes`` are those of its head that were told of.
        Raise ForgeUnavailable and ForgeRefused, and Conflict when others write all the time.
        """
        return deciding_again(partial(self._follow, installation, repository, number, _Wish(again, request, pushes)))

    def known(self, repository: str, number: int) -> PullRequestRecord | None:
        """Return the record, None if there is none."""
        try:
            return self.records.get(repository, number)
        except NotFound:
            return None

    def _follow(self, installation: int, repository: str, number: int, wish: _Wish) -> str:
        """Look at the record first, then at the forge: if the record can be saved, nobody saw anything newer."""
        record = self.known(repository, number)
        try:
            seen = self.forge.seen_pull_request(installation, repository, number)
        except NotFound as error:
            return self._closed(record, str(error), merged=False)
        if not seen.is_open:
            return self._closed(record, "The pull request is closed.", merged=seen.merged, merge_sha=seen.merge_sha)
        return self._opened(record, seen, wish)

    def _closed(self, record: PullRequestRecord | None, found: str, *, merged: bool, merge_sha: str = "") -> str:
        if record is None:
            return found
        was_open = record.is_open
        if was_open:
            record = self.closer.close(record, merged=merged, merge_sha=merge_sha)
        if record.applies and self.after_apply is not None:
            self.after_apply(record, merged=merged)
        self.tell_closed(record, merged=merged)
        return f"{found} Its layers were removed." if was_open else found

    def _opened(self, record: PullRequestRecord | None, seen: SeenPullRequest, wish: _Wish) -> str:
        wanted = self._wanted(record, seen, wish)
        wanted = replace(wanted, spec=replace(wanted.spec, pushes=and_pushes(wanted.spec.pushes, wish.pushes)))
        if record is not None and wanted.execution == record.execution:
            self._keep(record, wanted)
            return "Nothing else is to be planned."
        if record is None:
            self._remember(wanted.spec)
        elif record.is_open:
            self.stopper.stop(record, _reason(record, wanted))
        self._begin(self.save(wanted))
        return f"{wanted.spec.head_sha[:7]} is being planned."

    def _remember(self, spec: PullRequestSpec) -> None:
        """Let the catalog know the repository, if it does not: whatever push is received counts as newer."""
        if self.catalog is None:
            return
        try:
            self.catalog.repository(spec.repository)
        except NotFound:
            main = self.forge.default_branch(*spec.where)
            self.catalog.remember(KnownRepository(spec.repository, spec.installation, main, "", _BEFORE_ALL))

    def _wanted(self, record: PullRequestRecord | None, seen: SeenPullRequest, wish: _Wish) -> PullRequestRecord:
        if record is None:
            return replace(first_record(seen, self._base(seen)), request=wish.request)
        wish = wish.of(record)
        stays = record.is_open and stands_where(record, seen) and not wish.moves(record)
        base = record.spec.base_sha if stays else self._base(seen)
        found = followed(record, seen, base, self.clock.now())
        if wish.request is not None:
            return asked(found, record, wish.request)
        return anew(found) if wish.again and found.attempt == record.attempt else found

    def _base(self, seen: SeenPullRequest) -> str:
        """Return where the base branch is: what the pull request itself tells may be an older commit of it."""
        try:
            return self.forge.branch_head(*seen.spec.where, seen.spec.base)
        except NotFound:
            return seen.spec.base_sha

    def _keep(self, record: PullRequestRecord, wanted: PullRequestRecord) -> None:
        """Keep what changed beside the commits, and see that the execution was started."""
        saved = record if wanted == record else self.save(wanted)
        if saved.state is not PullRequestState.IDLE:
            self._begin(saved)

    def save(self, record: PullRequestRecord) -> PullRequestRecord:
        """Save a record as judged by its layers now. Raise Conflict."""
        layers = self.layers.many(record.layers)
        return self.records.save(judged(record, layers, self.clock.now()))

    def _begin(self, record: PullRequestRecord) -> None:
        """Show that planning begins, and start the execution, before it shows anything itself: in any case.

        Nothing of a fork is planned, and outsiders push there as often as they like: each commit gets its verdict only.
        """
        try:
            if record.discovered != record.spec.revision and not record.spec.from_fork:
                self.checks.show(record)
        finally:
            self.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)


def _reason(record: PullRequestRecord, wanted: PullRequestRecord) -> str:
    """Return why what works on a record is stopped."""
    newer = wanted.spec.head_sha
    return _AGAIN if newer == record.spec.head_sha else f"Superseded by {newer[:7]}."


def _as_told(_installation: int, _repository: str, told: HeadPush) -> HeadPush:
    return told


def _none_wait(_repository: str) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class PullRequestReceiver:
    """Receives events of pull requests, of their reviews, and of merge queues; receiving one again is harmless.

    ``look_at_requirements`` lets deployments of a repository go on whose requirements are fulfilled, and counts them.
    ``confirm`` returns a push of a head as the forge itself knows it, None if the forge knows of no such push.
    """

    deliveries: Deliveries
    records: PullRequests
    layers: TemporaryLayers
    checks: PullRequestChecks
    announcements: Announcements
    follower: PullRequestFollower
    look_at_requirements: Callable[[str], int] = _none_wait
    confirm: Callable[[int, str, HeadPush], HeadPush | None] = _as_told

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of the event. Raise as for pushes."""
        match delivery.event:
            case "pull_request":
                work = self._follow
            case "pull_request_review":
                work = self._review
            case _:
                work = self._queue
        return conclude(self.deliveries, delivery.id, lambda: DeliveryOutcome(work(delivery)))

    def _follow(self, delivery: Delivery) -> str:
        fields = delivery.fields
        where = fields["repository"], fields["pull_request"]
        again = fields.get("action") == BASE_MOVED and self._is_older(*where)
        return self.follower.follow(fields["installation"], *where, again=again, pushes=self._told(fields))

    def _told(self, fields: Mapping[str, Any]) -> Sequence[HeadPush]:
        """Return the push that an event tells of, if it does."""
        if "after" not in fields:
            return ()
        told = HeadPush(fields["before"], fields["after"], fields["sender"])
        confirmed = self.confirm(fields["installation"], fields["repository"], told)
        return () if confirmed is None else (confirmed,)

    def _is_older(self, repository: str, number: int) -> bool:
        """Tell whether the plans are still older than the base branch: one plan is enough for many pushes."""
        record = self.follower.known(repository, number)
        return record is not None and bool(record.overtaken)

    def _review(self, delivery: Delivery) -> str:
        """Look again at what depends on reviews: what these say is read from the forge, not from their event."""
        going = self.look_at_requirements(delivery.fields["repository"])
        said = self._policies(delivery)
        return f"{said} {going} deployments that waited for their requirements go on." if going else said

    def _policies(self, delivery: Delivery) -> str:
        record = self.follower.known(delivery.fields["repository"], delivery.fields["pull_request"])
        if record is None or not record.is_open:
            return "Nothing is known of the pull request."
        if record.discovered != record.spec.revision:
            return "What the pull request changes is not known yet: the review is looked at then."
        layers = self.layers.many(record.layers)
        if not any(held.owners for held in asked_for(layers, record.rule_changes)):
            return "No policy set asks for a review of the pull request."
        saved = deciding_again(partial(self._reviewed, record))
        if saved is not None:
            self.announcements.pull_request_ended(saved.spec.id, saved.spec.revision)
        return "The pull request's comments and checks are checked again."

    def _reviewed(self, seen: PullRequestRecord) -> PullRequestRecord | None:
        """Let the record say that what is shown may be older than its reviews; one at another commit says so anyway."""
        record = self.follower.known(seen.spec.repository, seen.spec.number)
        if record is None or not record.is_open or record.execution != seen.execution:
            return None
        return self.follower.save(replace(record, commented=""))

    def _queue(self, delivery: Delivery) -> str:
        """Say on the queue's commit what the checks of the pull request say, now and once that is known."""
        fields, sha = delivery.fields, delivery.fields["sha"]
        where = fields["installation"], fields["repository"], fields["pull_request"]
        if self.follower.known(*where[1:]) is None:
            self.follower.follow(*where)
        record = deciding_again(partial(self._queued, *where[1:], sha))
        if record is None:
            return "There is no such pull request, and no verdict."
        self.checks.repeat(record, self.layers.many(record.layers), sha)
        return f"The verdict for {record.spec.id} is shown on {sha[:7]} as well."

    def _queued(self, repository: str, number: int, sha: str) -> PullRequestRecord | None:
        record = self.follower.known(repository, number)
        if record is None or record.queued == sha:
            return record
        return self.records.save(replace(record, queued=sha))
