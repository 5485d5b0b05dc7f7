"""Gather what a deployment's check run shows besides the deployment itself."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.check_run import MAXIMUM_TEXT, CheckRun
from tidegate.domain.check_run_face import View
from tidegate.domain.check_run_text import render
from tidegate.domain.deployment import Deployment, State
from tidegate.domain.errors import NotFound
from tidegate.domain.queue import QueueHead, lock_after, locks_queue
from tidegate.ports import Artifacts, DeployQueues, ObjectStart

#: Bytes of a plan that are read: more than a check run can show, so that its end is known if it is short.
PLAN_START = 4 * MAXIMUM_TEXT


@dataclass(frozen=True, slots=True)
class Links:
    """Where more is to be seen: URLs with ``{deployment}`` and ``{job}`` to fill in; empty when there is none."""

    execution: str = ""
    log: str = ""
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class CheckRunPainter:
    """Draws a deployment's check run as it is now."""

    queues: DeployQueues
    artifacts: Artifacts
    links: Links = Links()

    def paint(self, deployment: Deployment, notice: str = "") -> CheckRun:
        """Return what the check run shows. ``notice`` answers a press that had no effect."""
        head, _ = self.queues.read(deployment.queue)
        is_in_flight = head.in_flight == deployment.id
        start = self._plan_start(deployment)
        altered = deployment.plan is not None and bool(start.sha256) and start.sha256 != deployment.plan.text.sha256
        job = deployment.apply_job or (deployment.plan.job if deployment.plan else "")
        view = View(
            ahead=self._ahead(deployment, head),
            lock=head.lock,
            locks=locks_queue(deployment, head),
            locking=is_in_flight and lock_after(deployment, deployment.changed_at) is not None,
            plan_text="" if altered else start.content.decode(errors="replace"),
            plan_altered=altered,
            plan_size=start.size,
            bucket=self.links.bucket,
            execution_url=self.links.execution.replace("{deployment}", deployment.id) or None,
            log_url=(self.links.log.replace("{job}", job) if job else "") or None,
            notice=notice,
        )
        return render(deployment, view)

    def _plan_start(self, deployment: Deployment) -> ObjectStart:
        """Return the beginning of the plan's text, or nothing once it has expired."""
        if deployment.plan is None or deployment.state is State.NO_CHANGES:
            return ObjectStart(b"", 0)
        try:
            return self.artifacts.get_start(deployment.plan.text.key, PLAN_START)
        except NotFound:
            return ObjectStart(b"", 0)

    def _ahead(self, deployment: Deployment, head: QueueHead) -> int | None:
        """Return how many deployments go first, the one in flight included; None when it is not in line."""
        if deployment.state is not State.QUEUED:
            return None
        line = [waiting.deployment for waiting in self.queues.waiting(deployment.queue)]
        if deployment.id not in line:
            return None
        return line.index(deployment.id) + (head.in_flight is not None)
