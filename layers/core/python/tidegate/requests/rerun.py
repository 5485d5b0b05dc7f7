"""Run deployments again: one failed check, or all checks of a commit, by the VCS provider's buttons.

A repeated request does nothing more.

The webhook handles re-runs of pull requests' and drift's check runs separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from tidegate.changes.rules.change_set import Key
from tidegate.deploys.authorize import person_asking
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.enqueue_all import enqueue_all
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Deployed, QueueHead, status_of
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.deploys.rules.rerun import attempt_refusal, run_again, state_refusal
from tidegate.deploys.rules.revision import is_on_branch, rerun_refusal
from tidegate.deploys.texts.advice import again
from tidegate.deploys.texts.text import check_run_name, render_continued, render_foreign
from tidegate.discovery.current_rules import under_current_rules
from tidegate.discovery.texts.configuration_check import NAME as CONFIGURATION
from tidegate.ports import (
    Delivery,
    DeliveryOutcome,
    Enrolled,
    Ports,
)
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Rerun:
    """A demand to run again: its delivery's id, for which commit, by whom, when."""

    id: str
    repository: str
    sha: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RerunCheck:
    """A re-run request for one check run: its id, and its external id."""

    demand: Rerun
    check_run: int
    name: str
    external_id: str


def rerun_check(ports: Ports, delivery: Delivery) -> str:
    """Run one failed check again. Return the result, and store it with the delivery."""
    fields = delivery.fields
    check = RerunCheck(_demand(delivery), fields["id"], fields["name"], fields["external_id"])
    return conclude(ports.deliveries, delivery.id, lambda: _check(ports, check))


def rerun_suite(ports: Ports, delivery: Delivery) -> str:
    """Run all checks of a commit again. Return the result, and store it with the delivery."""
    demand = _demand(delivery)
    if delivery.fields.get("pull_requests"):
        ports.events.send(replace(delivery, event="replan"))
    return conclude(ports.deliveries, delivery.id, lambda: _suite(ports, demand))


def _check(ports: Ports, check: RerunCheck) -> DeliveryOutcome:
    demand = check.demand
    if check.name == CONFIGURATION:
        return DeliveryOutcome("A re-run cannot change the configuration file of this commit. Push a corrected file.")
    old = ports.deployments.many([check.external_id]).get(check.external_id)
    if old is None or not _is_shown(old, demand) or check.name != check_run_name(old):
        problem = "Tidegate has no deployment for this check, so nothing is re-run."
        shown = render_foreign(check.name, demand.sha, check.external_id, problem)
        ports.check_run_publisher.update_check_run(demand.repository, check.check_run, shown)
        return DeliveryOutcome(problem)
    return _all(ports, demand, {check.check_run: old}, only_failed=True)


def _suite(ports: Ports, demand: Rerun) -> DeliveryOutcome:
    numbers = ports.check_run_publisher.commit_check_runs(demand.repository, demand.sha)
    known = ports.deployments.many(set(numbers.values()))
    newest: dict[Key, tuple[datetime, int, Deployment]] = {}
    for number, identifier in numbers.items():
        old = known.get(identifier)
        if old is not None and _is_shown(old, demand):
            place, key = (old.request.at, number, old), (old.root.name, old.stack)
            newest[key] = max(newest.get(key, place), place, key=lambda each: each[:2])
    if not newest:
        return DeliveryOutcome(f"Tidegate has no deployments of {demand.sha}, so there is nothing to re-run.")
    return _all(ports, demand, {number: old for _, number, old in newest.values()}, only_failed=False)


def _all(ports: Ports, demand: Rerun, shown: Mapping[int, Deployment], *, only_failed: bool) -> DeliveryOutcome:
    """Run again what may be; show on the other check runs (by number) why not."""
    asking = person_asking(ports, demand.repository, demand.by)
    branch = ports.commits.default_branch(demand.repository)
    comparison = ports.commits.compare(demand.repository, demand.sha, branch)
    made: list[tuple[int, Deployment, Deployment]] = []
    before: Counter[str] = Counter()  # The stacks of one root keep their queue order.
    for number, old in sorted(shown.items(), key=lambda each: each[1].request.at):
        new = run_again(old, branch, demand.by, demand.at + timedelta(microseconds=before[old.root.name]), demand.id)
        before[old.root.name] += 1
        made.append((number, old, new))
    # Known deployments come from an earlier call of this request.
    judged: dict[str, Deployment | str | None] = {**ports.deployments.many([new.id for *_, new in made])}
    for _, old, new in made:
        if new.id not in judged:
            judged[new.id] = _refusal(ports, old, new, comparison, only_failed=only_failed)
    ruled = under_current_rules(ports, demand.repository, [new for *_, new in made if judged[new.id] is None])
    judged |= {key: asking.applies(each) for key, each in ruled.items()}
    again, told = [], []
    for number, old, new in made:
        found = judged[new.id]
        if isinstance(found, Deployment):
            again.append(found)
        else:
            _refuse(ports, demand, number, old, found or "")
        told.append(f"{old.root.name}: {'enqueued' if isinstance(found, Deployment) else found}")
    _stand_for_their_roots(ports, again)
    enqueue_all(again, partial(enqueue, ports))
    for new in again:
        ports.event_publisher.repeated(new.rerun.of or "", new.id)
    for change_set in dict.fromkeys(new.change.id for new in again if new.change.id):
        # Only now: a deployment yields only to queued ones.
        ports.event_publisher.change_moved(change_set)
    return DeliveryOutcome("\n".join(told), tuple(new.id for new in again))


def _stand_for_their_roots(ports: Ports, again: Sequence[Deployment]) -> None:
    """Replace deployments by their re-runs in the change, for their dependents.

    This precedes the queueing: no gate may open on a deployment that is about to run again.
    """
    for change_set in dict.fromkeys(new.change.id for new in again if new.change.id):
        same = [new for new in again if new.change.id == change_set]
        enrolled = [Enrolled(new.root.name, new.stack, new.id, new.request.at) for new in same]
        ports.change_sets.enroll(change_set, enrolled)


def _refusal(
    ports: Ports, old: Deployment, new: Deployment, comparison: Comparison, *, only_failed: bool
) -> str | None:
    """Return why a deployment is not run again, whoever asks; None if it may be."""
    head, _ = ports.queues.read(old.queue)
    if _running(ports, old, head.in_flight):
        return "This revision is already being re-run."
    left_out = rerun_refusal(old.revision, status_of(head, old).attempted, comparison)
    if left_out and is_of_head(old) and not is_on_branch(comparison):
        left_out = f"{left_out} {again(old)}."
    return (
        state_refusal(old, only_failed=only_failed)
        or left_out
        or attempt_refusal(old, _attempted(ports, old, new, head))
    )


def _attempted(ports: Ports, old: Deployment, new: Deployment, head: QueueHead) -> Deployed | None:
    """Return the root's latest attempt. For a root in several stacks it is the latest in the same one.

    This request's own ``new`` deployment does not count; an interrupted call may have added it.
    """
    attempted = status_of(head, old).attempted
    if attempted is None or not old.shared:
        return attempted
    members = ports.change_sets.deployments(old.change.id) if old.change.id else ()
    stands = {(each.root, each.stack): each.deployment for each in members}
    newest = stands.get((old.root.name, old.stack), old.id)
    return replace(attempted, deployment=old.id if newest == new.id else newest)


def _running(ports: Ports, old: Deployment, in_flight: str | None) -> bool:
    """Tell whether the same revision is being run again, or waits for that."""
    waiting = [each for each in ports.queues.waiting(old.queue) if _repeats(each.trigger, each.revision, old)]
    asked = [each.deployment for each in waiting] + ([in_flight] if in_flight else [])
    known = ports.deployments.many(asked).values()
    return any(each.stack == old.stack and _repeats(each.request.trigger, each.revision.sha, old) for each in known)


def _refuse(ports: Ports, demand: Rerun, number: int, old: Deployment, reason: str) -> None:
    """Show the refusal: on the newest check run with its next update."""
    published = ports.check_runs.published(old.id)
    if published is not None and published.id != number:
        url = ports.addresses.check_run_url(demand.repository, published.id)
        ports.check_run_publisher.update_check_run(demand.repository, number, render_continued(old, url, reason))
    else:
        ports.event_publisher.answered(old.id, reason)


def _repeats(trigger: Trigger, sha: str, old: Deployment) -> bool:
    return trigger is Trigger.RERUN and sha == old.revision.sha


def _is_shown(old: Deployment, demand: Rerun) -> bool:
    """Tell whether a deployment is of the request's repository and commit."""
    return (old.repository, old.revision.sha) == (demand.repository, demand.sha)


def _demand(delivery: Delivery) -> Rerun:
    fields = delivery.fields
    return Rerun(
        id=delivery.id,
        repository=fields["repository"],
        sha=fields["head_sha"],
        by=fields["sender"],
        at=delivery.received_at,
    )
