"""Process an event of a pull request: update its record, and ensure an execution for its newest commit.

Idempotent.

Work on an older commit ends before the record is saved, work on the newer one begins after: an interrupted call
continues from the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidegate.deploys.rules.approval import asked_for
from tidegate.discovery.confirm_webhook import confirm_head
from tidegate.gates.wait_for_requirements import check_all_requirements
from tidegate.ports import (
    Delivery,
    DeliveryOutcome,
    KnownRepository,
    Ports,
)
from tidegate.pull_requests.close_applied import close_applied
from tidegate.pull_requests.close_pull_request import (
    close_pull_request,
    stop_pull_request,
)
from tidegate.pull_requests.find_record import known_record
from tidegate.pull_requests.notify_base_moved import BASE_MOVED
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.pull_requests.pull_request_checks import repeat_verdict, show_pull_request
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
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import LONG_AGO
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest
from tidegate.vcs.rules.pushers import HeadPush, and_pushes

#: Why the execution of the same commit is stopped.
_AGAIN = "Replanning started."


@dataclass(frozen=True, slots=True)
class _Wish:
    """The wish besides updating the record."""

    again: bool = False
    request: PlanRequest | None = None
    pushes: Sequence[HeadPush] = ()

    def of(self, record: PullRequestRecord) -> _Wish:
        """Return what is still to be done: a request in the record was processed before."""
        is_known = self.request is not None and record.request is not None and record.request.id == self.request.id
        return _Wish() if is_known else self

    def moves(self, record: PullRequestRecord) -> bool:
        """Whether it takes the base branch's current commit: not if plans are kept, which are of an older one."""
        if self.request is None:
            return self.again
        return not (self.request.is_partial and record.layers)


def follow_pull_request(
    ports: Ports,
    repository: str,
    number: int,
    *,
    again: bool = False,
    request: PlanRequest | None = None,
    pushes: Sequence[HeadPush] = (),
) -> str:
    """Return the result in sentences. ``again`` plans the commit once more, with the base branch's current commit.

    So does a ``request``, once; if it is for only some roots and others have plans, on the same base commit. ``pushes``
    are known pushes of its head. Raise ForgeUnavailable and ForgeRefused, and Conflict after repeated concurrent
    writes.
    """
    return deciding_again(partial(_follow, ports, repository, number, _Wish(again, request, pushes)))


def _follow(ports: Ports, repository: str, number: int, wish: _Wish) -> str:
    """Read the record before the VCS provider: if the record can be saved, nobody has seen anything newer."""
    record = known_record(ports, repository, number)
    try:
        seen = ports.pull_request_reader.seen_pull_request(repository, number)
    except NotFound as error:
        return _closed(ports, record, str(error), merged=False)
    if not seen.is_open:
        return _closed(ports, record, "It is closed.", merged=seen.merged, merge_sha=seen.merge_sha)
    return _opened(ports, record, seen, wish)


def _closed(ports: Ports, record: PullRequestRecord | None, found: str, *, merged: bool, merge_sha: str = "") -> str:
    if record is None:
        return found
    was_open = record.is_open
    if was_open:
        record = close_pull_request(ports, record, merged=merged, merge_sha=merge_sha)
    if record.applies:
        close_applied(ports, record, merged=merged)
    notify_closed(ports, record, merged=merged)
    return f"{found} Its speculative plans were removed." if was_open else found


def _opened(ports: Ports, record: PullRequestRecord | None, seen: SeenPullRequest, wish: _Wish) -> str:
    wanted = _wanted(ports, record, seen, wish)
    wanted = replace(wanted, spec=replace(wanted.spec, pushes=and_pushes(wanted.spec.pushes, wish.pushes)))
    if record is not None and wanted.execution == record.execution:
        _keep(ports, record, wanted)
        return "There is nothing else to plan."
    if record is None:
        _remember(ports, wanted.spec)
    elif record.is_open:
        stop_pull_request(ports, record, _reason(record, wanted))
    _begin(ports, save_record(ports, wanted))
    return f"{wanted.spec.head_sha[:7]} is being planned."


def _remember(ports: Ports, spec: PullRequestSpec) -> None:
    """Add an unknown repository to the index; any later push counts as newer."""
    try:
        ports.repository_index.repository(spec.repository)
    except NotFound:
        main = ports.commits.default_branch(spec.repository)
        ports.repository_index.remember(KnownRepository(spec.repository, main, "", LONG_AGO))


def _wanted(ports: Ports, record: PullRequestRecord | None, seen: SeenPullRequest, wish: _Wish) -> PullRequestRecord:
    if record is None:
        return replace(first_record(seen, _base(ports, seen)), request=wish.request)
    wish = wish.of(record)
    stays = record.is_open and stands_where(record, seen) and not wish.moves(record)
    base = record.spec.base_sha if stays else _base(ports, seen)
    found = followed(record, seen, base, ports.clock.now())
    if wish.request is not None:
        return asked(found, record, wish.request)
    return anew(found) if wish.again and found.attempt == record.attempt else found


def _base(ports: Ports, seen: SeenPullRequest) -> str:
    """Return the base branch's head: the pull request itself may name an older commit."""
    try:
        return ports.commits.branch_head(seen.spec.repository, seen.spec.base)
    except NotFound:
        return seen.spec.base_sha


def _keep(ports: Ports, record: PullRequestRecord, wanted: PullRequestRecord) -> None:
    """Save changes apart from the commits, and ensure that the execution was started."""
    saved = record if wanted == record else save_record(ports, wanted)
    if saved.state is not PullRequestState.IDLE:
        _begin(ports, saved)


def save_record(ports: Ports, record: PullRequestRecord) -> PullRequestRecord:
    """Save a record with conditions by its current layers. Raise Conflict."""
    layers = ports.speculative_plans.many(record.layers)
    return ports.pull_requests.save(judged(record, layers, ports.clock.now()))


def _begin(ports: Ports, record: PullRequestRecord) -> None:
    """Publish that planning begins, then start the execution, before that publishes anything itself.

    Forks are not planned, and outsiders may push there often: each commit only gets its verdict.
    """
    try:
        if record.discovered != record.spec.revision and not record.spec.from_fork:
            show_pull_request(ports, record)
    finally:
        ports.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)


def _reason(record: PullRequestRecord, wanted: PullRequestRecord) -> str:
    """Return why the executions of a record are stopped."""
    newer = wanted.spec.head_sha
    return _AGAIN if newer == record.spec.head_sha else f"Superseded by {newer[:7]}."


def receive_pull_request(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the event, and store it with the delivery. Raise as for pushes."""
    match delivery.event:
        case "pull_request":
            work = partial(_follow_event, ports)
        case "pull_request_review":
            work = partial(_review, ports)
        case _:
            work = partial(_queue, ports)
    return conclude(ports.deliveries, delivery.id, lambda: DeliveryOutcome(work(delivery)))


def _follow_event(ports: Ports, delivery: Delivery) -> str:
    fields = delivery.fields
    where = fields["repository"], fields["pull_request"]
    again = fields.get("action") == BASE_MOVED and _is_older(ports, *where)
    return follow_pull_request(ports, *where, again=again, pushes=_told(ports, fields))


def _told(ports: Ports, fields: Mapping[str, Any]) -> Sequence[HeadPush]:
    """Return the push in an event, if any."""
    if "after" not in fields:
        return ()
    told = HeadPush(fields["before"], fields["after"], fields["sender"])
    confirmed = confirm_head(ports, fields.get("project", 0), fields["repository"], told)
    return () if confirmed is None else (confirmed,)


def _is_older(ports: Ports, repository: str, number: int) -> bool:
    """Tell whether the plans are still older than the base branch: one plan is enough for many pushes."""
    record = known_record(ports, repository, number)
    return record is not None and bool(record.overtaken)


def _review(ports: Ports, delivery: Delivery) -> str:
    """Update what depends on reviews; these are read from the VCS provider, not from the event."""
    going = check_all_requirements(ports, delivery.fields["repository"])
    said = _policies(ports, delivery)
    return f"{said} {going} deployments that waited for apply requirements continue." if going else said


def _policies(ports: Ports, delivery: Delivery) -> str:
    record = known_record(ports, delivery.fields["repository"], delivery.fields["pull_request"])
    if record is None or not record.is_open:
        return "Tidegate has no record of it."
    if record.discovered != record.spec.revision:
        return "The changed roots are not known yet. The review is checked once they are."
    layers = ports.speculative_plans.many(record.layers)
    if not any(held.owners for held in asked_for(layers, record.rule_changes)):
        return "No policy set asks for a review."
    saved = deciding_again(partial(_reviewed, ports, record))
    if saved is not None:
        ports.event_publisher.pull_request_ended(saved.spec.id, saved.spec.revision)
    return "Comments and checks are checked again."


def _reviewed(ports: Ports, seen: PullRequestRecord) -> PullRequestRecord | None:
    """Record that the published reviews may be outdated; a newer commit is published anyway."""
    record = known_record(ports, seen.spec.repository, seen.spec.number)
    if record is None or not record.is_open or record.execution != seen.execution:
        return None
    return save_record(ports, replace(record, commented=""))


def _queue(ports: Ports, delivery: Delivery) -> str:
    """Publish the pull request's checks on the queue's commit, now and once they are known."""
    fields, sha = delivery.fields, delivery.fields["sha"]
    where = fields["repository"], fields["pull_request"]
    if known_record(ports, *where) is None:
        follow_pull_request(ports, *where)
    record = deciding_again(partial(_queued, ports, *where, sha))
    if record is None:
        return "It does not exist, so there is no verdict."
    repeat_verdict(ports, record, ports.speculative_plans.many(record.layers), sha)
    return f"The verdict for {record.spec.id} is shown on {sha[:7]} as well."


def _queued(ports: Ports, repository: str, number: int, sha: str) -> PullRequestRecord | None:
    record = known_record(ports, repository, number)
    if record is None or record.queued == sha:
        return record
    return ports.pull_requests.save(replace(record, queued=sha))
