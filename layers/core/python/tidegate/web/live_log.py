"""The end of a running job's log, for the page of its deployment."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tidegate.deploys.read_log import LogState, read_tail
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.state import State
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound
from tidegate.web.ansi import Piece
from tidegate.web.log_lines import prepared, shown

#: Lines of a running job on the page of its deployment, which is read again every few seconds.
TAIL = 300


@dataclass(frozen=True, slots=True)
class LiveLog:
    """The last lines of a running job: those that prepare it apart. ``earlier``: how many lines come before."""

    job: str
    state: LogState
    preparation: tuple[tuple[Piece, ...], ...]
    lines: tuple[tuple[Piece, ...], ...]
    earlier: int


def live_log(ports: Ports, deployment: Deployment) -> LiveLog | None:
    """Return the log of the job that runs for a deployment; None if none does, or it has a page of its own.

    The apply of a cluster is many jobs, which the cluster's page shows.
    """
    job = {State.PLANNING: deployment.planned.job, State.APPLYING: deployment.apply.job}.get(deployment.state)
    if job is None or (deployment.state is State.APPLYING and deployment.settings.run.cluster is not None):
        return None
    with suppress(NotFound):
        page = read_tail(ports, deployment, job, TAIL)
        lines = [tuple(shown(line)) for line in page.lines]
        first = 0 if page.start else prepared(page.lines)
        return LiveLog(job, page.state, tuple(lines[:first]), tuple(lines[first:]), page.start)
    return None
