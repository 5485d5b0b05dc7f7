"""Jobs, and the lines of their logs."""

from __future__ import annotations

from collections.abc import Sequence
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
        """Store the job. Creating it again with the same content changes nothing."""

    def get(self, job: str) -> Job:
        """Return the job. Raise NotFound."""

    def hand_over(self, job: str, token: str, clone_token: str, identity: Issued = NOTHING) -> bool:
        """Leave the tokens for the runner. Return False when a runner has taken the job, or it is closed."""

    def take(self, job: str, runner: str) -> TakenJob | None:
        """Take the job for ``runner`` (a task ARN), once and for all; None while nothing was dispatched.

        Raise ApplyAlreadyStarted when another runner has taken it, or it was closed.
        """

    def token(self, job: str) -> str | None:
        """Return the task token that waits for the job's result, if one was dispatched."""

    def runner(self, job: str) -> str | None:
        """Return the runner that took the job (as it gave itself to ``take``), if one did."""

    def token_of(self, job: str, runner: str) -> str | None:
        """Return the task token that waits for the job's result if ``runner`` took the job, otherwise None."""

    def report_stopped(self, job: str, runner: str) -> None:
        """Remember that ``runner`` has stopped, if it is the one that took the job."""

    def at_large(self, job: str) -> str | None:
        """Return the runner that took the job if it is not known to have stopped."""

    def close(self, job: str) -> bool:
        """Make sure that nobody takes the job any more. Return whether a runner had taken it."""

    def report_limit(self, job: str, limit: Limit) -> None:
        """Remember which limit of Lambda the job has met."""

    def limit(self, job: str) -> Limit | None:
        """Return the limit of Lambda that the job has met, if it has met one."""


class PlanRunners(Protocol):
    """Which roots' plans run on Fargate, as one of them was too large for Lambda. Roots are named by their queues."""

    def keep(self, queue: str, why: OnFargate) -> None:
        """Remember this of the root's plans of this form: a pull request may have another one than the branch."""

    def kept(self, queue: str, form: str) -> OnFargate | None:
        """Return what is remembered of the root's plans of this form, if anything is."""


class JobLogs(Protocol):
    """The lines of running jobs. They expire a day after they were written."""

    def append(self, job: str, chunk: LogChunk) -> None:
        """Store lines at their position. The same chunk again changes nothing."""

    def read(self, job: str, position: int, limit: int | None = None) -> Sequence[LogChunk]:
        """Return the stored chunks that begin at ``position`` or later, at most the first ``limit`` of them."""

    def last_before(self, job: str, position: int) -> LogChunk | None:
        """Return the last stored chunk that begins before ``position``, if there is one."""
