"""What the forge shows of drift."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_drift, any_drift_finding, sha
from tidegate.config.rules.drift import DriftState
from tidegate.drift.texts.text import check_run, issue_text, issue_title, marker, summary
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.vcs.rules.check_run import Conclusion

PAGE = "https://tidegate.example"
NONE = any_drift_finding("db", state=DriftState.NONE, drifted_since=None)
DRIFTED = any_drift_finding(changes=PlannedChanges(change=1), job="network-1-speculate-1")


def ended(*findings, **fields):
    return any_drift(findings=findings, sha=sha(1), ended_at=NOW, **fields)


def test_an_issue_tells_what_drifted_since_when_and_where_its_log_is():
    text = issue_text(ended(DRIFTED, NONE), PAGE)
    assert text.startswith(marker("nightly"))
    assert "**1 drifted, 1 without drift**" in text
    assert "| `network` | drifted; to undo it: 1 to change |" in text
    assert f"[All schedules]({PAGE}/drift?repository=acme/infra)" in text
    assert f"[Log]({PAGE}/jobs/network-1-speculate-1)" in text
    assert "`db`" not in text
    assert "To undo the drift, deploy these" in text


def test_it_tells_who_undoes_it():
    record = ended(DRIFTED)
    assert "Tidegate queued deployments that undo the" in summary(
        replace(record, entry=replace(record.entry, reconcile=True)), PAGE
    )


def test_it_tells_what_failed_and_what_was_not_looked_at():
    failed = any_drift_finding("a", state=DriftState.FAILED, reason="It <broke>.", drifted_since=None)
    skipped = any_drift_finding("b", state=DriftState.SKIPPED, reason="Busy.")
    text = summary(ended(failed, skipped, any_drift_finding("c"), notice="d: no stack"), "")
    assert r"the plan failed: It &lt;broke&gt;\." in text
    assert r"not checked: Busy\." in text
    assert "| `c` | drifted |" in text
    assert "d: no stack" in text
    assert "[Log]" not in text


def test_without_drift_it_says_so():
    assert "**No drift**: 1 without drift" in summary(ended(NONE), PAGE)


def test_a_check_run_is_red_while_there_is_drift():
    red, green = check_run(ended(DRIFTED), PAGE), check_run(ended(NONE), "")
    assert (red.name, red.conclusion, red.title) == ("tidegate/drift: nightly", Conclusion.FAILURE, "1 drifted")
    assert red.details_url == f"{PAGE}/drift?repository=acme/infra"
    assert (green.conclusion, green.details_url) == (Conclusion.SUCCESS, None)
    assert red.external_id == green.external_id


def test_hostile_names_stay_names():
    hostile = any_drift("--> @all | <b>", findings=(any_drift_finding(),), ended_at=NOW)
    assert "-->" not in marker(hostile.entry.name).removesuffix("-->")
    assert issue_title(hostile) == "Drift: --> @all | <b>"
    assert "`--> @all | <b>`" in summary(hostile, "")


def test_a_thousand_roots_fit_into_an_issue():
    findings = [any_drift_finding(f"{'long' * 20}-{number}", reason="why " * 60) for number in range(1000)]
    text = issue_text(ended(*findings), PAGE)
    assert len(text.encode()) < 65_536
    assert "more | | | |" in text
