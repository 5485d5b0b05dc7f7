"""Jobs, and the lines of their logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tidegate.deploys.rules.issued import NOTHING, Issued

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.job import Job, TakenJob
    from tidegate.deploys.rules.plan_runner import Limit, OnFargate


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Consecutive lines of a job's log. ``position`` is the number of its first line, from 0."""

    position: int
    lines: tuple[str, ...]


class Jobs(Protocol):
    def create(self, job: Job) -> None:
        """Create the job. A repeated call with the same content changes nothing."""

    def get(self, job: str) -> Job:
        """Return the job. Raise NotFound."""

    def existing(self, jobs: Collection[str]) -> set[str]:
        """Return those of the ids that jobs have."""

    def hand_over(self, job: str, token: str, clone_token: str, identity: Issued = NOTHING) -> bool:
        """Store the tokens for the runner. Return False if a runner has taken the job, or it is closed."""

    def take(self, job: str, runner: str) -> TakenJob | None:
        """Take the job for ``runner`` (a task ARN), once; None while nothing is dispatched.

        Raise ApplyAlreadyStarted if another runner has taken it, or it is closed.
        """

    def token(self, job: str) -> str | None:
        """Return the task token that waits for the job's result, if one was dispatched."""

    def runner(self, job: str) -> str | None:
        """Return the runner that took the job (its name in ``take``), if any."""

    def token_of(self, job: str, runner: str) -> str | None:
        """Return the task token that waits for the job's result if ``runner`` took the job, otherwise None."""

    def report_stopped(self, job: str, runner: str) -> None:
        """Record that ``runner`` has stopped, if it took the job."""

    def at_large(self, job: str) -> str | None:
        """Return the runner that took the job if it is not known to have stopped."""

    def close(self, job: str) -> bool:
        """Close the job, so that no runner takes it. Return whether one had taken it."""

    def report_limit(self, job: str, limit: Limit) -> None:
        """Record which limit of Lambda the job exceeded."""

    def limit(self, job: str) -> Limit | None:
        """Return the limit of Lambda that the job exceeded, if any."""


class PlanRunners(Protocol):
    """Roots whose plans run on Fargate because one was too large for Lambda. Roots are named by their queues."""

    def keep(self, queue: str, why: OnFargate) -> None:
        """Store this for the root's plans of this form: a pull request's may differ from the branch's."""

    def kept(self, queue: str, form: str) -> OnFargate | None:
        """Return what is stored for the root's plans of this form, if anything."""


class JobLogs(Protocol):
    """The lines of running jobs. They expire after a day."""

    def append(self, job: str, chunk: LogChunk) -> None:
        """Store lines at their position. A repeated chunk changes nothing."""

    def read(self, job: str, position: int, limit: int | None = None) -> Sequence[LogChunk]:
        """Return the stored chunks that begin at ``position`` or later, at most the first ``limit`` of them."""

    def last_before(self, job: str, position: int) -> LogChunk | None:
        """Return the last stored chunk that begins before ``position``, if there is one."""
