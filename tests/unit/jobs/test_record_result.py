from __future__ import annotations

import json

import pytest

from tests.builders import NOW, amended, any_deployment, any_job, any_lock, any_review, any_root, deployment_in
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.audit import RUNNING, audit_message, end_word, forced_message, unlock_message
from tidegate.deploys.rules.failure import KEPT_LAST_LINES, KEPT_MESSAGE, read_cause
from tidegate.deploys.rules.job import Job, JobKind
from tidegate.deploys.rules.outcome import Cancellation, Unlocking
from tidegate.deploys.rules.provider_time import LONGEST_PROVIDER, MOST_PROVIDERS, ProviderTime
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate
from tidegate.jobs.record_result import record_result
from tidegate.messages import RecordResult
from tidegate.rules.errors import CloudUnavailable
from tidegate.rules.timestamp import timestamp_text

ENGINE_FAILED = json.dumps({"message": "terraform plan ended with exit code 1", "last_lines": "Error: no\n"})


@pytest.fixture
def scenario():
    return Scenario()


def record(scenario, deployment, state, **fields):
    message = RecordResult(deployment=deployment.id, state=state, **fields)
    assert record_result(scenario.ports, message).state == scenario.deployments.get(deployment.id).state
    return scenario.deployments.get(deployment.id)


def applying(scenario, *, taken):
    deployment = scenario.put(deployment_in(State.APPLYING))
    job = deployment.apply.job
    scenario.jobs.create(
        Job(job, deployment.id, JobKind.APPLY, deployment.repository, deployment.revision.sha, "url", deployment.root)
    )
    scenario.jobs.hand_over(job, "token", "clone")
    if taken:
        scenario.jobs.take(job, "runner")
    return deployment


def test_a_success_is_shown_and_audited_with_its_last_lines(scenario):
    ended = record(scenario, applying(scenario, taken=True), "applied", last_lines="Apply complete!")
    assert (ended.state, ended.outcome.last_lines, ended.reason) == (State.APPLIED, "Apply complete!", "")
    assert scenario.states() == [State.APPLIED]
    assert scenario.audit.states == ["SUCCESS"]
    assert [audited.state for audited in ended.audited] == ["SUCCESS"]


def test_what_providers_took_is_kept_within_bounds(scenario):
    sent = [ProviderTime(f"{number}-{'x' * 200}", -1, 10**50, number) for number in range(MOST_PROVIDERS + 1)]
    ended = record(scenario, applying(scenario, taken=True), "applied", providers=sent)
    assert [each.longest for each in ended.apply.providers] == list(range(MOST_PROVIDERS, 0, -1))
    assert {(each.changes, each.seconds, len(each.provider)) for each in ended.apply.providers} == {
        (1, 10**9, LONGEST_PROVIDER)
    }


def test_a_failed_plan_shows_the_engines_words_and_is_not_audited(scenario):
    deployment = scenario.put(deployment_in(State.PLANNING))
    ended = record(scenario, deployment, "plan_failed", error="TerraformClientError", cause=ENGINE_FAILED)
    assert (ended.reason, ended.outcome.last_lines) == ("no: terraform plan ended with exit code 1", "Error: no\n")
    assert scenario.audit.published == []
    assert ended.error == "TerraformClientError"


def test_a_failed_apply_is_audited_as_a_failure(scenario):
    ended = record(
        scenario, applying(scenario, taken=True), "apply_failed", error="TerraformClientError", cause=ENGINE_FAILED
    )
    assert ended.state is State.APPLY_FAILED
    (published,) = scenario.audit.published
    message = published.body
    assert (message["state"], message["reason"]) == ("FAILURE", "no: terraform plan ended with exit code 1")
    assert message["ended"] > message["started"]


def test_an_apply_without_an_answer_is_unknown_once_a_runner_has_taken_it(scenario):
    ended = record(scenario, applying(scenario, taken=True), "outcome_unknown", error="States.HeartbeatTimeout")
    assert (ended.state, ended.reason) == (State.OUTCOME_UNKNOWN, "The runner sent no heartbeat for 1 minute.")
    assert scenario.audit.states == ["UNKNOWN"]
    assert ended.error == "States.HeartbeatTimeout"


def test_of_an_apply_that_took_too_long_the_limit_and_its_key_are_told(scenario):
    ended = record(scenario, applying(scenario, taken=True), "outcome_unknown", error="States.Timeout")
    assert ended.reason == (
        "The time limit was exceeded. The apply exceeded its time limit of 60 minutes (runner.apply_timeout). Set "
        "runner: {apply_timeout: 2h} or more for this root in the default branch's tidegate.yaml."
    )


@pytest.mark.parametrize("state", ["outcome_unknown", "engine_fault"])
def test_an_apply_that_no_runner_took_was_not_applied_and_never_will_be(scenario, state):
    deployment = applying(scenario, taken=False)
    ended = record(scenario, deployment, state, error="JobGone", cause='{"errorMessage": "gone", "stackTrace": ["x"]}')
    assert (ended.state, ended.reason) == (State.ENGINE_FAULT, "JobGone: gone")
    assert not scenario.jobs.hand_over(deployment.apply.job, "token", "clone")
    assert scenario.audit.states == ["FAILURE"]


def test_a_fault_of_tidegate_during_a_taken_apply_is_unknown(scenario):
    assert record(scenario, applying(scenario, taken=True), "engine_fault").state is State.OUTCOME_UNKNOWN


@pytest.mark.parametrize("state", [State.PLANNING, State.AWAITING_REVIEW, State.APPROVED])
def test_a_fault_of_tidegate_before_the_apply_ends_the_deployment(scenario, state):
    ended = record(scenario, scenario.put(deployment_in(state)), "engine_fault", error="KeyError", cause="not JSON")
    assert (ended.state, ended.reason) == (State.ENGINE_FAULT, "KeyError: not JSON")
    assert scenario.audit.published == []


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        ("RunnerStopped", '{"message": "OutOfMemoryError"}', "The runner stopped: OutOfMemoryError"),
        ("States.Timeout", None, "The time limit was exceeded."),
        ("RunnerFault", "There is no such bucket.", "There is no such bucket."),
        ("Lambda.Unknown", "", "Lambda.Unknown"),
        ("TaskFailed", "TaskFailed: A node did not drain.", "TaskFailed: A node did not drain."),
        (None, None, ""),
    ],
)
def test_a_reason_is_in_words_that_people_know(scenario, error, cause, reason):
    ended = record(scenario, scenario.put(deployment_in(State.PLANNING)), "engine_fault", error=error, cause=cause)
    assert ended.reason == reason


def test_an_expired_review_says_nothing_of_a_decision(scenario):
    ended = record(
        scenario, scenario.put(deployment_in(State.AWAITING_REVIEW)), "review_expired", error="States.Timeout"
    )
    assert (ended.state, ended.reason) == (State.REVIEW_EXPIRED, "")


def test_a_decision_in_the_last_moment_does_not_apply_what_expired(scenario):
    ended = record(scenario, scenario.put(deployment_in(State.APPROVED)), "review_expired", error="States.Timeout")
    assert ended.state is State.REVIEW_EXPIRED
    assert "reviewer" in ended.reason


def test_a_rejection_in_the_last_moment_stays_a_rejection(scenario):
    assert record(scenario, scenario.put(deployment_in(State.REJECTED)), "review_expired").state is State.REJECTED


def test_what_was_approved_before_the_time_was_over_is_named(scenario):
    review = any_review(approvals=(Approval("reviewer", NOW),))
    waiting = deployment_in(State.AWAITING_REVIEW, review=review, review_rule=ReviewRule(approvals=2))
    ended = record(scenario, scenario.put(waiting), "review_expired", error="States.Timeout")
    assert "Approved by reviewer" in ended.reason


def test_recording_again_changes_nothing_but_is_shown_again(scenario):
    deployment = applying(scenario, taken=True)
    first = record(scenario, deployment, "applied")
    assert record(scenario, deployment, "applied") == first
    assert scenario.states() == [State.APPLIED, State.APPLIED]
    assert scenario.audit.events == [f"{deployment.apply.job}:SUCCESS"]


def test_while_the_audit_topic_is_down_a_result_is_decided_and_nobody_sees_it(scenario):
    deployment = applying(scenario, taken=True)
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable, match="audit message"):
        record(scenario, deployment, "applied")
    waiting = scenario.deployments.get(deployment.id)
    assert (waiting.state, waiting.outcome.ending.state) == (State.APPLYING, State.APPLIED)
    assert scenario.event_publisher.announced == []
    scenario.audit.unavailable = False
    assert record(scenario, deployment, "engine_fault").state is State.APPLIED
    assert scenario.audit.states == ["SUCCESS"]


def approved(scenario, *, with_job):
    deployment = scenario.put(deployment_in(State.APPROVED))
    if with_job:
        scenario.jobs.create(any_job(JobKind.APPLY))
    return deployment


def test_an_apply_that_the_topic_may_have_heard_of_has_an_end_there_although_it_never_began(scenario):
    assert record(scenario, approved(scenario, with_job=True), "engine_fault").state is State.ENGINE_FAULT
    assert scenario.audit.states == ["FAILURE"]


def test_an_apply_that_could_not_begin_for_want_of_an_audit_topic_ends_all_the_same(scenario):
    scenario.audit.unavailable = True
    assert record(scenario, approved(scenario, with_job=True), "engine_fault").state is State.ENGINE_FAULT
    assert scenario.states() == [State.ENGINE_FAULT]


@pytest.mark.parametrize(
    ("cause", "message", "last_lines"),
    [
        (None, "", ""),
        ("", "", ""),
        ("plain words", "plain words", ""),
        ('"text"', "text", ""),
        ("{}", "", ""),
        ('{"message": "m", "last_lines": "l"}', "m", "l"),
        ('{"errorType": "E", "errorMessage": "m"}', "m", ""),
        ('{"message": null, "last_lines": 7}', "", "7"),
        ('{"message": "cut off in the mid', '{"message": "cut off in the mid', ""),
        ("[" * 30_000, "[" * KEPT_MESSAGE, ""),
    ],
)
def test_a_cause_is_read_whatever_it_is(cause, message, last_lines):
    failure = read_cause(cause)
    assert (failure.message, failure.last_lines) == (message, last_lines)


def test_what_is_kept_of_a_failure_is_bounded():
    failure = read_cause(json.dumps({"message": "m" * 10_000, "last_lines": "begin" + "l" * 40_000 + "end"}))
    assert len(failure.message) == KEPT_MESSAGE
    assert len(failure.last_lines) == KEPT_LAST_LINES
    assert failure.last_lines.endswith("end")


def test_the_last_lines_of_a_success_are_bounded(scenario):
    ended = record(scenario, applying(scenario, taken=True), "applied", last_lines="x" * 40_000)
    assert len(ended.outcome.last_lines) == KEPT_LAST_LINES


@pytest.mark.parametrize("state", State)
def test_the_ends_of_applies_and_rejections_are_audited(state):
    with_apply = {State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.ENGINE_FAULT}
    with_apply |= {State.REJECTED, State.CANCELLED}
    assert (end_word(deployment_in(State.APPLYING), state, had_begun=False) is not None) is (state in with_apply)
    without = {State.REJECTED, State.CANCELLED}
    assert (end_word(deployment_in(State.PLANNING), state, had_begun=False) is not None) is (state in without)


def test_an_audit_message_names_what_was_approved_by_whom():
    review = any_review(approved=True, by="reviewer", at=NOW, approvals=(Approval("reviewer", NOW),))
    message = audit_message(deployment_in(State.APPLYING, review=review), RUNNING, NOW)
    deployment = deployment_in(State.APPLYING).id
    assert (message.event, message.group) == (f"{deployment}-apply-1:RUNNING", deployment)
    assert message.body == {
        "version": 1,
        "event_id": message.event,
        "id": f"{deployment}-apply-1",
        "state": "RUNNING",
        "at": timestamp_text(NOW),
        "deployment": deployment,
        "repository": "acme/infra",
        "root": "network",
        "dir": "roots/network",
        "workspace": "default",
        "revision": f"{1:040x}",
        "branch": "main",
        "trigger": "merge",
        "pull_request": None,
        "forced": False,
        "destroy": False,
        "initiating_user": "maintainer",
        "approved_by": "reviewer",
        "approved_at": "2026-03-02T08:00:00.000000+00:00",
        "approvals": [{"by": "reviewer", "at": timestamp_text(NOW), "reason": ""}],
        "approved_here": [],
        "override": None,
        "missing": [],
        "rejected_by": None,
        "cancelled_by": None,
        "plan_sha256": "ab" * 32,
        "engine": "terraform",
        "engine_version": "1.11.4",
        "started": "2026-03-02T08:00:00.000000+00:00",
        "ended": None,
        "reason": "",
    }


def test_an_audit_message_of_an_apply_without_review_names_nobody():
    message = audit_message(deployment_in(State.APPLIED, review=None, plan=None), "SUCCESS", NOW).body
    assert (message["approved_by"], message["approved_at"], message["plan_sha256"]) == (None, None, None)


def test_what_names_an_audit_message_fits_the_topic():
    """SNS takes at most 128 printable characters for either."""
    long = any_deployment(id="n" * 64, root=any_root(name="r" * 100), repository=f"{'o' * 100}/{'n' * 100}")
    head = QueueHead(long.queue)
    for message in (
        audit_message(long, RUNNING, NOW),
        forced_message(long),
        unlock_message(head, any_lock(), Unlocking("reviewer", NOW)),
    ):
        for name in (message.event, message.group):
            assert len(name) <= 128
            assert name.isascii()
            assert name.isprintable()


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_a_gate_that_expires_says_what_was_waited_for(scenario, state):
    waiting = scenario.put(deployment_in(state, reason="Waiting for app (dev)."))
    ended = record(scenario, waiting, "gate_expired", error="States.Timeout", cause="")
    assert (ended.state, ended.reason) == (State.GATE_EXPIRED, "Waiting for app (dev).")
    assert scenario.audit.published == []


def test_a_gate_that_stays_shut_says_why_instead(scenario):
    waiting = scenario.put(deployment_in(State.GATED, reason="Waiting for app (dev)."))
    cause = json.dumps({"errorType": "GateBlocked", "errorMessage": "It has already waited 7 times."})
    ended = record(scenario, waiting, "gate_expired", error="GateBlocked", cause=cause)
    assert (ended.state, ended.reason) == (State.GATE_EXPIRED, "It has already waited 7 times.")


@pytest.mark.parametrize("begun", [True, False])
def test_an_apply_that_was_to_follow_a_gate_has_an_end_where_it_was_audited(scenario, begun):
    """Whoever began the apply died after the audit message, and before the record said so."""
    waiting = scenario.put(deployment_in(State.GATED, gate=Gate("gate", NOW, AfterGate.APPLY)))
    if begun:
        scenario.jobs.create(any_job(JobKind.APPLY))
    record(scenario, waiting, "engine_fault", error="States.Timeout")
    assert scenario.audit.states == (["FAILURE"] if begun else [])


@pytest.mark.parametrize(
    ("error", "stops"),
    [("States.Timeout", True), ("States.HeartbeatTimeout", False), ("RunnerStopped", False)],
)
def test_an_apply_is_stopped_when_its_time_is_over_and_goes_on_without_heartbeats(scenario, error, stops):
    record(scenario, applying(scenario, taken=True), "outcome_unknown", error=error)
    assert bool(scenario.runners.stopped) is stops


@pytest.mark.parametrize(
    ("error", "stops"), [("States.Timeout", True), ("States.HeartbeatTimeout", True), ("RunnerFault", False)]
)
def test_the_runner_of_a_plan_that_was_given_up_is_stopped(scenario, error, stops):
    deployment = scenario.put(deployment_in(State.PLANNING, plan_job="network-plan-1"))
    scenario.jobs.create(any_job(JobKind.PLAN, id=deployment.planned.job))
    scenario.jobs.hand_over(deployment.planned.job, "token", "clone")
    scenario.jobs.take(deployment.planned.job, "arn:task/1")
    record(scenario, deployment, "engine_fault", error=error)
    assert bool(scenario.runners.stopped) is stops


def test_a_result_is_recorded_although_its_runner_cannot_be_stopped(scenario):
    scenario.runners.refusals = 1
    ended = record(scenario, applying(scenario, taken=True), "outcome_unknown", error="States.Timeout")
    assert ended.state is State.OUTCOME_UNKNOWN


def interrupted(scenario, *, ended):
    """An apply that somebody interrupted, and what its runner answers."""
    one = applying(scenario, taken=True)
    scenario.deployments.save(amended(one, cancelled=Cancellation("reviewer", NOW)))
    cause = json.dumps({"message": "terraform apply failed with exit code 1.", "ended": ended})
    return record(scenario, one, "outcome_unknown", error="Interrupted", cause=cause)


def test_an_interrupted_apply_whose_engine_ended_in_order_failed(scenario):
    ended = interrupted(scenario, ended=True)
    assert ended.state is State.APPLY_FAILED
    assert ended.reason.startswith("reviewer cancelled it during its apply.")
    assert scenario.audit.states == ["FAILURE"]


def test_the_outcome_of_an_interrupted_apply_whose_engine_gave_no_answer_is_unknown(scenario):
    ended = interrupted(scenario, ended=False)
    assert ended.state is State.OUTCOME_UNKNOWN
    assert ended.reason.startswith("reviewer cancelled it during its apply.")


def test_a_runner_that_its_host_interrupts_leaves_the_outcome_unknown(scenario):
    cause = json.dumps({"message": "interrupted", "ended": True})
    ended = record(scenario, applying(scenario, taken=True), "outcome_unknown", error="Interrupted", cause=cause)
    assert ended.state is State.OUTCOME_UNKNOWN


@pytest.mark.parametrize(
    ("state", "asked", "end"),
    [
        (State.CANCELLED, "engine_fault", "cancelled"),
        (State.APPLY_FAILED, "outcome_unknown", "apply failed"),
        (State.OUTCOME_UNKNOWN, "outcome_unknown", "unknown"),
        (State.ENGINE_FAULT, "outcome_unknown", "unknown"),
        (State.ENGINE_FAULT, "engine_fault", "recorded"),
    ],
)
def test_the_machine_is_told_how_it_ended(scenario, state, asked, end):
    one = scenario.put(deployment_in(state))
    assert record_result(scenario.ports, RecordResult(deployment=one.id, state=asked)).end == end
