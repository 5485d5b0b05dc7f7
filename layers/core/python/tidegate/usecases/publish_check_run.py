"""Bring a deployment's check run up to date: the forge shows the newest state, whatever came before."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.check_run import CheckRun
from tidegate.domain.check_run_text import render_continued
from tidegate.domain.deployment import Deployment
from tidegate.ports import CheckRuns, Deployments, Forge, PublishedCheckRun
from tidegate.usecases.check_run_view import CheckRunPainter

_COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class CheckRunPublisher:
    """Publishes check runs, one call at a time per deployment.

    A check run that the forge shows as completed (one that waits for review, too) is never reopened: a
    new one goes on, and the old one is told so. What a call did before it died is found by the
    deployment's id and gone on with, so no second new one is made.
    """

    deployments: Deployments
    check_runs: CheckRuns
    forge: Forge
    painter: CheckRunPainter

    def publish(self, deployment_id: str, *, again: bool = False) -> None:
        """Show the deployment's newest state; with ``again`` also if it is shown, as its surroundings changed.

        Raise ForgeUnavailable (with the seconds to wait, if the forge named them) and ForgeRefused.
        """
        deployment = self.deployments.get(deployment_id)
        shown = self.check_runs.published(deployment.id)
        if shown is not None and shown.shown_version >= deployment.version and not again:
            return
        check_run = self.painter.paint(deployment)
        if shown is not None and not shown.closed:
            self._update(deployment, shown.id, check_run)
        else:
            self._open(deployment, shown, check_run)

    def _open(self, deployment: Deployment, old: PublishedCheckRun | None, check_run: CheckRun) -> None:
        """Show the state on a new check run, or on the one that a call before this made and did not remember.

        What stays completed stays on the old one, unless there is such a newer one: that would never end.
        """
        where = deployment.installation, deployment.repository
        made = self.forge.find_check_run(*where, deployment.revision.sha, deployment.id)
        if made is not None and (old is None or made != old.id):
            self.forge.update_check_run(*where, made, check_run)
        elif old is not None and check_run.status == _COMPLETED:
            self._update(deployment, old.id, check_run)
            return
        else:
            made = self.forge.create_check_run(*where, check_run)
        if old is not None:
            url = self.forge.check_run_url(deployment.repository, made)
            self.forge.update_check_run(*where, old.id, render_continued(deployment, url))
        self._remember(deployment, made, check_run)

    def _update(self, deployment: Deployment, check_run_id: int, check_run: CheckRun) -> None:
        self.forge.update_check_run(deployment.installation, deployment.repository, check_run_id, check_run)
        self._remember(deployment, check_run_id, check_run)

    def _remember(self, deployment: Deployment, check_run_id: int, check_run: CheckRun) -> None:
        closed = check_run.status == _COMPLETED
        self.check_runs.remember(PublishedCheckRun(deployment.id, check_run_id, deployment.version, closed))
