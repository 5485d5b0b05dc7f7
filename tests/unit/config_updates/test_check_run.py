"""The check run of an entry's commit, and its buttons."""

from __future__ import annotations

from tests.unit.config_updates.worker import CONFIG, Worker
from tidegate.config_updates.answer_entry_button import answer_entry_button
from tidegate.config_updates.publish_entry import publish_entry
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.texts.check_run import CHECK_RUN, entry_of
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.check_run import Button, CheckRun, Conclusion


def shown(worker: Worker, entry: str) -> CheckRun:
    publish_entry(worker.ports, CONFIG, entry)
    return list(worker.forge.check_runs.values())[-1]


def test_an_entry_shows_its_position_and_what_its_checks_say(worker: Worker) -> None:
    worker.announce(1)
    entry = worker.announce(2)
    worker.until_waiting()
    check_run = shown(worker, entry)
    assert (check_run.name, check_run.sha, check_run.status) == (CHECK_RUN, "c2", "in_progress")
    assert "2 of 2" in check_run.title
    assert "`check`" in check_run.summary
    assert [each.button for each in check_run.actions] == [Button.EVICT]
    assert entry_of(check_run.external_id) == entry


def test_a_landed_entry_can_be_rolled_back(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.until_waiting()
    check_run = shown(worker, entry)
    assert check_run.conclusion is Conclusion.SUCCESS
    assert [each.button for each in check_run.actions] == [Button.ROLL_BACK]


def test_an_evicted_entry_says_why_and_can_be_retried(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "failure")
    worker.until_waiting()
    check_run = shown(worker, entry)
    assert check_run.conclusion is Conclusion.FAILURE
    assert "check failed" in check_run.summary
    assert [each.button for each in check_run.actions] == [Button.RETRY]


def test_a_commit_that_was_made_anew_says_what_takes_its_place(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    worker.checked(entry, "success")
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    old, new = (each for each in worker.forge.check_runs.values())
    assert (old.sha, old.status, old.conclusion) == ("c1", "completed", Conclusion.NEUTRAL)
    assert (new.sha, new.status) == ("c2", "in_progress")
    assert "c2" in old.title


def test_an_entry_without_a_commit_has_no_check_run(worker: Worker) -> None:
    entry = worker.announce(1)
    publish_entry(worker.ports, CONFIG, entry)
    assert worker.forge.check_runs == {}


def test_a_writer_evicts_with_the_button(worker: Worker) -> None:
    worker.forge.writers.add("operator")
    entry = worker.announce(1)
    worker.until_waiting()
    assert answer_entry_button(worker.ports, CONFIG, entry, Button.EVICT, "operator") == "done"
    worker.until_waiting()
    assert worker.state(entry) is EntryState.EVICTED
    assert worker.at("auto") == "m1"


def test_a_reader_is_refused_on_the_check_run(worker: Worker) -> None:
    worker.forge.roles["reader"] = Permission.READ
    entry = worker.announce(1)
    worker.until_waiting()
    assert "needs write access" in answer_entry_button(worker.ports, CONFIG, entry, Button.EVICT, "reader")
    ((_, _, notice),) = worker.publisher.notices
    publish_entry(worker.ports, CONFIG, entry, notice)
    assert "needs write access" in list(worker.forge.check_runs.values())[-1].summary
    assert worker.state(entry) is EntryState.TESTING
