"""Publish the result of a drift detection run: in an issue that is updated in place, or in a check run.

A repeated call updates it in place.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.config.rules.drift import DriftRecord, DriftReport
from tidegate.drift.texts.text import check_run, issue_text, issue_title, marker
from tidegate.ports import Ports
from tidegate.pull_requests.keep_check_run import show_check_run
from tidegate.rules.errors import ForgeRefused, NotFound


def report_drift(ports: Ports, record: DriftRecord) -> DriftRecord:
    """Publish it; return the record with its issue. Raise ForgeUnavailable and ForgeRefused."""
    if record.entry.report is DriftReport.ISSUE:
        return _in_issue(ports, record)
    if record.sha:
        show_check_run(ports, record.repository, check_run(record, ports.web_url))
    return _closed(ports, record)


def withdraw_drift(ports: Ports, record: DriftRecord) -> None:
    """Close the issue of a removed schedule, if permitted. Raise ForgeUnavailable."""
    try:
        _closed(ports, record)
    except ForgeRefused:
        return


def _in_issue(ports: Ports, record: DriftRecord) -> DriftRecord:
    """Open the issue, or keep it open, while there is something to do; close it otherwise."""
    if not record.needs_people:
        return _closed(ports, record)
    if not (record.issue and _is_written(ports, record, record.issue, is_open=True)):
        record = replace(record, issue=_found_or_opened(ports, record))
    return replace(record, is_reported=True)


def _found_or_opened(ports: Ports, record: DriftRecord) -> int:
    """Return an unrecorded issue of ours, or else a new one."""
    for issue in ports.issues.our_issues(record.repository, marker(record.entry.name)):
        if _is_written(ports, record, issue, is_open=True):
            return issue
    return ports.issues.open_issue(record.repository, issue_title(record), issue_text(record, ports.web_url))


def _closed(ports: Ports, record: DriftRecord) -> DriftRecord:
    if not record.is_reported:
        return record
    _is_written(ports, record, record.issue, is_open=False)
    return replace(record, is_reported=False)


def _is_written(ports: Ports, record: DriftRecord, issue: int, *, is_open: bool) -> bool:
    """Write an issue; return False if it was deleted."""
    try:
        ports.issues.write_issue(record.repository, issue, issue_text(record, ports.web_url), is_open=is_open)
    except NotFound:
        return False
    return True
