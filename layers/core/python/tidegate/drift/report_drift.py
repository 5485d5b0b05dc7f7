"""Show on the forge what a look for drift found: in an issue that is updated in place, or in a check run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.config.rules.drift import DriftRecord, DriftReport
from tidegate.drift.texts.text import check_run, issue_text, issue_title, marker
from tidegate.ports import ForgeIssues
from tidegate.pull_requests.keep_check_run import CheckRunKeeper
from tidegate.rules.errors import ForgeRefused, NotFound


@dataclass(frozen=True, slots=True)
class DriftReporter:
    """Shows drift; once more changes what is shown in place. ``page`` is where the pages are, or empty."""

    issues: ForgeIssues
    keeper: CheckRunKeeper
    page: str

    def report(self, record: DriftRecord) -> DriftRecord:
        """Show it; return the record with the issue that shows it. Raise ForgeUnavailable and ForgeRefused."""
        if record.entry.report is DriftReport.ISSUE:
            return self._in_issue(record)
        if record.sha:
            self.keeper.show(*record.where, check_run(record, self.page))
        return self._closed(record)

    def withdraw(self, record: DriftRecord) -> None:
        """Close the issue of a schedule that is no more, if the forge lets us. Raise ForgeUnavailable."""
        try:
            self._closed(record)
        except ForgeRefused:
            return

    def _in_issue(self, record: DriftRecord) -> DriftRecord:
        """Open the issue, or keep it open, while there is something to do; close it once there is nothing any more."""
        if not record.needs_people:
            return self._closed(record)
        if not (record.issue and self._is_written(record, record.issue, is_open=True)):
            record = replace(record, issue=self._found_or_opened(record))
        return replace(record, is_reported=True)

    def _found_or_opened(self, record: DriftRecord) -> int:
        """Return an issue that was opened and not remembered, or else a new one."""
        for issue in self.issues.our_issues(*record.where, marker(record.entry.name)):
            if self._is_written(record, issue, is_open=True):
                return issue
        return self.issues.open_issue(*record.where, issue_title(record), issue_text(record, self.page))

    def _closed(self, record: DriftRecord) -> DriftRecord:
        if not record.is_reported:
            return record
        self._is_written(record, record.issue, is_open=False)
        return replace(record, is_reported=False)

    def _is_written(self, record: DriftRecord, issue: int, *, is_open: bool) -> bool:
        """Write an issue; return False if it is gone."""
        try:
            self.issues.write_issue(*record.where, issue, issue_text(record, self.page), is_open=is_open)
        except NotFound:
            return False
        return True
