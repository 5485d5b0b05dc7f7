"""Read what a deployment's check run shows besides the deployment itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from tidegate.clusters.get_cluster import workflow_of
from tidegate.clusters.texts.check_run import progress_of
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead, locks_queue
from tidegate.deploys.rules.queue_snapshot import Named, Shown
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final, moves_baseline
from tidegate.deploys.slots.get_slot_wait import get_slot_wait
from tidegate.deploys.texts.presentation import Mark, QueuePosition, View, WorkflowProgress
from tidegate.deploys.texts.text import render
from tidegate.gates.check_gate import GateChecker
from tidegate.insights.cost_of_runners import cost_of_runners
from tidegate.ports import (
    ObjectStart,
    Ports,
)
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT, CheckRun

#: Bytes of a plan that are read: more than a check run shows, so that a short one is complete.
PLAN_START = 4 * MAXIMUM_TEXT


@dataclass(frozen=True, slots=True)
class Links:
    """URLs for details: an execution's with ``{deployment}`` in it, and that of the web pages.

    Without a URL there are no links. ``bucket`` holds the artifacts.
    """

    execution: str = ""
    web: str = ""
    bucket: str = ""

    def job(self, job: str | None) -> str | None:
        """Return the URL of a job's log."""
        return f"{self.web}/jobs/{quote(job, safe='')}" if self.web and job else None

    def deployment(self, deployment: str) -> str | None:
        """Return the URL of a deployment's page."""
        return f"{self.web}/deployments/{quote(deployment, safe='')}" if self.web else None

    def queue(self, deployment: Deployment) -> str | None:
        """Return the URL of the page of the deployment's queue."""
        where = urlencode({"repository": deployment.repository, "root": deployment.root.name})
        return f"{self.web}/queue?{where}" if self.web else None

    def cluster(self, repository: str, name: str) -> str | None:
        """Return the URL of a cluster's page."""
        owner, _, rest = repository.rpartition("/")
        return f"{self.web}/clusters/{owner.replace('/', ':')}/{rest}/{name}" if self.web else None

    def change(self, deployment: Deployment) -> str | None:
        """Return the URL of the page of the deployment's change, if it is part of a larger one."""
        is_linked = self.web and deployment.change.id
        return f"{self.web}/changes/{quote(deployment.change.id, safe='')}" if is_linked else None

    def history(self, deployment: Deployment) -> str | None:
        """Return the URL of the deployment's execution, once it has one."""
        may_have_begun = deployment.state not in {State.QUEUED, State.REFUSED, State.SUPERSEDED}
        is_settled = deployment.state is State.NO_CHANGES and deployment.planned.job is None
        begun = (may_have_begun and not is_settled) or deployment.gate is not None
        return self.execution.replace("{deployment}", deployment.id) or None if begun else None


def present_check_run(ports: Ports, deployment: Deployment, notice: str = "", repeated_by: str = "") -> CheckRun:
    """Return the view of the check run. ``notice`` answers an action without effect.

    ``repeated_by`` is the deployment that runs this one again.
    """
    if deployment.state is State.QUEUED:
        view = _waiting(ports, deployment, notice)
    else:
        view = _begun(ports, deployment, notice, repeated_by)
    return render(deployment, replace(view, slot=get_slot_wait(ports, deployment), terms=ports.terms))


def _waiting(ports: Ports, deployment: Deployment, notice: str) -> View:
    """Return the view of a queued deployment: all that it says of others was read for the whole queue."""
    shown = ports.queue_snapshots.shown(deployment.queue, deployment.id)
    return View(
        place=_place(ports, deployment, shown) if shown else None,
        lock=shown.standing.lock if shown else None,
        locker=_locker(ports, deployment, shown) if shown else None,
        page_url=ports.links.deployment(deployment.id),
        queue_url=ports.links.queue(deployment),
        change_url=ports.links.change(deployment),
        repeats=_mark(ports, deployment, deployment.rerun.of),
        supersedes=_revision_mark(ports, deployment, deployment.lineage.supersedes),
        notice=notice,
    )


def _begun(ports: Ports, deployment: Deployment, notice: str, repeated_by: str) -> View:
    head = _head(ports, deployment)
    locks = head is not None and _locks(deployment, head)
    in_flight = head is not None and head.in_flight == deployment.id
    start = _plan_start(ports, deployment)
    altered, workflow = _is_altered(deployment, start), _workflow(ports, deployment)
    plan_job = deployment.planned.plan.job if deployment.planned.plan else deployment.planned.job
    return View(
        lock=head.lock if head else None,
        locks=locks,
        locking=in_flight and deployment.state is State.OUTCOME_UNKNOWN and not locks,
        plan_text="" if altered else start.content.decode(errors="replace"),
        plan_altered=altered,
        plan_size=start.size,
        bucket=ports.links.bucket,
        execution_url=ports.links.history(deployment),
        log_url=ports.links.job((workflow.job if workflow else deployment.apply.job) or plan_job),
        plan_url=ports.links.job(plan_job),
        page_url=ports.links.deployment(deployment.id),
        queue_url=ports.links.queue(deployment),
        change_url=ports.links.change(deployment),
        repeats=_mark(ports, deployment, deployment.rerun.of),
        repeated_by=_mark(ports, deployment, repeated_by),
        supersedes=_revision_mark(ports, deployment, deployment.lineage.supersedes),
        superseded_by=_revision_mark(ports, deployment, deployment.lineage.superseded_by),
        waited_for=_gates(ports).look(deployment),
        workflow=workflow,
        runners=cost_of_runners(ports, deployment) if is_final(deployment.state) else None,
        notice=notice,
    )


def _workflow(ports: Ports, deployment: Deployment) -> WorkflowProgress | None:
    """Return how far the workflow of a cluster is, once its apply has begun, or the last one if that was its own."""
    cluster = deployment.settings.run.cluster
    if cluster is None or deployment.apply.job is None:
        return None
    found = workflow_of(ports, deployment)
    return progress_of(*found, ports.links.cluster(deployment.repository, cluster.name)) if found else None


def _head(ports: Ports, deployment: Deployment) -> QueueHead | None:
    """Return the queue's head, if the deployment may be the one that locks it."""
    may_lock = deployment.request.trigger is Trigger.MANUAL or deployment.state is State.OUTCOME_UNKNOWN
    return ports.queues.read(deployment.queue)[0] if may_lock else None


def _plan_start(ports: Ports, deployment: Deployment) -> ObjectStart:
    """Return the beginning of the plan's text, or nothing once it has expired."""
    if deployment.planned.plan is None or deployment.state is State.NO_CHANGES:
        return ObjectStart(b"", 0)
    try:
        return ports.artifacts.get_start(deployment.planned.plan.text.key, PLAN_START)
    except NotFound:
        return ObjectStart(b"", 0)


def _place(ports: Ports, deployment: Deployment, shown: Shown) -> QueuePosition:
    standing, names = shown.standing, {named.deployment: named for named in shown.names}
    return QueuePosition(
        standing.place,
        shown.at,
        _named(ports, deployment, names.get(standing.running)),
        standing.reviewing,
        _named(ports, deployment, names.get(standing.behind)),
        standing.gate,
    )


def _locker(ports: Ports, deployment: Deployment, shown: Shown) -> Mark | None:
    lock = shown.standing.lock
    names = {named.deployment: named for named in shown.names}
    return _named(ports, deployment, names.get(lock.deployment)) if lock else None


def _mark(ports: Ports, deployment: Deployment, other: str | None) -> Mark | None:
    """Return another deployment of the same revision: told apart by its id, with its check run if it has one."""
    if not other:
        return None
    published = ports.check_runs.published(other)
    return _named(ports, deployment, Named(other, check_run=published.id if published else None))


def _revision_mark(ports: Ports, deployment: Deployment, other: str | None) -> Mark | None:
    """Return another deployment of the same root: told apart by its commit."""
    found = ports.deployments.many([other]).get(other) if other else None
    if found is None:
        return None
    published = ports.check_runs.published(found.id)
    return _named(ports, deployment, Named(found.id, found.revision.sha, published.id if published else None))


def _gates(ports: Ports) -> GateChecker:
    return GateChecker(ports.change_sets, ports.deployments, ports.check_runs, ports.addresses)


def _named(ports: Ports, deployment: Deployment, named: Named | None) -> Mark | None:
    if named is None:
        return None
    if named.check_run is not None:
        url = ports.addresses.check_run_url(deployment.repository, named.check_run)
    else:
        url = ports.links.deployment(named.deployment) or ""
    return Mark(named.deployment, named.sha, url)


def _is_altered(deployment: Deployment, start: ObjectStart) -> bool:
    return (
        deployment.planned.plan is not None
        and bool(start.sha256)
        and start.sha256 != deployment.planned.plan.text.sha256
    )


def _locks(deployment: Deployment, head: QueueHead) -> bool:
    """Tell whether the deployment's lock stays: an ending without changes removes it."""
    ending = head.in_flight == deployment.id and is_final(deployment.state)
    return locks_queue(deployment, head) and (not ending or moves_baseline(deployment.state))
