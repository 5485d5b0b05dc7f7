"""Schedules that look for drift, and what they found."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer
from tidegate_cli.answers.deployments import Changes, JobLink


class Looking(Answer):
    """A run that was started, in words."""

    message: str


class DriftFinding(Answer):
    """How a root, in one stack, stands."""

    root: str
    stack: str = "default"
    state: str
    reason: str = ""
    drifted_since: str | None = None
    changes: Changes | None = None
    deployment: str | None = None
    undoing: str | None = None
    job: JobLink | None = None


class DriftSchedule(Answer):
    """A schedule of a repository, and what its last run found."""

    repository: str
    schedule: str
    when: str = ""
    tag_query: str = ""
    reconcile: bool = False
    report: str = ""
    problem: str = ""
    running: bool = False
    looked_at: str | None = None
    revision: str | None = None
    notice: str = ""
    roots: tuple[DriftFinding, ...] = ()
    issue_url: str | None = None


class Drift(Answer):
    """Schedules that look for drift, by repository."""

    schedules: list[DriftSchedule]
    unchecked: int = 0
