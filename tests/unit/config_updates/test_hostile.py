"""What a hostile runner, CI run or contributor tries, and what a queue makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.config_updates.worker import BEGAN, CONFIG, Worker, dying_after_the_push
from tidegate.aws.records import pack, to_item
from tidegate.config.rules.config_updates import RequiredCheck
from tidegate.config_updates.adapters.replays import result_text
from tidegate.config_updates.hold import hold_set, release_set
from tidegate.config_updates.pause import pause_queue
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.push_replay import UnexpectedResult
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.moves import most_stacked
from tidegate.config_updates.rules.queue import (
    MOST_OPEN,
    MOST_PAST,
    JudgedCheck,
    OnAuto,
    RequestedAgain,
    UpdateHead,
    blocked,
)
from tidegate.config_updates.rules.replay import Outcome, Replayed, State, result_key
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.messages.config_updates import BeginReplay
from tidegate.ports import KnownRepository
from tidegate.vcs.rules.check_report import Source


@pytest.mark.parametrize(
    "forged",
    [
        lambda entry: Replayed("c1", (Outcome(entry, State.COMMITTED, "a-green-commit"),)),
        lambda entry: Replayed("m1", (Outcome(entry, State.COMMITTED, "a-green-commit"),)),
        lambda entry: Replayed("c1", (Outcome(entry, State.NOOP),)),
        lambda _: Replayed("c1", (Outcome("another", State.COMMITTED, "c1"),)),
    ],
)
def test_a_result_that_names_other_commits_than_the_pushed_ones_is_refused(
    worker: Worker, forged: Callable[[str], Replayed]
) -> None:
    entry = worker.announce(1)
    worker.claim()
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    begun = begin_replay(worker.ports, BeginReplay(**of_worker))
    worker.run(begun.job)
    worker.tell(begun.job, forged(entry))
    with pytest.raises(UnexpectedResult):
        worker.push()
    assert worker.at("auto") == ""


def forge(worker: Worker, job: str, entry: str) -> None:
    """Write as the runner of another job: its role may write the results of all replays."""
    forged = Replayed("c1", (Outcome(entry, State.FAILED), Outcome(worker.head.open[1], State.COMMITTED, "c1")))
    worker.ports.artifacts.put(result_key(job), result_text(forged))


def test_the_runner_of_another_job_can_replace_no_result(worker: Worker) -> None:
    first, _ = worker.announce(1), worker.announce(2)
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    worker.run(begun.job)
    forge(worker, begun.job, first)
    with pytest.raises(UnexpectedResult):
        worker.push()
    assert worker.at("auto") == ""


def test_after_a_crash_the_result_of_another_jobs_runner_is_not_believed(worker: Worker) -> None:
    first, second = worker.announce(1), worker.announce(2)
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    worker.run(begun.job, same=(second,))
    with dying_after_the_push(worker.branches):
        worker.push()
    assert worker.at("auto") == "c1"
    forge(worker, begun.job, first)
    worker.claim()
    assert worker.head.stack == ()
    assert worker.state(first) is EntryState.QUEUED


def test_a_result_whose_commits_nobody_pushed_is_not_believed_after_a_crash(worker: Worker) -> None:
    first = worker.announce(1)
    worker.until_waiting()
    second, tip = worker.announce(2), worker.at("auto")
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    forged = Replayed(tip, (Outcome(second, State.COMMITTED, tip),))
    worker.ports.artifacts.put(result_key(begun.job), result_text(forged))
    assert worker.claim().step == "apply"
    assert [each.entry for each in worker.head.stack] == [first]


# What people do by hand


def test_images_on_the_auto_branch_do_not_undo_what_a_person_rolled_back(worker: Worker) -> None:
    first, second = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(first, "success")
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("hand", staging="images of before")
    wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["align"]
    assert (worker.head.stack, worker.head.waiting, worker.state(second)) == ((), (second,), EntryState.QUEUED)
    assert worker.at("auto") == worker.at("main") == "hand"
    release_set(worker.ports, CONFIG, "shop", "operator")
    assert worker.until_waiting() == ["apply"]
    assert (worker.head.stack[0].entry, worker.state(second)) == (second, EntryState.TESTING)


def test_a_held_image_set_does_not_land_although_it_passes(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    hold_set(worker.ports, CONFIG, "shop", "operator", "Broken.")
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["apply"]
    assert (worker.at("main"), worker.head.waiting) == ("m1", (entry,))


def test_a_landing_without_passed_checks_is_not_told_as_one_with_them(worker: Worker) -> None:
    first, second, third = (worker.announce(number) for number in (1, 2, 3))
    worker.until_waiting()
    worker.checked(first, "failure")
    worker.checked(second, "success")
    worker.claim()
    worker.branches.heads["main"] = next(each.sha for each in worker.head.stack if each.entry == third)
    worker.claim()
    entries = worker.ports.config_updates.entries(CONFIG, [first, second, third])
    assert [entries[each].covered for each in (first, second, third)] == [True, False, False]
    assert "required checks passed" in entries[second].reason
    assert entries[third].reason.startswith("Somebody moved the default branch")


def test_a_branch_that_is_no_longer_the_default_one_says_nothing_any_more(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.branches.heads["trunk"] = worker.put("t1", staging="first", production="first")
    worker.ports.repository_index.remember(KnownRepository(CONFIG, "trunk", "t1", BEGAN))
    worker.branches.files["m1", "tidegate.yaml"] = b"{}"
    wake_worker(worker.ports, CONFIG)
    assert current_updates(worker.ports, CONFIG).commit == "t1"
    assert worker.until_waiting() == ["align"]
    worker.checked(entry, "success")
    worker.until_waiting()
    assert (worker.at("trunk"), worker.at("main")) == ("c2", "m1")
    del worker.branches.heads["trunk"]
    worker.put("m1")
    assert current_updates(worker.ports, CONFIG).default_branch == "main"


# What the head has room for


@pytest.mark.parametrize(("count", "length"), [(1, 20), (3, 60), (10, 40), (20, 255)])
def test_what_is_on_the_auto_branch_fits_an_item_of_dynamodb(count: int, length: int) -> None:
    required = [RequiredCheck(f"{number:{length}}", "github-actions") for number in range(count)]
    reason = f"did not finish within 1440 minutes; one by {'x' * 30} does not count"
    told = tuple(JudgedCheck(each.name, Verdict.FAIL, reason) for each in required)
    again = tuple(RequestedAgain(each.name, Source.CHECK_RUN.value, 10**18, BEGAN) for each in required)
    note = " ".join(f"{each.name} {each.reason}." for each in told)
    one = OnAuto("i" * 26, "c" * 40, BEGAN, ("c" * 40,) * MOST_PAST, Verdict.NONE, note, told, again)
    ids = tuple(f"{number:026}" for number in range(MOST_OPEN))
    why = blocked("x" * 10**6, BEGAN)
    head = UpdateHead(CONFIG, stack=(one,) * most_stacked(required), waiting=ids, changed=ids, blocked=why)
    assert most_stacked(required) >= 15
    assert size_of(to_item(pack(head))) < 400_000


def size_of(item: Any) -> int:
    """Return at least as many bytes as DynamoDB counts."""
    if isinstance(item, dict):
        return sum(len(name.encode()) + size_of(value) for name, value in item.items()) + 3
    return sum(map(size_of, item)) + 3 if isinstance(item, list) else len(str(item).encode())


def test_more_entries_than_the_branch_takes_follow_once_some_have_landed(worker: Worker, monkeypatch: Any) -> None:
    monkeypatch.setattr("tidegate.config_updates.rules.moves.most_stacked", lambda _: 2)
    first, second, third = (worker.announce(number) for number in (1, 2, 3))
    worker.until_waiting()
    assert [each.entry for each in worker.head.stack] == [first, second]
    worker.checked(first, "success")
    assert worker.until_waiting() == ["land", "apply"]
    assert [each.entry for each in worker.head.stack] == [second, third]


def test_what_a_runner_or_a_person_says_is_cut(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    outcome = Outcome(entry, State.FAILED, reason="r" * 10**6, last_lines="l" * 10**6)
    worker.tell(begun.job, Replayed("m1", (outcome,)))
    worker.push()
    assert len(worker.ports.config_updates.entry(CONFIG, entry).reason) < 5000
    pause_queue(worker.ports, CONFIG, "operator", "p\n" * 10**5)
    hold_set(worker.ports, CONFIG, "shop", "operator", "h" * 10**5)
    head = worker.head
    assert head.pause is not None
    assert (len(head.pause.reason), len(head.set_state("shop").hold.reason)) == (300, 300)  # type: ignore[union-attr]
