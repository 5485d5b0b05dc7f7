"""CI tests a push: what was pushed below a failed commit is pushed by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.config_updates.worker import CONFIG, Worker
from tidegate.config_updates.queue.push_untested import push_untested
from tidegate.config_updates.rules.entry import EntryState
from tidegate.messages.config_updates import PushUntested
from tidegate.rules.errors import ForgeRefused


@pytest.fixture
def entries(worker: Worker) -> list[str]:
    """Three entries that were pushed together, of which CI has failed the highest."""
    made = [worker.announce(number) for number in (1, 2, 3)]
    assert worker.until_waiting() == ["align"]
    return made


def pushed(worker: Worker) -> list[str]:
    return [new for branch, _, new in worker.branches.moves if branch == "auto"]


def push(worker: Worker) -> bool:
    message = PushUntested(repository=CONFIG, execution=worker.execution, commits=("c1", "c2"))
    return push_untested(worker.ports, message).moved


def test_the_innocent_ones_land_and_the_guilty_one_is_evicted(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[2], "failure")
    assert worker.until_waiting() == ["test"]
    assert pushed(worker) == ["c3", "c1", "c2", "c3"]
    worker.checked(entries[1], "success")
    assert worker.until_waiting() == ["land", "evict"]
    states = [worker.state(each) for each in entries]
    assert states == [EntryState.LANDED, EntryState.LANDED, EntryState.EVICTED]


def test_commits_of_which_ci_knows_are_not_pushed_again(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[0], "in_progress")
    worker.checked(entries[2], "failure")
    assert worker.until_waiting() == ["test"]
    assert pushed(worker) == ["c3", "c2", "c3"]
    assert worker.until_waiting() == []


def test_the_clock_of_checks_that_never_start_runs_from_the_push_of_the_commit(
    worker: Worker, entries: list[str]
) -> None:
    worker.later(timedelta(minutes=14))
    worker.checked(entries[2], "failure")
    assert worker.until_waiting() == ["test"]
    worker.later(timedelta(minutes=14))
    assert worker.step() == "wait"
    worker.later(timedelta(minutes=2))
    assert worker.step() == "evict"
    assert worker.state(entries[0]) is EntryState.EVICTED


def test_nobody_is_evicted_because_ci_tests_the_commit_above(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[2], "in_progress")
    worker.later(timedelta(minutes=30))
    assert worker.until_waiting() == []
    assert [worker.state(each) for each in entries] == [EntryState.TESTING] * 3


def test_a_repeated_call_goes_on_from_where_the_branch_is(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[2], "failure")
    worker.claim()
    worker.branches.heads["auto"] = "c1"
    assert push(worker)
    assert pushed(worker) == ["c3", "c2", "c3"]
    assert [each.pushed for each in worker.head.stack] == [True, True, True]


def test_a_worker_that_dies_between_the_pushes_is_replaced_by_one_that_rebuilds_the_branch(
    worker: Worker, entries: list[str]
) -> None:
    worker.checked(entries[2], "failure")
    worker.claim()
    worker.branches.heads["auto"] = "c1"
    assert worker.step() == "align"
    assert worker.at("auto") == "c6"


def test_a_branch_that_somebody_else_has_moved_stays_there(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[2], "failure")
    worker.claim()
    worker.branches.heads["auto"] = "theirs"
    assert not push(worker)
    assert worker.at("auto") == "theirs"
    assert [each.pushed for each in worker.head.stack] == [False, False, True]


def test_a_refusal_stands_at_the_queue(worker: Worker, entries: list[str]) -> None:
    worker.checked(entries[2], "failure")
    worker.claim()
    worker.branches.refuse = "protected"
    assert not push(worker)
    assert worker.head.blocked is not None
    assert "protected" in worker.head.blocked.reason


def test_a_token_that_was_revoked_stands_at_the_queue(
    worker: Worker, entries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ForgeRefused(401, "Bad credentials")

    worker.checked(entries[2], "failure")
    worker.claim()
    monkeypatch.setattr(worker.branches, "move", refuse)
    assert not push(worker)
    assert worker.head.blocked is not None
    assert "Bad credentials" in worker.head.blocked.reason


def test_of_commits_that_have_left_the_branch_none_is_pushed(worker: Worker, entries: list[str]) -> None:
    worker.ports.config_updates.commit(worker.head, replace(worker.head, stack=worker.head.stack[2:]))
    assert not push(worker)
    assert pushed(worker) == ["c3"]
