"""Buttons of an entry's check run: what each of them does, and why it is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.config_updates.worker import CONFIG, FILE, Worker
from tidegate.config_updates.answer_entry_button import answer_entry_button
from tidegate.config_updates.publish_entry import publish_entry
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.environment import Landed
from tidegate.config_updates.texts.check_run import CHECK_RUN, external_id
from tidegate.requests.answer_button import ButtonClick, answer_button
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.check_run import Button


def press(worker: Worker, entry: str, button: str) -> str:
    worker.forge.writers.add("operator")
    return answer_entry_button(worker.ports, CONFIG, entry, button, "operator")


def landed(worker: Worker) -> str:
    """Return an entry that has landed in staging, where another image set was before."""
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.until_waiting()
    state = worker.ports.config_updates.environment(CONFIG, "shop", "staging")
    earlier = Landed("0" * 40, "earlier", worker.clock.now(), "ci")
    worker.ports.config_updates.save_environment(replace(state, landed=(*state.landed[:1], earlier)))
    return entry


def test_retry_puts_an_evicted_entry_into_the_queue_again(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "failure")
    worker.until_waiting()
    assert press(worker, entry, Button.RETRY) == "done"
    assert worker.head.waiting == (entry,)
    assert worker.state(entry) is EntryState.QUEUED


def test_roll_back_brings_the_images_before_the_entry_s(worker: Worker) -> None:
    entry = landed(worker)
    assert press(worker, entry, Button.ROLL_BACK) == "done"
    (waiting,) = worker.head.waiting
    made = worker.ports.config_updates.entry(CONFIG, waiting)
    assert (made.kind, made.environment, made.source_sha) == (EntryKind.ROLLBACK, "staging", "0" * 40)


def test_roll_back_is_refused_once_something_newer_has_landed(worker: Worker) -> None:
    entry = landed(worker)
    state = worker.ports.config_updates.environment(CONFIG, "shop", "staging")
    newer = Landed("9" * 40, "newer", worker.clock.now(), "somebody")
    worker.ports.config_updates.save_environment(state.with_landed(newer))
    assert "newer image set has landed in staging" in press(worker, entry, Button.ROLL_BACK)
    assert worker.head.waiting == ()


def test_roll_back_is_refused_where_nothing_has_landed(worker: Worker) -> None:
    entry = worker.announce(1)
    assert press(worker, entry, Button.ROLL_BACK).startswith("refused: ")
    assert worker.head.waiting == (entry,)


def test_a_button_that_is_none_is_refused_on_the_check_run(worker: Worker) -> None:
    entry = worker.announce(1)
    assert "'explode'" in press(worker, entry, "explode")
    ((_, about, notice),) = worker.publisher.notices
    assert (about, "explode" in notice) == (entry, True)


def test_a_configuration_that_cannot_be_read_is_told_on_the_check_run(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.branches.files["m1", "tidegate.yaml"] = FILE + b"colour: red\n"
    assert "colour" in press(worker, entry, Button.EVICT)
    assert worker.head.waiting == (entry,)
    assert len(worker.publisher.notices) == 1


def test_a_button_of_an_unknown_entry_is_raised(worker: Worker) -> None:
    with pytest.raises(NotFound):
        press(worker, "none", Button.RETRY)
    assert worker.publisher.notices == []


def test_a_button_of_an_entry_s_check_run_leads_to_its_queue(worker: Worker) -> None:
    worker.forge.writers.add("operator")
    entry = worker.announce(1)
    worker.until_waiting()
    at = utc("2026-11-27T11:00")
    click = ButtonClick(CONFIG, 1, CHECK_RUN, "c1", external_id(entry, "c1"), Button.EVICT, "operator", at)
    assert answer_button(worker.ports, click) == "done"
    assert [each.entry for each in worker.head.evictions] == [entry]


def test_a_check_run_of_that_name_that_shows_no_entry_leads_to_no_queue(worker: Worker) -> None:
    worker.forge.writers.add("operator")
    entry = worker.announce(1)
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    (shown,) = worker.forge.check_runs
    click = ButtonClick(CONFIG, shown, CHECK_RUN, "c1", entry, Button.EVICT, "operator", utc("2026-11-27T11:00"))
    assert answer_button(worker.ports, click) == "refused: foreign"
    assert worker.head.evictions == ()


def test_what_is_left_of_a_repository_without_config_updates_is_evicted(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.branches.files["m1", "tidegate.yaml"] = b"version: 1\n"
    assert press(worker, entry, Button.EVICT) == "done"
    assert worker.state(entry) is EntryState.EVICTED


def test_roll_back_is_refused_in_an_environment_that_is_not_declared_any_more(worker: Worker) -> None:
    entry = landed(worker)
    stored = worker.ports.config_updates.entry(CONFIG, entry)
    moved = replace(stored, environment="gone")
    worker.ports.config_updates.commit(worker.head, worker.head, [moved])
    gone = worker.ports.config_updates.environment(CONFIG, "shop", "gone")
    newest = Landed("8" * 40, "i", worker.clock.now(), "ci", entry=entry)
    worker.ports.config_updates.save_environment(gone.with_landed(newest))
    assert "'gone'" in press(worker, entry, Button.ROLL_BACK)
