"""What the check run of an entry says, and when an older one is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.config_updates.worker import CONFIG, Worker
from tidegate.config_updates.publish_entry import publish_entry
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.queue import Blocked, JudgedCheck, OnAuto, Pause, UpdateHead
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.config_updates.texts.check_run import EntryCheckRun, render_entry, subject
from tidegate.vcs.rules.check_run import Conclusion

NOW = utc("2026-11-27T10:00")
ENTRY = UpdateEntry("high", CONFIG, "shop", "production", EntryKind.ANNOUNCEMENT, NOW, "ci", app_sha="a" * 40)


def judged(entry: str, *verdicts: Verdict) -> OnAuto:
    """Return an entry on the auto branch whose checks, check-1 and so on, say that."""
    checks = tuple(JudgedCheck(f"check-{number}", each, "It said so.") for number, each in enumerate(verdicts, 1))
    worst = next((each for each in (Verdict.FAIL, Verdict.NONE) if each in verdicts), Verdict.PASS)
    return OnAuto(entry, f"commit-of-{entry}", NOW, verdict=worst if verdicts else Verdict.NONE, checks=checks)


def rendered(*stack: OnAuto, **head):
    """Return the check run of the uppermost entry."""
    return render_entry(EntryCheckRun(ENTRY, UpdateHead(CONFIG, stack=stack, **head), stack[-1]))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (EntryKind.ANNOUNCEMENT, ["a" * 10, "shop", "to production"]),
        (EntryKind.PROMOTION, ["shop", "from staging", "to production"]),
        (EntryKind.ROLLBACK, ["shop", "in production", "back to", "a" * 10]),
    ],
)
def test_it_is_told_what_goes_where(kind: EntryKind, words: list[str]) -> None:
    told = subject(replace(ENTRY, kind=kind, source_environment="staging"))
    assert [each for each in words if each not in told] == []


def test_without_an_application_s_commit_the_config_repository_s_is_told() -> None:
    assert "b" * 10 in subject(replace(ENTRY, kind=EntryKind.ROLLBACK, app_sha="", source_sha="b" * 40))


@pytest.mark.parametrize(
    ("verdicts", "words", "absent"),
    [
        ((Verdict.FAIL, Verdict.PASS), ["1 of 1", "check-1 failed"], "check-2"),
        ((Verdict.PASS, Verdict.NONE), ["1 of 1", "waits for check-2"], "check-1"),
        ((Verdict.PASS, Verdict.PASS), ["Passed"], "1 of 1"),
        ((), ["1 of 1"], "Passed"),
    ],
)
def test_the_title_says_how_far_its_checks_are(verdicts: tuple[Verdict, ...], words: list[str], absent: str) -> None:
    title = rendered(judged("high", *verdicts)).title
    assert [each for each in words if each not in title] == []
    assert absent not in title


@pytest.mark.parametrize(
    ("below", "own", "told"),
    [
        (Verdict.NONE, Verdict.FAIL, 1),
        (Verdict.PASS, Verdict.FAIL, 0),
        (Verdict.NONE, Verdict.NONE, 0),
    ],
)
def test_only_what_failed_above_an_undecided_entry_may_have_failed_because_of_it(
    below: Verdict, own: Verdict, told: int
) -> None:
    summary = rendered(judged("low", below), judged("high", own)).summary
    assert summary.count("an entry below it") == told


def test_why_the_queue_does_not_move_is_told_on_each_entry() -> None:
    one = judged("high", Verdict.NONE)
    moves = rendered(one).summary
    waits = rendered(
        one, blocked=Blocked("The branch is protected.", NOW), pause=Pause("olga", NOW, "Inventory")
    ).summary
    for each in ("The branch is protected", "olga", "Inventory"):
        assert (each in waits, each in moves) == (True, False)


@pytest.mark.parametrize("state", [EntryState.SUPERSEDED, EntryState.NOOP])
def test_what_nobody_needs_any_more_has_no_buttons(state: EntryState) -> None:
    ended = replace(ENTRY, state=state, commit="c1")
    check_run = render_entry(EntryCheckRun(ended, UpdateHead(CONFIG), None))
    assert (check_run.conclusion, check_run.actions) == (Conclusion.NEUTRAL, ())


def test_nobody_is_named_if_nobody_asked() -> None:
    known, unknown = (
        render_entry(EntryCheckRun(replace(ENTRY, by=by, state=EntryState.NOOP, commit="c"), UpdateHead(CONFIG), None))
        for by in ("olga", "")
    )
    assert ("by `olga`" in known.summary, " by " in unknown.summary) == (True, False)


def test_the_check_run_of_a_replaced_commit_is_closed_once_and_then_left_alone(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    worker.checked(entry, "success")
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    before = dict(worker.forge.check_runs)
    publish_entry(worker.ports, CONFIG, entry, "Refused.")
    old, new = worker.forge.check_runs
    assert worker.forge.check_runs[old] == before[old]
    assert "Refused" in worker.forge.check_runs[new].summary
