"""The queue of a config repository, from its entries to the branches that move."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.fakes import MemoryEventPublisher
from tests.fakes.config_updates import MemoryUpdateWorkflows
from tests.unit.config_updates.worker import BEGAN, CONFIG, FILE, Worker, dying_after_the_push
from tidegate.config_updates.adapters.replays import read_order
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.claim_update import claim_update
from tidegate.config_updates.queue.close_worker import close_update_worker
from tidegate.config_updates.queue.land_update import land_update
from tidegate.config_updates.queue.push_replay import fail_replay, push_replay
from tidegate.config_updates.queue.wait_for_update import wait_for_update
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.queue import Hold
from tidegate.messages.config_updates import (
    BeginReplay,
    ClaimUpdate,
    CloseUpdateWorker,
    FailReplay,
    LandUpdate,
    PushReplay,
    WaitForUpdate,
)
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.start_update_workers import start_update_workers
from tidegate.rules.errors import ForgeRefused
from tidegate.vcs.rules.check_report import CheckReport, Source
from tidegate.vcs.rules.comparison import Comparison

# The auto branch


def test_the_first_entry_makes_the_auto_branch_with_one_commit(worker: Worker) -> None:
    entry = worker.announce(1)
    assert worker.until_waiting() == ["align"]
    assert (worker.at("auto"), worker.at("main")) == ("c1", "m1")
    assert worker.state(entry) is EntryState.TESTING


def test_an_entry_is_stacked_while_another_is_checked(worker: Worker) -> None:
    first = worker.announce(1)
    worker.until_waiting()
    second = worker.announce(2)
    assert worker.until_waiting() == ["apply"]
    assert [(each.entry, each.sha) for each in worker.head.stack] == [(first, "c1"), (second, "c2")]
    assert worker.at("auto") == "c2"


def test_case_55_many_waiting_entries_take_one_replay_and_one_push(worker: Worker) -> None:
    for number in range(1, 201):
        worker.announce(number)
    assert worker.until_waiting() == ["align"]
    assert len(worker.head.stack) == 200
    assert len(worker.branches.moves) == 1


def test_case_7_an_entry_that_changes_nothing_leaves_the_queue_without_a_commit(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.step(same=(entry,))
    assert worker.state(entry) is EntryState.NOOP
    assert worker.at("auto") == "m1"
    assert worker.head.open == ()


def test_case_9_a_failed_command_ends_its_entry_and_the_next_one_is_made(worker: Worker) -> None:
    broken, sound = worker.announce(1), worker.announce(2)
    worker.step(fails=(broken,))
    assert worker.state(broken) is EntryState.FAILED
    assert "make failed" in worker.ports.config_updates.entry(CONFIG, broken).reason
    assert [each.entry for each in worker.head.stack] == [sound]


def test_a_retried_entry_becomes_another_commit_for_which_the_old_failure_does_not_count(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "failure")
    worker.until_waiting()
    assert retry_entry(worker.ports, CONFIG, entry, "operator").done
    worker.until_waiting()
    orders = (read_order(raw) for key, raw in worker.ports.artifacts.objects.items() if key.endswith("/order.json"))
    first, second = (order.entries[0] for order in orders if order.entries)
    assert second == replace(first, authored=first.authored + timedelta(seconds=1))


def test_entries_for_which_the_time_did_not_suffice_are_made_next(worker: Worker, monkeypatch: Any) -> None:
    entries = [worker.announce(number) for number in (1, 2, 3)]
    worker.step(undone=2)
    assert list(worker.head.waiting) == entries[1:]
    assert worker.until_waiting() == ["apply"]
    assert [each.entry for each in worker.head.stack] == entries


def test_case_36_a_branch_that_somebody_else_has_moved_is_left_alone_and_reported(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    worker.branches.heads["auto"] = "stranger"
    worker.announce(2)
    assert worker.until_waiting() == []
    assert worker.claim().blocked
    assert worker.at("auto") == "stranger"
    assert worker.head.blocked is not None
    assert "delete the branch" in worker.head.blocked.reason
    del worker.branches.heads["auto"]
    wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["align"]
    assert len(worker.head.stack) == 2


def test_case_37_a_deleted_auto_branch_is_made_anew_from_the_entries(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    del worker.branches.heads["auto"]
    wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["align"]
    assert [each.entry for each in worker.head.stack] == [entry]
    assert worker.at("auto") == "c2"


def test_case_30_a_commit_by_a_person_on_the_default_branch_makes_all_entries_anew(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["align"]
    assert worker.at("main") == "m2"
    assert [(each.sha, each.past) for each in worker.head.stack] == [("c2", ("c1",))]
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]
    assert worker.at("main") == "c2"


def test_a_pushed_default_branch_takes_an_idle_auto_branch_along(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    worker.checked(worker.head.stack[0].entry, "success")
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("m2", staging="images", production="first")
    wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["align"]
    assert worker.at("auto") == "m2"


# Verdicts


def test_case_13_a_passed_tip_becomes_the_default_branch(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]
    assert worker.at("main") == worker.at("auto") == "c1"
    assert worker.state(entry) is EntryState.LANDED
    assert worker.head.open == ()


def test_case_14_a_passed_commit_in_the_middle_lands_and_the_tip_stays(worker: Worker) -> None:
    middle, tip = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(middle, "success")
    worker.until_waiting()
    assert (worker.at("main"), worker.at("auto")) == ("c1", "c2")
    assert [each.entry for each in worker.head.stack] == [tip]
    assert worker.state(middle) is EntryState.LANDED


def test_case_15_a_passed_tip_lands_what_is_below_it(worker: Worker) -> None:
    middle, tip = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(tip, "success")
    assert worker.until_waiting() == ["land"]
    assert worker.at("main") == "c2"
    assert {worker.state(middle), worker.state(tip)} == {EntryState.LANDED}


def test_case_16_the_only_entry_is_evicted_when_it_fails(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "failure")
    assert worker.until_waiting() == ["evict"]
    assert worker.at("auto") == worker.at("main") == "m1"
    assert worker.state(entry) is EntryState.EVICTED
    assert "check failed" in worker.ports.config_updates.entry(CONFIG, entry).reason


def test_cases_17_and_18_the_innocent_one_above_a_failed_entry_lands(worker: Worker) -> None:
    guilty, innocent = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(innocent, "failure")
    assert worker.until_waiting() == ["test"]
    worker.checked(guilty, "failure")
    assert worker.until_waiting() == ["evict"]
    assert [(each.entry, each.sha) for each in worker.head.stack] == [(innocent, "c3")]
    worker.checked(innocent, "success")
    worker.until_waiting()
    assert worker.at("main") == "c3"
    assert (worker.state(guilty), worker.state(innocent)) == (EntryState.EVICTED, EntryState.LANDED)


def test_case_19_a_failed_entry_below_a_passed_one_lands_with_a_mark(worker: Worker) -> None:
    covered, above = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    reports = worker.branches.reports
    for entry, result in ((covered, "failure"), (above, "success")):
        sha = next(each.sha for each in worker.head.stack if each.entry == entry)
        reports[sha] = [CheckReport(Source.CHECK_RUN, "check", "github-actions", result, 1)]
    wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["land"]
    assert worker.ports.config_updates.entry(CONFIG, covered).covered
    assert not worker.ports.config_updates.entry(CONFIG, above).covered


def test_case_20_an_entry_whose_check_never_starts_is_evicted(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.later(timedelta(minutes=16))
    assert worker.until_waiting() == ["evict"]
    assert "did not start within 15 minutes" in worker.ports.config_updates.entry(CONFIG, entry).reason


def test_the_worker_waits_until_a_clock_of_a_check_may_run_out(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    worker.later(timedelta(minutes=10))
    assert 4 * 60 < worker.claim().seconds < 6 * 60


def test_case_22_a_check_of_another_app_does_not_count(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success", app="somebody-else")
    assert worker.until_waiting() == []
    assert worker.at("main") == "m1"


def test_case_23_a_check_that_a_newer_push_cancelled_evicts_nothing(worker: Worker) -> None:
    lower, tip = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(lower, "cancelled")
    assert worker.until_waiting() == []
    worker.checked(tip, "success")
    assert worker.until_waiting() == ["land"]
    assert {worker.state(lower), worker.state(tip)} == {EntryState.LANDED}


def test_cases_26_to_28_what_ci_says_of_commits_that_are_off_the_auto_branch_moves_nothing(worker: Worker) -> None:
    landed, evicted = worker.announce(1), worker.announce(2)
    worker.until_waiting()
    worker.checked(landed, "success")
    worker.checked(evicted, "failure")
    worker.until_waiting()
    later = worker.announce(3)
    worker.until_waiting()
    moves, head = list(worker.branches.moves), worker.at("main")
    for sha, result in (("m1", "failure"), ("c1", "failure"), ("c2", "success")):
        worker.branches.reports.setdefault(sha, []).append(
            CheckReport(Source.CHECK_RUN, "check", "github-actions", result, 9)
        )
        wake_worker(worker.ports, CONFIG)
        assert worker.until_waiting() == []
    assert (worker.branches.moves, worker.at("main")) == (moves, head)
    assert [each.entry for each in worker.head.stack] == [later]
    assert (worker.state(landed), worker.state(evicted)) == (EntryState.LANDED, EntryState.EVICTED)


def test_case_24_a_check_without_a_result_is_requested_again_once(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "timed_out")
    worker.until_waiting()
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.branches.requested == ["check"]
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]


def test_case_24_people_are_asked_to_run_a_check_that_cannot_be_requested(worker: Worker) -> None:
    worker.branches.takes_requests = False
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "timed_out")
    worker.until_waiting()
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.head.stack[0].note == "check ended without a result (timed out): run it again."
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]


# Branches that do not move


def test_case_34_a_default_branch_that_moves_meanwhile_is_followed(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    claimed = worker.claim()
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    moved = land_update(worker.ports, LandUpdate(repository=CONFIG, execution=worker.execution, commit=claimed.commit))
    assert not moved.moved
    assert worker.until_waiting() == ["align"]
    worker.checked(entry, "success")
    worker.until_waiting()
    assert worker.at("main") == "c2"


def test_case_35_a_default_branch_that_always_moves_is_told_and_what_passes_lands_at_last(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    told = []
    for number in range(2, 7):
        worker.checked(entry, "success")
        worker.branches.heads["main"] = worker.put(f"m{number}", staging="first", production="first")
        claimed = worker.claim()
        told.append(claimed.outrun)
        begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
        worker.run(begun.job)
        worker.push()
    assert told == [0, 0, 0, 3, 4]
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]
    assert worker.state(entry) is EntryState.LANDED
    assert worker.head.outrun == 0


@pytest.mark.parametrize("left", ["", "stranger"])
def test_a_lease_that_is_lost_at_the_push_is_planned_anew(worker: Worker, left: str) -> None:
    first = worker.announce(1)
    worker.until_waiting()
    second = worker.announce(2)
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    assert worker.claim().step == "apply"
    worker.run(begin_replay(worker.ports, BeginReplay(**of_worker)).job)
    worker.branches.heads.pop("auto")
    if left:
        worker.branches.heads["auto"] = left
    assert not worker.push().moved
    assert worker.at("auto") == left
    if left:
        assert worker.until_waiting() == []
        del worker.branches.heads["auto"]
        wake_worker(worker.ports, CONFIG)
    assert worker.until_waiting() == ["align"]
    assert [each.entry for each in worker.head.stack] == [first, second]
    assert worker.at("auto") == worker.head.stack[-1].sha


def test_a_default_branch_that_moves_while_commits_are_made_is_followed(worker: Worker) -> None:
    entry = worker.announce(1)
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    worker.claim()
    worker.run(begin_replay(worker.ports, BeginReplay(**of_worker)).job)
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    assert worker.push().moved
    assert worker.until_waiting() == ["align"]
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["land"]
    assert worker.head.base == worker.at("main") == worker.at("auto")


def test_case_42_a_revoked_token_lets_entries_wait_and_is_told(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")

    def revoked(*_: object) -> None:
        raise ForgeRefused(401, "Bad credentials")

    with monkeypatch.context() as patch:
        patch.setattr(worker.branches, "move", revoked)
        assert worker.until_waiting() == ["land"]
        claimed = worker.claim()
        assert (claimed.step, claimed.blocked) == ("wait", True)
        assert "Bad credentials" in claimed.reason
        worker.later(timedelta(seconds=6))
        patch.setattr(worker.branches, "branch_heads", revoked)
        claimed = worker.claim()
        assert (claimed.step, claimed.blocked, claimed.seconds) == ("wait", True, 600)
        assert "Bad credentials" in claimed.reason
    assert worker.state(entry) is EntryState.TESTING
    assert worker.until_waiting() == ["land"]
    assert worker.state(entry) is EntryState.LANDED


def test_case_41_a_refused_move_is_tried_again_after_some_seconds(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.branches.refuse = "Required status check is expected."
    assert worker.until_waiting() == ["land"]
    assert worker.head.blocked is not None
    assert "Required status check" in worker.head.blocked.reason
    assert worker.claim().seconds <= 5
    worker.branches.refuse = ""
    worker.later(timedelta(seconds=6))
    assert worker.until_waiting() == ["land"]
    assert worker.at("main") == "c1"


def test_a_default_branch_that_always_refuses_is_asked_less_and_less(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.branches.refuse = "Protected."
    waits = []
    for _ in range(10):
        worker.until_waiting()
        waits.append(worker.claim().seconds)
        worker.later(timedelta(seconds=waits[-1] + 1))
    assert waits == sorted(waits)
    assert waits[-1] > 500


# Entries and people


def test_case_33_an_image_set_that_a_person_changes_holds_its_set(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    worker.checked(worker.head.stack[0].entry, "success")
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    entry = worker.announce(2)
    assert worker.until_waiting() == []
    assert worker.state(entry) is EntryState.QUEUED
    hold = worker.head.set_state("shop").hold
    assert hold is not None
    assert "images/staging.json" in hold.reason


def test_case_32_images_that_a_person_landed_by_hand_do_not_hold_the_set(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    worker.checked(worker.head.stack[0].entry, "success")
    worker.until_waiting()
    entry = worker.announce(2)
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("m2", staging=f"images of {entry}", production="first")
    wake_worker(worker.ports, CONFIG)
    worker.step(same=(entry,))
    assert worker.state(entry) is EntryState.NOOP
    assert worker.head.set_state("shop").hold is None


def test_a_newer_image_set_collapses_older_ones_where_the_file_says_so(worker: Worker) -> None:
    worker.files = FILE + b"  supersede: collapse\n"
    worker.put("m1", staging="first", production="first")
    first = worker.announce(1)
    worker.until_waiting()
    second, third = worker.announce(2), worker.announce(3)
    worker.until_waiting()
    assert [each.entry for each in worker.head.stack] == [third]
    assert {worker.state(first), worker.state(second)} == {EntryState.SUPERSEDED}


def test_an_entry_of_an_environment_that_is_gone_leaves_the_queue(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.files = FILE.replace(b"name: staging,", b"name: acceptance,")
    worker.put("m1", staging="first", production="first")
    worker.until_waiting()
    assert worker.state(entry) is EntryState.SUPERSEDED


def test_a_file_without_config_updates_blocks_the_queue_with_its_reason(worker: Worker) -> None:
    worker.files = b"version: 1\n"
    worker.put("m1")
    worker.announce(1)
    assert worker.until_waiting() == []
    assert worker.head.blocked is not None
    assert "config_updates" in worker.head.blocked.reason


def test_what_a_landed_entry_brought_stands_at_its_environment(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.until_waiting()
    newest = worker.ports.config_updates.environment(CONFIG, "shop", "staging").newest
    assert newest is not None
    assert (newest.entry, newest.commit, newest.app_sha) == (entry, "c1", f"{1:040x}")


# Crashes and other workers


def test_case_38_a_crash_after_the_push_is_repaired_by_the_repeated_step(worker: Worker) -> None:
    worker.announce(1)
    worker.claim()
    of_worker = {"repository": CONFIG, "execution": worker.execution}
    begun = begin_replay(worker.ports, BeginReplay(**of_worker))
    worker.run(begun.job)
    worker.branches.heads["auto"] = "c1"  # The push had arrived; the call died before it was recorded.
    assert worker.push().moved
    assert [each.sha for each in worker.head.stack] == ["c1"]


def test_case_38_a_worker_that_died_after_the_push_is_continued_by_the_next_one(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    worker.run(begun.job)
    with dying_after_the_push(worker.branches):
        worker.push()
    assert worker.at("auto") == "c1"
    assert worker.until_waiting() == []
    assert [(each.entry, each.sha) for each in worker.head.stack] == [(entry, "c1")]


def test_case_38_a_worker_that_died_before_the_push_leaves_nothing(worker: Worker) -> None:
    worker.announce(1)
    worker.claim()
    begun = begin_replay(worker.ports, BeginReplay(repository=CONFIG, execution=worker.execution))
    worker.run(begun.job)
    assert worker.until_waiting() == ["align"]
    assert [each.sha for each in worker.head.stack] == ["c2"]


def test_case_38_a_crash_before_the_landing_is_recorded_is_seen_by_the_next_claim(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.branches.heads["main"] = "c1"
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.state(entry) is EntryState.LANDED
    assert worker.head.base == "c1"


def test_an_entry_that_landed_below_a_commit_by_hand_counts_as_landed(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.branches.heads["main"] = worker.put("m2", staging=f"images of {entry}", production="first")
    worker.forge.comparisons["c1", "m2"] = Comparison.AHEAD
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.state(entry) is EntryState.LANDED
    assert worker.head.base == "m2"


def test_another_execution_moves_nothing(worker: Worker) -> None:
    worker.announce(1)
    claimed = claim_update(worker.ports, ClaimUpdate(repository=CONFIG, execution="old", rounds=0, started=BEGAN))
    assert claimed.step == "stop"
    worker.claim()
    assert not push_replay(worker.ports, PushReplay(repository=CONFIG, execution="old")).moved
    assert worker.branches.moves == []


def test_news_are_published_once_although_what_follows_them_wakes_the_worker(worker: Worker, monkeypatch: Any) -> None:
    entries = [worker.announce(number) for number in (1, 2, 3)]
    published: list[str] = []

    def wakes(_publisher: Any, _repository: str, entry: str) -> None:
        published.append(entry)
        head = worker.head
        worker.ports.config_updates.commit(head, replace(head, asked=True))

    head = worker.head
    worker.ports.config_updates.commit(head, head.about(*entries))
    monkeypatch.setattr(MemoryEventPublisher, "entry_changed", wakes)
    claimed = worker.claim()
    assert published == entries
    assert worker.head.changed == ()
    assert worker.head.asked
    assert claimed.version < worker.head.version


def test_news_of_an_entry_that_changes_while_they_are_published_are_published_again(
    worker: Worker, monkeypatch: Any
) -> None:
    first, second = worker.announce(1), worker.announce(2)

    def changes(_publisher: Any, _repository: str, entry: str) -> None:
        if entry == first:
            head = worker.head
            held = head.with_set(replace(head.set_state("shop"), hold=Hold("somebody", BEGAN, "now")))
            worker.ports.config_updates.commit(head, held.about(first))

    head = worker.head
    worker.ports.config_updates.commit(head, head.about(first, second))
    monkeypatch.setattr(MemoryEventPublisher, "entry_changed", changes)
    worker.claim()
    assert first in worker.head.changed


def test_a_failed_replay_is_tried_again_soon_and_later_each_further_time(worker: Worker) -> None:
    worker.announce(1)
    cause = json.dumps({"message": "The runner stopped: out of memory."})
    for seconds in (5, 10, 20, 40):
        worker.claim()
        failed = FailReplay(repository=CONFIG, execution=worker.execution, error="RunnerStopped", cause=cause)
        fail_replay(worker.ports, failed)
        assert worker.until_waiting() == []
        assert worker.head.blocked is not None
        assert "out of memory" in worker.head.blocked.reason
        left = (worker.head.blocked.until - worker.clock.now()).total_seconds()
        assert seconds - 1 < left <= seconds
        worker.later(timedelta(seconds=seconds))
    assert worker.until_waiting() == ["align"]
    assert worker.head.refusals == 0


def test_a_worker_with_open_entries_stays_and_one_without_closes(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    close = CloseUpdateWorker(repository=CONFIG, execution=worker.execution)
    assert not close_update_worker(worker.ports, close).closed
    worker.checked(entry, "success")
    worker.until_waiting()
    assert close_update_worker(worker.ports, close).closed


def test_news_that_come_before_the_wait_wake_the_worker_at_once(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    claimed = worker.claim()
    wake_worker(worker.ports, CONFIG)
    worker.workflows.waiting.add("token")
    wait_for_update(
        worker.ports,
        WaitForUpdate(repository=CONFIG, execution=worker.execution, version=claimed.version, token="token"),
    )
    assert "token" in worker.workflows.settled
    assert worker.head.token is None


def test_one_execution_is_started_however_often_somebody_wakes_it(worker: Worker) -> None:
    worker.announce(1)
    worker.announce(2)
    workflows = worker.ports.update_workflows
    assert isinstance(workflows, MemoryUpdateWorkflows)
    assert [repository for _, repository in workflows.workers] == [CONFIG]


def test_news_of_entries_are_published_once_they_are_stored(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    assert (CONFIG, entry) in worker.publisher.news
    assert worker.head.changed == ()


# What events missed


def reconcile(worker: Worker) -> None:
    turn = ReconcilerPass(worker.clock, worker.clock.now() + timedelta(minutes=1))
    start_update_workers(worker.ports, turn)
    assert turn.failures == []


def test_case_39_a_verdict_whose_webhook_was_lost_is_seen_by_the_reconciler(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.branches.reports["c1"] = [CheckReport(Source.CHECK_RUN, "check", "github-actions", "success", 1)]
    reconcile(worker)
    assert worker.head.asked
    worker.until_waiting()
    assert worker.state(entry) is EntryState.LANDED


def test_the_reconciler_replaces_a_worker_that_has_died(worker: Worker) -> None:
    worker.announce(1)
    worker.until_waiting()
    dead = worker.execution
    workflows = worker.ports.update_workflows
    assert isinstance(workflows, MemoryUpdateWorkflows)
    workflows.endings[dead] = "FAILED"
    reconcile(worker)
    assert worker.execution != dead
    assert [name for name, _ in workflows.workers] == [dead, worker.execution]


def test_the_reconciler_starts_a_worker_whose_start_was_lost(worker: Worker) -> None:
    worker.announce(1)
    workflows = worker.ports.update_workflows
    assert isinstance(workflows, MemoryUpdateWorkflows)
    workflows.workers.clear()
    reconcile(worker)
    assert [repository for _, repository in workflows.workers] == [CONFIG]


def test_the_reconciler_leaves_an_idle_queue_alone(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    worker.checked(entry, "success")
    worker.until_waiting()
    before = worker.head
    reconcile(worker)
    assert worker.head == before
