"""What required checks say of a commit, over commit statuses and check runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.rules.config_updates import RequiredCheck, Timeouts
from tidegate.config_updates.rules.verdicts import (
    CommitVerdict,
    Retried,
    Verdict,
    judge_commit,
)
from tidegate.vcs.rules.check_report import CheckReport, Source

PUSHED = datetime(2026, 3, 2, 8, tzinfo=UTC)
TESTS, LINT = RequiredCheck("tests", "github-actions"), RequiredCheck("lint", "github-actions")


def _run(result: str, number: int = 1, *, name: str = "tests", app: str = "github-actions", **fields) -> CheckReport:
    return CheckReport(fields.pop("source", Source.CHECK_RUN), name, app, result, number, **fields)


def _judged(*reports: CheckReport, required=(TESTS,), minutes: int = 1, retried=None) -> CommitVerdict:
    now = PUSHED + timedelta(minutes=minutes)
    return judge_commit(required, reports, PUSHED, now, Timeouts(), retried or {})


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ("success", Verdict.PASS),
        ("neutral", Verdict.PASS),
        ("skipped", Verdict.PASS),
        ("failure", Verdict.FAIL),
        ("error", Verdict.FAIL),
        ("pending", Verdict.NONE),
        ("queued", Verdict.NONE),
        ("in_progress", Verdict.NONE),
        ("cancelled", Verdict.NONE),
        ("stale", Verdict.NONE),
        ("timed_out", Verdict.RETRY),
        ("startup_failure", Verdict.RETRY),
        ("action_required", Verdict.RETRY),
        ("a word that the forge invents tomorrow", Verdict.NONE),
    ],
)
def test_each_result_has_one_verdict(result: str, verdict: Verdict):
    assert _judged(_run(result)).verdict is verdict


def test_all_required_checks_must_pass():
    assert _judged(_run("success"), required=(TESTS, LINT)).verdict is Verdict.NONE
    assert _judged(_run("success"), _run("failure", name="lint"), required=(TESTS, LINT)).verdict is Verdict.FAIL
    assert _judged(_run("success"), _run("success", name="lint"), required=(TESTS, LINT)).verdict is Verdict.PASS


def test_a_status_and_a_check_run_of_one_name_must_both_pass():
    status = _run("failure", source=Source.STATUS)
    assert _judged(_run("success", 2), status).verdict is Verdict.FAIL


def test_a_check_of_another_app_never_counts_and_is_told():
    judged = _judged(_run("success", app="somebody"))
    assert judged.verdict is Verdict.NONE
    assert judged.reason == "tests has not started; one by somebody does not count."
    assert _judged(_run("success", app="somebody"), _run("success", 2)).verdict is Verdict.PASS


@given(st.permutations([("pending", 1), ("failure", 2), ("success", 3)]))
def test_the_newest_report_counts_in_whatever_order_reports_arrive(reports):
    assert _judged(*[_run(result, number) for result, number in reports]).verdict is Verdict.PASS


def test_what_came_to_no_result_is_asked_for_once_more_and_then_fails():
    assert _judged(_run("timed_out")).retries == (TESTS,)
    once = {("tests", Source.CHECK_RUN): Retried(1, PUSHED)}
    assert _judged(_run("timed_out"), retried=once).verdict is Verdict.NONE
    assert _judged(_run("timed_out"), retried=once, minutes=16).verdict is Verdict.FAIL
    refused = {("tests", Source.CHECK_RUN): Retried(1, PUSHED, accepted=False)}
    assert _judged(_run("timed_out"), retried=refused).reason == (
        "tests ended without a result (timed out): run it again."
    )
    assert _judged(_run("timed_out"), _run("timed_out", 2), retried=once).verdict is Verdict.FAIL
    assert _judged(_run("timed_out"), _run("success", 2), retried=once).verdict is Verdict.PASS


def test_a_check_that_never_starts_fails_after_its_time():
    assert _judged(minutes=15).verdict is Verdict.NONE
    late = _judged(minutes=16)
    assert late.verdict is Verdict.FAIL
    assert "15 minutes" in late.reason


def test_a_check_that_never_finishes_fails_after_its_time():
    started = _run("in_progress", started_at=PUSHED + timedelta(minutes=10))
    assert _judged(started, minutes=70).verdict is Verdict.NONE
    assert _judged(started, minutes=71).verdict is Verdict.FAIL


def test_case_58_a_provider_whose_clock_is_behind_lets_no_check_be_late():
    started = _run("in_progress", started_at=PUSHED - timedelta(hours=3))
    assert _judged(started, minutes=60).verdict is Verdict.NONE
    assert _judged(started, minutes=61).verdict is Verdict.FAIL


def test_a_commit_without_required_checks_is_never_green():
    assert _judged(_run("success"), required=()).verdict is Verdict.NONE
