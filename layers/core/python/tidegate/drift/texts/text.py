"""Drift at the VCS provider: an issue for each schedule, or a check run on the newest commit."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.config.rules.drift import DriftFinding, DriftRecord, DriftState
from tidegate.deploys.rules.review import moment
from tidegate.plans.rules.counts import counts
from tidegate.texts.markdown import bounded, code, escaped, one_line
from tidegate.vcs.rules.check_run import MAXIMUM_TITLE, CheckRun, Conclusion
from tidegate.vcs.rules.drift_check_names import drift_check_name

#: Bytes of the table: the VCS provider takes 65,536 characters in all.
_TABLE = 50_000
_NOTICE = 2_000
_HEADER = "| Root | Result | Drifted since | |\n|---|---|---|---|"


def marker(name: str) -> str:
    """Return the hidden beginning of an issue; no schedule's name can end it early."""
    return f"<!-- tidegate drift {name.encode().hex()} -->"


def issue_title(record: DriftRecord) -> str:
    """Return the title of a schedule's issue, which never changes."""
    return f"Drift: {one_line(record.entry.name, 200)}"


def issue_text(record: DriftRecord, page: str) -> str:
    """Return the text of a schedule's issue. ``page`` is the base URL of logs, or empty."""
    return f"{marker(record.entry.name)}\n{summary(record, page)}"


def check_run(record: DriftRecord, page: str) -> CheckRun:
    """Return a schedule's check run on the checked commit."""
    return CheckRun(
        name=drift_check_name(one_line(record.entry.name, 60)),
        sha=record.sha,
        external_id=f"{record.id}@{record.sha[:12]}",
        status="completed",
        title=one_line(record.summary, MAXIMUM_TITLE),
        summary=summary(record, page),
        conclusion=Conclusion.FAILURE if record.needs_people else Conclusion.SUCCESS,
        details_url=f"{page}/drift?repository={record.repository}" if page else None,
    )


def summary(record: DriftRecord, page: str) -> str:
    """Return the result, in Markdown."""
    return "\n\n".join(_parts(record, page))


def _parts(record: DriftRecord, page: str) -> Iterator[str]:
    at = moment(record.ended_at) if record.ended_at else ""
    if record.needs_people:
        yield f"**{record.summary}**, compared with {code(record.sha[:7])} of {code(record.branch)}, on {at}."
    else:
        yield f"**No drift**: {record.summary}, on {at}."
    rows = [_row(each, page) for each in record.findings if each.state is not DriftState.NONE]
    if rows:
        yield f"{_HEADER}\n{bounded(rows, _TABLE, lambda left: f'| and {left} more | | | |')}"
    if record.notice:
        yield escaped(record.notice, _NOTICE)
    if record.drifted:
        yield _next(record)
    where = f" [All schedules]({page}/drift?repository={record.repository})" if page else ""
    yield f"Checked {escaped(record.entry.timetable.words)} by the schedule {code(record.entry.name)}.{where}"


def _row(finding: DriftFinding, page: str) -> str:
    since = moment(finding.drifted_since) if finding.drifted_since else ""
    log = f"[Log]({page}/jobs/{finding.job})" if page and finding.job else ""
    return f"| {code(finding.label).replace('|', '')} | {_found(finding)} | {since} | {log} |"


def _found(finding: DriftFinding) -> str:
    reason = escaped(finding.reason, 300)
    match finding.state:
        case DriftState.DRIFTED:
            return f"drifted; to undo it: {counts(finding.changes)}" if finding.changes else "drifted"
        case DriftState.SKIPPED:
            return f"not checked: {reason}"
        case _:
            return f"the plan failed: {reason}"


def _next(record: DriftRecord) -> str:
    if record.entry.reconcile:
        return "Tidegate queued deployments that undo the drift. Review their plans as configured."
    return "To undo the drift, deploy these roots. To keep it, change the configuration to match."
