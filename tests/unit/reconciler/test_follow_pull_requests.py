"""What becomes of pull requests that no webhook told of, and of executions that ended without a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_layer, any_pull_request, seen, sha
from tests.unit.pull_requests.pull_request_scenario import HEAD, NUMBER, PullRequestScenario
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.rules.record import PullRequestState, judged
from tidegate.reconciler.follow_pull_requests import FOLLOWED, follow_pull_requests, restart_pull_requests
from tidegate.rules.errors import Conflict, ForgeRefused

NEWER = sha(4)


@pytest.fixture
def scenario():
    return PullRequestScenario()


class TestFollowing:
    def test_a_pull_request_that_no_webhook_told_of_is_planned(self, scenario):
        scenario.reconcile()
        assert scenario.record.spec.head_sha == HEAD
        assert list(scenario.workflows.planned) == [scenario.record.execution]

    def test_a_webhook_that_is_under_way_has_a_minute(self, scenario):
        assert scenario.take_turn(follow_pull_requests) == 1
        assert scenario.take_turn(follow_pull_requests) == 0
        scenario.receive()
        assert scenario.take_turn(follow_pull_requests) == 0

    @pytest.mark.parametrize(
        "now", [{"head_sha": NEWER}, {"base": "release"}, {"is_open": False}, {"is_open": False, "merged": True}]
    )
    def test_whatever_was_missed_is_found_out(self, scenario, now):
        scenario.receive()
        scenario.pull(**now)
        scenario.reconcile()
        spec = scenario.forge.seen[NUMBER].spec
        assert (scenario.record.spec.head_sha, scenario.record.spec.base) == (spec.head_sha, spec.base)
        assert scenario.record.is_open == scenario.forge.seen[NUMBER].is_open
        assert scenario.record.merged == now.get("merged", False)

    def test_one_that_was_reopened_is_found_out(self, scenario):
        scenario.receive()
        scenario.pull(is_open=False)
        scenario.receive()
        scenario.pull()
        scenario.reconcile()
        assert scenario.record.is_open

    def test_a_draft_that_is_ready_is_found_out(self, scenario):
        scenario.pull(is_draft=True)
        scenario.receive()
        scenario.discovered(skipped=True, commented=scenario.record.spec.revision)
        assert scenario.take_turn(follow_pull_requests) == 0
        scenario.pull(is_draft=False)
        scenario.reconcile()
        assert not scenario.record.skipped

    def test_one_that_is_as_its_record_says_is_left(self, scenario):
        scenario.receive()
        assert scenario.take_turn(follow_pull_requests) == 0

    def test_a_repository_that_is_gone_is_left(self, scenario):
        scenario.forge.failures = [ForgeRefused(404, "Not Found")]
        assert scenario.take_turn(follow_pull_requests) == 0

    def test_many_that_nobody_told_of_are_taken_bit_by_bit(self, scenario):
        for number in range(1, 2 * FOLLOWED):
            scenario.forge.seen[number] = seen(any_pull_request(number))
        assert scenario.take_turn(follow_pull_requests) == FOLLOWED


class TestRestarting:
    def test_an_execution_that_runs_is_left(self, scenario):
        scenario.receive()
        assert scenario.take_turn(restart_pull_requests) == 0
        assert len(scenario.workflows.planned) == 1

    def test_one_whose_start_was_lost_is_started(self, scenario):
        scenario.receive()
        scenario.workflows.planned.clear()
        scenario.take_turn(restart_pull_requests)
        assert list(scenario.workflows.planned) == [scenario.record.execution]
        assert not scenario.record.restarted

    def test_one_that_ended_without_a_result_is_started_once_more(self, scenario):
        scenario.receive()
        first, layer = scenario.record.execution, any_layer()
        scenario.records.save(judged(scenario.discovered(layer), [layer], NOW))
        scenario.workflows.endings[first] = "TIMED_OUT"
        assert scenario.take_turn(restart_pull_requests) == 1
        assert scenario.record.restarted
        assert set(scenario.workflows.planned) == {first, scenario.record.execution}
        assert scenario.record.state is PullRequestState.DISCOVERY_NEEDED
        assert scenario.layers.get(layer.id).state is LayerState.CANCELLED
        again = "The execution ended without a result. Planning restarts."
        assert scenario.checks == [(HEAD, again), (HEAD, "Planning starts")]

    @pytest.mark.parametrize("known", [False, True])
    def test_what_ended_twice_is_given_up_and_said(self, scenario, known):
        scenario.receive()
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
        scenario.take_turn(restart_pull_requests)
        layers = [any_layer("a", state=LayerState.PLANNED), any_layer("b")] if known else []
        if known:
            scenario.records.save(judged(scenario.discovered(*layers), layers, NOW))
        scenario.workflows.endings[scenario.record.execution] = "FAILED"
        assert scenario.take_turn(restart_pull_requests) == 1
        assert "ended twice" in scenario.record.notice
        assert scenario.record.state is PullRequestState.COMMENT_NEEDED
        assert [layer.state for layer in scenario.found] == (
            [LayerState.PLANNED, LayerState.CANCELLED] if known else []
        )
        assert scenario.event_publisher.ended == [(scenario.record.spec.id, scenario.record.spec.revision, "", "")]
        assert len(scenario.workflows.planned) == 2

    def test_a_comment_that_is_still_to_be_written_is_asked_for_again(self, scenario):
        scenario.receive()
        scenario.records.save(judged(scenario.discovered(), (), NOW))
        scenario.workflows.endings[scenario.record.execution] = "SUCCEEDED"
        assert scenario.take_turn(restart_pull_requests) == 1
        assert scenario.event_publisher.ended == [(scenario.record.spec.id, scenario.record.spec.revision, "", "")]
        assert len(scenario.workflows.planned) == 1

    def test_plans_that_have_all_ended_are_shown_and_not_made_again(self, scenario):
        scenario.receive()
        layer = any_layer()
        scenario.records.save(judged(scenario.discovered(layer), [layer], NOW))
        scenario.layers.save(replace(layer, state=LayerState.PLANNED))
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
        assert scenario.take_turn(restart_pull_requests) == 1
        assert [revision for _, revision, *_ in scenario.event_publisher.ended] == [scenario.record.spec.revision]
        assert len(scenario.workflows.planned) == 1

    def test_what_is_shown_to_its_end_and_what_is_closed_is_left(self, scenario):
        scenario.receive()
        record = scenario.discovered(commented=scenario.record.spec.revision)
        scenario.records.save(judged(record, (), NOW))
        scenario.workflows.endings[record.execution] = "SUCCEEDED"
        assert scenario.take_turn(restart_pull_requests) == 0
        scenario.pull(is_open=False)
        scenario.receive()
        assert scenario.take_turn(restart_pull_requests) == 0

    def test_somebody_who_works_on_it_at_the_same_time_is_let_be(self, scenario):
        scenario.receive()
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"

        def crossed(_record):
            raise Conflict("The pull request")

        scenario.records.save = crossed
        assert scenario.take_turn(restart_pull_requests) == 0

    def test_a_newer_commit_may_be_restarted_again(self, scenario):
        scenario.receive()
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
        scenario.take_turn(restart_pull_requests)
        scenario.pull(head_sha=NEWER)
        scenario.receive()
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
        assert scenario.take_turn(restart_pull_requests) == 1
        assert "ended twice" not in scenario.record.notice
