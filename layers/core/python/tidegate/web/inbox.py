"""The inbox: what a person has to decide, and what runs, failed, drifted and is locked, in all that they may read.

It costs a bounded number of reads, however many deployments and roots there are: indexes hold what is open, locked or
failed, as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tidegate.config.rules.drift import DriftFinding, DriftRecord, DriftState
from tidegate.deploys.rules.attention import Attention
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import can_be_retried
from tidegate.deploys.rules.needs import KNOWN_FAILURES, Activity, activity
from tidegate.deploys.rules.requirements_gate import may_not_approve
from tidegate.deploys.rules.review import Answer, Followup, check_click
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.deploys.rules.unapproved import asked_here
from tidegate.ports import KnownRepository, Ports
from tidegate.rules.access import Action
from tidegate.rules.timestamp import LONG_AGO
from tidegate.web.readable import newest

#: Deployments of one activity, and locked or failed roots, that are read: the longest requested first.
MOST_DEPLOYMENTS, MOST_ATTENTION = 100, 300
#: Schedules of drift detection that are read, and failed deployments.
MOST_SCHEDULES, MOST_FAILED = 100, 100
#: Repositories, those pushed to last, whose newest deployments are shown, and how many of these.
RECENT_REPOSITORIES, MOST_RECENT = 3, 8


@dataclass(frozen=True, slots=True)
class Drifted:
    """A root that drifted, and the schedule that found it."""

    record: DriftRecord
    finding: DriftFinding


@dataclass(frozen=True, slots=True)
class Inbox:
    """What there is to see to. ``others`` wait for other people's decision, ``waiting`` counts what waits for neither.

    ``has_more`` tells that there was more than is read.
    """

    needs_you: tuple[Deployment, ...] = ()
    others: tuple[Deployment, ...] = ()
    running: tuple[Deployment, ...] = ()
    failed: tuple[Deployment, ...] = ()
    drifted: tuple[Drifted, ...] = ()
    locked: tuple[Attention, ...] = ()
    recent: tuple[DeploymentSummary, ...] = ()
    waiting: int = 0
    has_more: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to see to, and nothing was deployed lately."""
        seen_to = (self.needs_you, self.others, self.running, self.failed, self.drifted, self.locked)
        return not (any(seen_to) or self.recent or self.waiting)


@dataclass(frozen=True, slots=True)
class OpenWork:
    """What has not ended, the longest requested first, what failed, the newest first, and what is locked."""

    needing: tuple[Deployment, ...] = ()
    running: tuple[Deployment, ...] = ()
    waiting: tuple[Deployment, ...] = ()
    failed: tuple[Deployment, ...] = ()
    locked: tuple[Attention, ...] = ()
    has_more: bool = False


def get_open_work(ports: Ports, names: Collection[str]) -> OpenWork:
    """Return what goes on in some repositories, in at most eight reads."""
    ids = {does: ports.deployments.doing(does, MOST_DEPLOYMENTS) for does in Activity}
    attention = ports.queues.attention(MOST_ATTENTION)
    seen = [each for each in attention if each.repository in names]
    failed = [each.failed.deployment for each in seen if each.failed][:MOST_FAILED]
    known = ports.deployments.many({*(one for each in ids.values() for one in each), *failed})
    found = [each for each in known.values() if each.repository in names]
    open_ = sorted((each for each in found if not is_final(each.state)), key=lambda each: (_since(each), each.id))
    needing, running, waiting = (
        tuple(each for each in open_ if activity(each.state) is does)
        for does in (Activity.NEEDING, Activity.RUNNING, Activity.WAITING)
    )
    return OpenWork(
        needing,
        running,
        waiting,
        _failed(failed, known, {each.queue for each in needing + running}),
        tuple(each for each in seen if each.locks),
        len(attention) >= MOST_ATTENTION or any(len(each) >= MOST_DEPLOYMENTS for each in ids.values()),
    )


def get_inbox(
    ports: Ports, repositories: Collection[KnownRepository], decides: Callable[[Deployment], bool], login: str
) -> Inbox:
    """Return the inbox of somebody who may read ``repositories``.

    ``decides`` tells whether they may decide about a deployment, by its root's access control.
    """
    names = {each.name for each in repositories}
    work = get_open_work(ports, names)
    yours = [each for each in work.needing if may_decide(each, login) and decides(each)]
    return Inbox(
        tuple(yours),
        tuple(each for each in work.needing if each not in yours),
        work.running,
        work.failed,
        _drifted(ports, names),
        work.locked,
        _recent(ports, repositories),
        len(work.waiting),
        work.has_more,
    )


def may_decide(deployment: Deployment, login: str) -> bool:
    """Tell whether a deployment waits for a decision that ``login`` may give, as far as its own rules say."""
    if deployment.state is State.AWAITING_REVIEW:
        return check_click(deployment, Answer.APPROVE, login, LONG_AGO).followup is not Followup.REFUSE
    if deployment.state is State.AWAITING_REQUIREMENTS:
        return bool(asked_here(deployment)) and not may_not_approve(deployment, login)
    return deployment.state is State.BLOCKED


def deciding_action(deployment: Deployment) -> Action:
    """Return the right that a decision about a waiting deployment needs: a retry of what blocks it applies."""
    retries = deployment.state is State.BLOCKED and can_be_retried(deployment)
    return Action.APPLY if retries else Action.REVIEW


def _since(deployment: Deployment) -> datetime:
    return deployment.changed_at or deployment.request.at


def _failed(ids: Iterable[str], known: Mapping[str, Deployment], busy: Collection[str]) -> tuple[Deployment, ...]:
    """Return the failed deployments, the newest first, without those whose root runs again."""
    found = {known[each].id: known[each] for each in ids if each in known}
    shown = [each for each in found.values() if each.queue not in busy and each.state in KNOWN_FAILURES]
    return tuple(sorted(shown, key=_since, reverse=True))


def _drifted(ports: Ports, names: Collection[str]) -> tuple[Drifted, ...]:
    keys = [key for key in ports.drifts.listed() if key[0] in names][:MOST_SCHEDULES]
    records = ports.drifts.many(keys) if keys else ()
    every = ((record, each) for record in records for each in record.of(DriftState.DRIFTED))
    found = [Drifted(record, each) for record, each in every if not each.deployment]  # Others are being undone.
    return tuple(sorted(found, key=lambda each: each.finding.drifted_since or LONG_AGO))


def _recent(ports: Ports, repositories: Iterable[KnownRepository]) -> tuple[DeploymentSummary, ...]:
    pages = [
        ports.repository_index.of_repository(each.name, 2 * MOST_RECENT)
        for each in newest(repositories, RECENT_REPOSITORIES)
    ]
    deployed = [one for page in pages for one in page.deployments if one.state is State.APPLIED]
    return tuple(sorted(deployed, key=lambda one: one.changed_at or one.request.at, reverse=True)[:MOST_RECENT])
