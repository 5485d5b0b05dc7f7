"""What check runs say of deployments that are in line, or behind a lock."""

from __future__ import annotations

from tests.builders import any_lock
from tests.unit.check_runs.rendered import in_line, shown
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.presentation import Mark, View
from tidegate.vcs.rules.check_run import Button, Conclusion

RUNNING = Mark("network-000000a", "a" * 40, "https://forge.example/runs/7")
BEHIND = Mark("network-000000b", "b" * 40)


def test_a_deployment_in_line_says_its_place_and_of_when_that_is():
    check_run = shown(State.QUEUED, in_line(3, running=RUNNING))
    assert check_run.title == "Queued: position 3"
    assert "at position 3 as of 2026-03-02 08:30 UTC" in check_run.summary


def test_the_first_in_line_is_next_to_go():
    assert shown(State.QUEUED, in_line(1)).title == "Queued: next"
    assert shown(State.QUEUED, in_line(1, running=RUNNING)).title == "Queued: next"


def test_before_its_place_is_known_a_deployment_is_in_line():
    assert shown(State.QUEUED, View(queue_url="https://web.example/queue")).title == "Queued"


def test_a_deployment_in_line_says_what_runs_now_and_what_it_waits_for_with_links():
    summary = shown(State.QUEUED, in_line(2, running=RUNNING, behind=BEHIND)).summary
    assert "* [`aaaaaaa`](https://forge.example/runs/7) is running." in summary
    assert "waits for `bbbbbbb`, which is directly before it" in summary


def test_a_deployment_in_line_says_that_who_runs_waits_for_a_review():
    summary = shown(State.QUEUED, in_line(2, running=RUNNING, reviewing=True)).summary
    assert "[`aaaaaaa`](https://forge.example/runs/7) waits for a review." in summary


def test_a_deployment_in_line_links_to_its_queue():
    view = View(queue_url="https://web.example/queue?repository=acme%2Finfra&root=network")
    assert (
        "[Queue](https://web.example/queue?repository=acme%2Finfra&root=network)" in shown(State.QUEUED, view).summary
    )


def test_a_deployment_behind_a_lock_says_who_locked_when_which_revision_and_why_and_can_unlock():
    locker = Mark("by-hand", any_lock().revision, "https://forge.example/runs/9")
    check_run = shown(State.QUEUED, View(lock=any_lock(), locker=locker))
    assert "Somebody looks" in check_run.summary
    assert "since 2026-03-02 08:00 UTC by `maintainer` ([`0000000`](https://forge.example/runs/9))" in check_run.summary
    assert check_run.title == "Blocked: the queue is locked"
    assert (check_run.status, check_run.conclusion) == ("completed", Conclusion.ACTION_REQUIRED)
    assert [action.button for action in check_run.actions] == [Button.UNLOCK, Button.CANCEL]


def test_a_lock_whose_deployment_is_not_known_names_the_revision_alone():
    assert "by `maintainer` (`0000000`)" in shown(State.QUEUED, View(lock=any_lock())).summary


def test_a_lock_that_somebody_put_there_by_hand_names_no_revision():
    assert "by `maintainer`: Somebody looks" in shown(State.QUEUED, View(lock=any_lock(revision=""))).summary


def test_a_re_run_of_a_merge_is_blocked_by_a_lock_and_what_was_asked_for_by_hand_is_not():
    view = View(lock=any_lock())
    assert shown(State.QUEUED, view, trigger=Trigger.RERUN).conclusion is Conclusion.ACTION_REQUIRED
    assert shown(State.QUEUED, view, trigger=Trigger.MANUAL).status == "queued"
    assert shown(State.QUEUED, view, trigger=Trigger.RERUN, reruns_manual=True).status == "queued"
