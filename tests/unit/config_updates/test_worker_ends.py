"""A worker hands its queue over, or meets what another execution has done meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.config_updates.worker import BEGAN, CONFIG, Worker
from tidegate.config_updates.queue.begin_replay import begin_replay
from tidegate.config_updates.queue.claim_update import claim_update
from tidegate.config_updates.queue.close_worker import (
    close_update_worker,
    continue_updates,
    release_update_queue,
)
from tidegate.config_updates.queue.land_update import land_update
from tidegate.config_updates.queue.push_replay import UnexpectedResult, fail_replay, finish_replay, push_replay
from tidegate.config_updates.queue.push_untested import push_untested
from tidegate.config_updates.queue.wait_for_update import wait_for_update
from tidegate.config_updates.queue.wake_worker import ensure_worker, wake_worker
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.queue import MOST_ROUNDS
from tidegate.config_updates.rules.replay import Replayed
from tidegate.messages.config_updates import (
    BeginReplay,
    ClaimUpdate,
    CloseUpdateWorker,
    ContinueUpdates,
    FailReplay,
    LandUpdate,
    PushReplay,
    PushUntested,
    WaitForUpdate,
)
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.start_update_workers import start_update_workers

OTHER = {"repository": CONFIG, "execution": "another"}


def of_worker(worker: Worker) -> dict[str, str]:
    return {"repository": CONFIG, "execution": worker.execution}


def test_an_execution_that_has_worked_for_long_hands_over(worker):
    worker.announce(1)
    message = ClaimUpdate(**of_worker(worker), rounds=MOST_ROUNDS, started=BEGAN)
    assert claim_update(worker.ports, message).step == "hand over"
    first = worker.execution
    continue_updates(worker.ports, ContinueUpdates(**of_worker(worker)))
    assert worker.execution not in {first, "none"}
    assert worker.ports.update_workflows.workers[-1] == (worker.execution, CONFIG)


def test_an_execution_hands_over_nothing_if_there_is_no_work(worker):
    worker.announce(1)
    execution = worker.execution
    head = worker.head
    worker.ports.config_updates.commit(head, replace(head, waiting=(), asked=False, changed=()))
    continue_updates(worker.ports, ContinueUpdates(repository=CONFIG, execution=execution))
    assert worker.head.worker is None
    ensure_worker(worker.ports, CONFIG)
    assert worker.head.worker is None


def test_nothing_of_another_execution_changes_the_queue(worker):
    worker.announce(1)
    worker.until_waiting()
    before = worker.head
    assert close_update_worker(worker.ports, CloseUpdateWorker(**OTHER)).closed
    continue_updates(worker.ports, ContinueUpdates(**OTHER))
    release_update_queue(worker.ports, CONFIG, "another", "FAILED")
    fail_replay(worker.ports, FailReplay(**OTHER, error="States.Timeout"))
    assert not push_replay(worker.ports, PushReplay(**OTHER)).moved
    assert not land_update(worker.ports, LandUpdate(**OTHER, commit="c1")).moved
    assert not push_untested(worker.ports, PushUntested(**OTHER, commits=("c1",))).moved
    assert worker.head == before


@pytest.mark.parametrize(("status", "starts"), [("ABORTED", True), ("TIMED_OUT", True), ("FAILED", False)])
def test_an_ended_execution_releases_its_queue(worker, status, starts):
    worker.announce(1)
    ended = worker.execution
    release_update_queue(worker.ports, CONFIG, ended, status)
    assert worker.execution != ended
    assert (worker.head.worker is not None) is starts


def test_a_worker_waits_only_if_nothing_has_happened(worker):
    worker.announce(1)
    worker.until_waiting()
    worker.workflows.waiting |= {"first", "late"}
    wait = WaitForUpdate(**of_worker(worker), version=worker.head.version, token="first")
    wait_for_update(worker.ports, wait)
    wait_for_update(worker.ports, wait)
    assert (worker.head.token, worker.workflows.settled) == ("first", {})
    wait_for_update(worker.ports, WaitForUpdate(**of_worker(worker), version=0, token="late"))
    assert "late" in worker.workflows.settled
    wake_worker(worker.ports, CONFIG)
    assert "first" in worker.workflows.settled


def begun(worker: Worker) -> str:
    worker.announce(1)
    worker.claim()
    return begin_replay(worker.ports, BeginReplay(**of_worker(worker))).job


def test_a_result_that_does_not_fit_the_order_is_not_pushed(worker):
    job = begun(worker)
    worker.tell(job, Replayed("c9", ()))
    with pytest.raises(UnexpectedResult):
        worker.push()
    assert worker.branches.moves == []
    finish_replay(worker.ports, worker.head)
    assert worker.head.replaying is None


def test_a_replay_without_a_result_is_made_again(worker):
    begun(worker)
    finish_replay(worker.ports, worker.head)
    before = worker.head
    assert before.replaying is None
    finish_replay(worker.ports, before)
    assert worker.head == before


def test_a_replay_that_was_recorded_meanwhile_is_recorded_once(worker, monkeypatch):
    worker.run(begun(worker))
    push = worker.branches.push

    def push_twice(*args: object) -> object:
        moved = push(*args)
        monkeypatch.setattr(worker.branches, "push", push)
        worker.push()
        return moved

    monkeypatch.setattr(worker.branches, "push", push_twice)
    assert worker.push().moved
    assert [each.sha for each in worker.head.stack] == ["c1"]


def test_a_replay_without_commits_leaves_the_branch(worker):
    worker.branches.heads["auto"] = "m1"
    one = worker.announce(1)
    worker.step(same=(one,))
    assert worker.state(one) is EntryState.NOOP
    assert worker.branches.moves == []


@pytest.mark.parametrize("cause", ["no JSON", "{}", "[]"])
def test_a_failure_without_a_message_tells_its_cause(worker, cause):
    begun(worker)
    fail_replay(worker.ports, FailReplay(**of_worker(worker), error="States.Timeout", cause=cause))
    assert worker.head.replaying is None
    assert f"States.Timeout: {cause}" in worker.head.blocked.reason


@pytest.mark.parametrize("name", ["main", "main/auto"])
def test_an_auto_branch_that_cannot_exist_blocks_the_queue(worker, name):
    worker.files = worker.files.replace(b"config_updates:\n", f"config_updates:\n  auto_branch: {name}\n".encode())
    worker.put("m1", staging="first")
    worker.announce(1)
    assert worker.until_waiting() == []
    assert name in worker.head.blocked.reason


def test_a_renamed_auto_branch_is_made_anew(worker):
    one = worker.announce(1)
    worker.until_waiting()
    worker.files = worker.files.replace(b"config_updates:\n", b"config_updates:\n  auto_branch: next\n")
    worker.branches.heads["main"] = worker.put("m2", staging="first", production="first")
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.head.auto_branch == "next"
    assert worker.at("next") == worker.head.stack[0].sha
    assert worker.state(one) is EntryState.TESTING


def test_a_missing_default_branch_blocks_the_queue(worker):
    worker.branches.heads.clear()
    worker.announce(1)
    assert worker.until_waiting() == []
    assert worker.head.blocked is not None


def test_a_landed_image_set_of_an_environment_without_its_file_is_kept_without_identity(worker):
    one = worker.announce(1)
    worker.until_waiting()
    del worker.branches.files["c1", "images/staging.json"]
    worker.checked(one, "success")
    worker.until_waiting()
    landed = worker.ports.config_updates.entry(CONFIG, one)
    assert (landed.state, landed.identity) == (EntryState.LANDED, "")


def test_a_second_commit_by_hand_keeps_the_first_hold(worker):
    worker.announce(1)
    worker.until_waiting()
    for number in (2, 3):
        worker.branches.heads["main"] = worker.put(f"m{number}", staging=f"hand {number}", production="first")
        wake_worker(worker.ports, CONFIG)
        worker.until_waiting()
        holds = worker.head.set_state("shop").hold
        if number == 2:
            first = holds
    assert first is not None
    assert holds == first


def test_only_the_required_check_that_ended_without_a_result_is_requested_again(worker):
    one = worker.announce(1)
    worker.until_waiting()
    worker.checked(one, "success", app="another-app")
    worker.checked(one, "timed_out")
    worker.until_waiting()
    assert worker.branches.requested == ["check"]


def test_the_reconciler_starts_a_worker_for_a_released_queue_with_work(worker):
    one = worker.announce(1)
    release_update_queue(worker.ports, CONFIG, worker.execution, "FAILED")
    assert worker.head.worker is None
    start_update_workers(worker.ports, ReconcilerPass(worker.clock, worker.clock.now() + timedelta(minutes=5)))
    worker.until_waiting()
    assert worker.state(one) is EntryState.TESTING
