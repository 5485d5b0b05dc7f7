"""What the HTTP API says of drift."""

from __future__ import annotations

from pydantic import Field

from tidegate.config.rules.drift import DriftFinding, DriftReport, DriftState
from tidegate.drift.get_drift import DriftView, Undoing
from tidegate.web.models import Changes, HeadlineModel, Instant, JobLink, Shown
from tidegate.web.shapes import Shapes, changes_of, headline_model


class DriftFindingModel(Shown):
    """How a root, in one stack, stands."""

    root: str
    stack: str
    state: DriftState
    reason: str = Field(description="Why its plan failed, or why it was not checked")
    drifted_since: Instant | None = Field(description="When the current drift was first detected, ISO 8601")
    changes: Changes | None = Field(description="The changes that would undo the drift")
    deployment: str | None = Field(description="The id of the deployment that undoes it, if there is one")
    undoing: Undoing | None = Field(
        description="Its progress: requested; absent (not queued yet, or refused); or undone"
    )
    job: JobLink | None


class DriftScheduleModel(Shown):
    """A schedule of a repository, and what its last run found."""

    repository: str
    schedule: str
    when: str = Field(description="When it runs, as text")
    tag_query: str
    reconcile: bool
    report: DriftReport
    problem: str = Field(description="Why it does not run, if it does not")
    running: bool
    looked_at: Instant | None = Field(description="When its last run ended, ISO 8601 in UTC; null before the first")
    revision: str | None = Field(description="The commit that was checked")
    headline: HeadlineModel | None = Field(default=None, description="What that commit is")
    notice: str = Field(description="What the last run left out or could not report, and why")
    roots: list[DriftFindingModel] = Field(
        description="Failed roots first, then drifted ones, then those without drift"
    )
    issue_url: str | None = Field(description="The issue that reports it, if there is one")


class Looking(Shown):
    """A run that was started."""

    message: str


class DriftList(Shown):
    """Schedules by repository; in each those first that need people."""

    schedules: list[DriftScheduleModel]
    next: str | None = Field(default=None, description="`after` of the next page; null: there is none")
    unchecked: int = Field(description="How many repositories your permission was not checked for yet")


def drift_schedule(shapes: Shapes, view: DriftView) -> DriftScheduleModel:
    """Return a schedule with what it found."""
    record, entry = view.record, view.record.entry
    return DriftScheduleModel(
        repository=record.repository,
        schedule=entry.name,
        when=entry.timetable.words,
        tag_query=entry.query,
        reconcile=entry.reconcile,
        report=entry.report,
        problem=record.problem,
        running=bool(record.execution),
        looked_at=record.ended_at,
        revision=record.sha or None,
        headline=headline_model(record.headline),
        notice=record.notice,
        roots=[_finding(shapes, view, each) for each in record.findings],
        issue_url=shapes.issue_url(record.repository, record.issue) if record.is_reported else None,
    )


def _finding(shapes: Shapes, view: DriftView, finding: DriftFinding) -> DriftFindingModel:
    undoing = view.undoing(finding)
    return DriftFindingModel(
        root=finding.root,
        stack=finding.stack,
        state=finding.state,
        reason=finding.reason,
        drifted_since=finding.drifted_since,
        changes=changes_of(finding.changes) if finding.changes else None,
        deployment=finding.deployment if undoing not in {None, Undoing.ABSENT} else None,
        undoing=undoing,
        job=shapes.job_link(finding.job) if finding.job else None,
    )
