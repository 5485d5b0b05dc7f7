"""What the required checks of a commit say: one function over commit statuses and check runs.

Both systems exist beside each other. Where a status and a check run share a required name, both must pass. Anybody who
may write to a repository may set a status, so a required check counts only from the App that it is pinned to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from tidegate.config.rules.config_updates import RequiredCheck, Timeouts
from tidegate.vcs.rules.check_report import CheckReport, Source


class Verdict(StrEnum):
    """What a check says. ``none``: nothing yet. ``retry``: it did not get to a result, and is asked for once more."""

    PASS = "pass"  # noqa: S105  # A verdict.
    FAIL = "fail"
    NONE = "none"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Retried:
    """A check that was requested again at that time, when its newest report had this ``number``.

    ``accepted`` tells whether the VCS provider took the request: some checks only people can run again.
    """

    number: int
    at: datetime
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What one required check says of a commit, and why."""

    check: RequiredCheck
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class CommitVerdict:
    """What all required checks say together."""

    verdict: Verdict
    checks: tuple[CheckVerdict, ...]

    @property
    def retries(self) -> tuple[RequiredCheck, ...]:
        """The checks that are to be asked for once more."""
        return tuple(each.check for each in self.checks if each.verdict is Verdict.RETRY)

    @property
    def reason(self) -> str:
        """Why it is not a pass, for people: what failed, or else what is missing."""
        told = [each for each in self.checks if each.verdict is Verdict.FAIL]
        told = told or [each for each in self.checks if each.verdict is not Verdict.PASS]
        return " ".join(f"{each.check.name} {each.reason}." for each in told)


#: Characters of an App's name in a reason, which the head keeps twice for each check.
_LONGEST_APP = 30
_PASSED = frozenset({"success", "neutral", "skipped"})
_FAILED = frozenset({"failure", "error"})
#: Infrastructure: nobody has judged the commit. ``action_required`` needs a person, so it is asked for once more too.
_UNDECIDED = frozenset({"timed_out", "startup_failure", "action_required"})
#: Cancelled is no verdict: CI that cancels older runs of a branch cancels those of every commit but the newest.
_CANCELLED = frozenset({"cancelled", "stale"})


def judge_commit(
    required: Sequence[RequiredCheck],
    reports: Iterable[CheckReport],
    pushed_at: datetime | None,
    now: datetime,
    timeouts: Timeouts,
    retried: Mapping[tuple[str, Source], Retried] = MappingProxyType({}),
) -> CommitVerdict:
    """Return what the required checks say of a commit that was pushed at that time.

    None is one that was pushed below another one: CI may never start on it, and nobody waits for that.
    ``retried`` are the reports after which a check was requested again. Never green without a required check. A check
    that has not passed says whether another App reports one of its name: the file may name the wrong App.
    """
    newest: dict[tuple[str, Source], CheckReport] = {}
    others: dict[str, str] = {}
    names = {check.name: check for check in required}
    for report in sorted(reports, key=lambda each: each.number):
        check = names.get(report.name)
        if check is None:
            continue
        if report.app != check.app:
            others[report.name] = report.app or "an unknown App"
            continue
        newest[report.name, report.source] = report
    judged = (_judge(check, newest, pushed_at, now, timeouts, retried) for check in required)
    checks = tuple(_with_other(each, others) for each in judged)
    return CommitVerdict(_all(checks), checks)


def _with_other(judged: CheckVerdict, others: Mapping[str, str]) -> CheckVerdict:
    """Return a verdict that names the App whose report of this name does not count, if there is one."""
    other = others.get(judged.check.name)
    if other is None or judged.verdict is Verdict.PASS:
        return judged
    return replace(judged, reason=f"{judged.reason}; one by {other[:_LONGEST_APP]} does not count")


def _all(checks: Sequence[CheckVerdict]) -> Verdict:
    verdicts = {each.verdict for each in checks}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    if verdicts == {Verdict.PASS}:
        return Verdict.PASS
    return Verdict.RETRY if Verdict.RETRY in verdicts else Verdict.NONE


def _judge(
    check: RequiredCheck,
    newest: dict[tuple[str, Source], CheckReport],
    pushed_at: datetime | None,
    now: datetime,
    timeouts: Timeouts,
    retried: Mapping[tuple[str, Source], Retried],
) -> CheckVerdict:
    reports = [newest[check.name, source] for source in Source if (check.name, source) in newest]
    if not reports and pushed_at is None:
        return CheckVerdict(check, Verdict.NONE, "runs on the commit above first")
    pushed_at = pushed_at or now
    if not reports:
        late = now - pushed_at > timeouts.start
        reason = f"did not start within {_minutes(timeouts.start)}" if late else "has not started"
        return CheckVerdict(check, Verdict.FAIL if late else Verdict.NONE, reason)
    judged = [_of_report(check, report, pushed_at, now, timeouts, retried) for report in reports]
    order = (Verdict.FAIL, Verdict.RETRY, Verdict.NONE, Verdict.PASS)
    return min(judged, key=lambda each: order.index(each.verdict))


def _of_report(
    check: RequiredCheck,
    report: CheckReport,
    pushed_at: datetime,
    now: datetime,
    timeouts: Timeouts,
    retried: Mapping[tuple[str, Source], Retried],
) -> CheckVerdict:
    result = report.result
    if result in _PASSED:
        return CheckVerdict(check, Verdict.PASS, "passed" if result == "success" else f"passed ({result})")
    if result in _FAILED:
        return CheckVerdict(check, Verdict.FAIL, "failed")
    if result in _UNDECIDED:
        return _undecided(check, report, retried.get((check.name, report.source)), now, timeouts)
    # No check of a commit starts before its push, whatever the provider's clock says.
    if now - max(report.started_at or pushed_at, pushed_at) > timeouts.finish:
        return CheckVerdict(check, Verdict.FAIL, f"did not finish within {_minutes(timeouts.finish)}")
    return CheckVerdict(check, Verdict.NONE, "was cancelled" if result in _CANCELLED else "is running")


def _undecided(
    check: RequiredCheck, report: CheckReport, retried: Retried | None, now: datetime, timeouts: Timeouts
) -> CheckVerdict:
    reason = f"ended without a result ({report.result.replace('_', ' ')})"
    if retried is None:
        return CheckVerdict(check, Verdict.RETRY, reason)
    if report.number > retried.number:
        return CheckVerdict(check, Verdict.FAIL, f"{reason} twice")
    if now - retried.at > timeouts.start:
        return CheckVerdict(check, Verdict.FAIL, f"{reason}, and did not start again within {_minutes(timeouts.start)}")
    return CheckVerdict(check, Verdict.NONE, "was requested again" if retried.accepted else f"{reason}: run it again")


def _minutes(time: timedelta) -> str:
    minutes = int(time.total_seconds() // 60)
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
