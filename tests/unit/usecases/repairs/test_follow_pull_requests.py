"""What becomes of pull requests that no webhook told of, and of executions that ended without a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_layer, any_pull_request, seen, sha
from tests.unit.usecases.pull_request_world import HEAD, NUMBER, PullRequestWorld
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.rules.record import PullRequestState, judged
from tidegate.reconciler.follow_pull_requests import FOLLOWED, follow_pull_requests, restart_pull_requests
from tidegate.rules.errors import Conflict, ForgeRefused

NEWER = sha(4)


@pytest.fixture
def world():
    return PullRequestWorld()


class TestFollowing:
    def test_a_pull_request_that_no_webhook_told_of_is_planned(self, world):
        world.reconcile()
        assert world.record.spec.head_sha == HEAD
        assert list(world.workflows.planned) == [world.record.execution]

    def test_a_webhook_that_is_under_way_has_a_minute(self, world):
        assert world.take_turn(follow_pull_requests) == 1
        assert world.take_turn(follow_pull_requests) == 0
        world.receive()
        assert world.take_turn(follow_pull_requests) == 0

    @pytest.mark.parametrize(
        "now", [{"head_sha": NEWER}, {"base": "release"}, {"is_open": False}, {"is_open": False, "merged": True}]
    )
    def test_whatever_was_missed_is_found_out(self, world, now):
        world.receive()
        world.pull(**now)
        world.reconcile()
        spec = world.forge.seen[NUMBER].spec
        assert (world.record.spec.head_sha, world.record.spec.base) == (spec.head_sha, spec.base)
        assert world.record.is_open == world.forge.seen[NUMBER].is_open
        assert world.record.merged == now.get("merged", False)

    def test_one_that_was_reopened_is_found_out(self, world):
        world.receive()
        world.pull(is_open=False)
        world.receive()
        world.pull()
        world.reconcile()
        assert world.record.is_open

    def test_a_draft_that_is_ready_is_found_out(self, world):
        world.pull(is_draft=True)
        world.receive()
        world.discovered(skipped=True, commented=world.record.spec.revision)
        assert world.take_turn(follow_pull_requests) == 0
        world.pull(is_draft=False)
        world.reconcile()
        assert not world.record.skipped

    def test_one_that_is_as_its_record_says_is_left(self, world):
        world.receive()
        assert world.take_turn(follow_pull_requests) == 0

    def test_a_repository_that_is_gone_is_left(self, world):
        world.forge.failures = [ForgeRefused(404, "Not Found")]
        assert world.take_turn(follow_pull_requests) == 0

    def test_many_that_nobody_told_of_are_taken_bit_by_bit(self, world):
        for number in range(1, 2 * FOLLOWED):
            world.forge.seen[number] = seen(any_pull_request(number))
        assert world.take_turn(follow_pull_requests) == FOLLOWED


class TestRestarting:
    def test_an_execution_that_runs_is_left(self, world):
        world.receive()
        assert world.take_turn(restart_pull_requests) == 0
        assert len(world.workflows.planned) == 1

    def test_one_whose_start_was_lost_is_started(self, world):
        world.receive()
        world.workflows.planned.clear()
        world.take_turn(restart_pull_requests)
        assert list(world.workflows.planned) == [world.record.execution]
        assert not world.record.restarted

    def test_one_that_ended_without_a_result_is_started_once_more(self, world):
        world.receive()
        first, layer = world.record.execution, any_layer()
        world.records.save(judged(world.discovered(layer), [layer], NOW))
        world.workflows.endings[first] = "TIMED_OUT"
        assert world.take_turn(restart_pull_requests) == 1
        assert world.record.restarted
        assert set(world.workflows.planned) == {first, world.record.execution}
        assert world.record.state is PullRequestState.DISCOVERY_NEEDED
        assert world.layers.get(layer.id).state is LayerState.CANCELLED
        again = "The execution ended without a result. Planning restarts."
        assert world.checks == [(HEAD, again), (HEAD, "Planning starts")]

    @pytest.mark.parametrize("known", [False, True])
    def test_what_ended_twice_is_given_up_and_said(self, world, known):
        world.receive()
        world.workflows.endings[world.record.execution] = "TIMED_OUT"
        world.take_turn(restart_pull_requests)
        layers = [any_layer("a", state=LayerState.PLANNED), any_layer("b")] if known else []
        if known:
            world.records.save(judged(world.discovered(*layers), layers, NOW))
        world.workflows.endings[world.record.execution] = "FAILED"
        assert world.take_turn(restart_pull_requests) == 1
        assert "ended twice" in world.record.notice
        assert world.record.state is PullRequestState.COMMENT_NEEDED
        assert [layer.state for layer in world.found] == ([LayerState.PLANNED, LayerState.CANCELLED] if known else [])
        assert world.event_publisher.ended == [(world.record.spec.id, world.record.spec.revision, "", "")]
        assert len(world.workflows.planned) == 2

    def test_a_comment_that_is_still_to_be_written_is_asked_for_again(self, world):
        world.receive()
        world.records.save(judged(world.discovered(), (), NOW))
        world.workflows.endings[world.record.execution] = "SUCCEEDED"
        assert world.take_turn(restart_pull_requests) == 1
        assert world.event_publisher.ended == [(world.record.spec.id, world.record.spec.revision, "", "")]
        assert len(world.workflows.planned) == 1

    def test_plans_that_have_all_ended_are_shown_and_not_made_again(self, world):
        world.receive()
        layer = any_layer()
        world.records.save(judged(world.discovered(layer), [layer], NOW))
        world.layers.save(replace(layer, state=LayerState.PLANNED))
        world.workflows.endings[world.record.execution] = "TIMED_OUT"
        assert world.take_turn(restart_pull_requests) == 1
        assert [revision for _, revision, *_ in world.event_publisher.ended] == [world.record.spec.revision]
        assert len(world.workflows.planned) == 1

    def test_what_is_shown_to_its_end_and_what_is_closed_is_left(self, world):
        world.receive()
        record = world.discovered(commented=world.record.spec.revision)
        world.records.save(judged(record, (), NOW))
        world.workflows.endings[record.execution] = "SUCCEEDED"
        assert world.take_turn(restart_pull_requests) == 0
        world.pull(is_open=False)
        world.receive()
        assert world.take_turn(restart_pull_requests) == 0

    def test_somebody_who_works_on_it_at_the_same_time_is_let_be(self, world):
        world.receive()
        world.workflows.endings[world.record.execution] = "TIMED_OUT"

        def crossed(_record):
            raise Conflict("The pull request")

        world.records.save = crossed
        assert world.take_turn(restart_pull_requests) == 0

    def test_a_newer_commit_may_be_restarted_again(self, world):
        world.receive()
        world.workflows.endings[world.record.execution] = "TIMED_OUT"
        world.take_turn(restart_pull_requests)
        world.pull(head_sha=NEWER)
        world.receive()
        world.workflows.endings[world.record.execution] = "TIMED_OUT"
        assert world.take_turn(restart_pull_requests) == 1
        assert "ended twice" not in world.record.notice
