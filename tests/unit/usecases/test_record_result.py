from __future__ import annotations

import json

import pytest

from tests.builders import deployment_in
from tests.unit.usecases.terraform_world import World
from tidegate.domain.audit import audit_message, is_audited
from tidegate.domain.deployment import State
from tidegate.domain.errors import CloudUnavailable
from tidegate.domain.job import Job, JobKind
from tidegate.messages import RecordResult
from tidegate.usecases.record_result import KEPT_LAST_LINES, KEPT_MESSAGE, ResultRecorder, read_cause

ENGINE_FAILED = json.dumps({"message": "terraform plan ended with exit code 1", "last_lines": "Error: no\n"})


@pytest.fixture
def world():
    return World()


def record(world, deployment, state, **fields):
    recorder = ResultRecorder(world.deployments, world.jobs, world.audit, world.announcements, world.clock)
    message = RecordResult(deployment=deployment.id, state=state, **fields)
    assert recorder.record(message).state == world.deployments.get(deployment.id).state
    return world.deployments.get(deployment.id)


def applying(world, *, taken):
    deployment = world.put(deployment_in(State.APPLYING))
    job = deployment.apply_job
    world.jobs.create(
        Job(job, deployment.id, JobKind.APPLY, deployment.repository, deployment.revision.sha, "url", deployment.root)
    )
    world.jobs.hand_over(job, "token", "clone")
    if taken:
        world.jobs.take(job, "runner")
    return deployment


def test_a_success_is_shown_and_audited_with_its_last_lines(world):
    ended = record(world, applying(world, taken=True), "applied", last_lines="Apply complete!")
    assert (ended.state, ended.last_lines, ended.reason) == (State.APPLIED, "Apply complete!", "")
    assert world.states() == [State.APPLIED]
    assert [audit_message(recorded)["state"] for recorded in world.audit.recorded] == ["SUCCESS"]


def test_a_failed_plan_shows_the_engines_words_and_is_not_audited(world):
    deployment = world.put(deployment_in(State.PLANNING))
    ended = record(world, deployment, "plan_failed", error="TerraformClientError", cause=ENGINE_FAILED)
    assert (ended.reason, ended.last_lines) == ("terraform plan ended with exit code 1", "Error: no\n")
    assert world.audit.recorded == []


def test_a_failed_apply_is_audited_as_a_failure(world):
    ended = record(
        world, applying(world, taken=True), "apply_failed", error="TerraformClientError", cause=ENGINE_FAILED
    )
    assert ended.state is State.APPLY_FAILED
    (recorded,) = world.audit.recorded
    message = audit_message(recorded)
    assert (message["state"], message["reason"]) == ("FAILURE", "terraform plan ended with exit code 1")
    assert message["ended"] > message["started"]


def test_an_apply_without_an_answer_is_unknown_once_a_runner_has_taken_it(world):
    ended = record(world, applying(world, taken=True), "outcome_unknown", error="States.HeartbeatTimeout")
    assert (ended.state, ended.reason) == (State.OUTCOME_UNKNOWN, "The runner sent no sign of life for a minute.")
    assert audit_message(world.audit.recorded[0])["state"] == "UNKNOWN"


@pytest.mark.parametrize("state", ["outcome_unknown", "engine_fault"])
def test_an_apply_that_no_runner_took_was_not_applied_and_never_will_be(world, state):
    deployment = applying(world, taken=False)
    ended = record(world, deployment, state, error="JobGone", cause='{"errorMessage": "gone", "stackTrace": ["x"]}')
    assert (ended.state, ended.reason) == (State.ENGINE_FAULT, "JobGone: gone")
    assert not world.jobs.hand_over(deployment.apply_job, "token", "clone")
    assert audit_message(world.audit.recorded[0])["state"] == "FAILURE"


def test_a_fault_of_tidegate_during_a_taken_apply_is_unknown(world):
    assert record(world, applying(world, taken=True), "engine_fault").state is State.OUTCOME_UNKNOWN


@pytest.mark.parametrize("state", [State.PLANNING, State.AWAITING_REVIEW, State.APPROVED])
def test_a_fault_of_tidegate_before_the_apply_ends_the_deployment(world, state):
    ended = record(world, world.put(deployment_in(state)), "engine_fault", error="KeyError", cause="not JSON")
    assert (ended.state, ended.reason) == (State.ENGINE_FAULT, "KeyError: not JSON")
    assert world.audit.recorded == []


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        ("RunnerStopped", '{"message": "OutOfMemoryError"}', "The runner stopped: OutOfMemoryError"),
        ("States.Timeout", None, "The time limit was over."),
        ("RunnerFault", "no such bucket", "RunnerFault: no such bucket"),
        ("Lambda.Unknown", "", "Lambda.Unknown"),
        (None, None, ""),
    ],
)
def test_a_reason_is_in_words_that_people_know(world, error, cause, reason):
    ended = record(world, world.put(deployment_in(State.PLANNING)), "engine_fault", error=error, cause=cause)
    assert ended.reason == reason


def test_an_expired_review_says_nothing_of_a_decision(world):
    ended = record(world, world.put(deployment_in(State.AWAITING_REVIEW)), "review_expired", error="States.Timeout")
    assert (ended.state, ended.reason) == (State.REVIEW_EXPIRED, "")


def test_a_decision_in_the_last_moment_does_not_apply_what_expired(world):
    ended = record(world, world.put(deployment_in(State.APPROVED)), "review_expired", error="States.Timeout")
    assert ended.state is State.REVIEW_EXPIRED
    assert "reviewer" in ended.reason


def test_a_rejection_in_the_last_moment_stays_a_rejection(world):
    assert record(world, world.put(deployment_in(State.REJECTED)), "review_expired").state is State.REJECTED


def test_recording_again_changes_nothing_but_is_shown_and_audited_again(world):
    deployment = applying(world, taken=True)
    first = record(world, deployment, "applied")
    assert record(world, deployment, "applied") == first
    assert world.states() == [State.APPLIED, State.APPLIED]
    assert {audit_message(recorded)["event_id"] for recorded in world.audit.recorded} == {
        f"{deployment.apply_job}:SUCCESS"
    }


def test_a_result_is_kept_while_the_audit_topic_is_down_and_is_audited_later(world):
    deployment = applying(world, taken=True)
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable, match="audit topic"):
        record(world, deployment, "applied")
    assert world.deployments.get(deployment.id).state is State.APPLIED
    world.audit.unavailable = False
    record(world, deployment, "applied")
    assert len(world.audit.recorded) == 1


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


def test_the_last_lines_of_a_success_are_bounded(world):
    ended = record(world, applying(world, taken=True), "applied", last_lines="x" * 40_000)
    assert len(ended.last_lines) == KEPT_LAST_LINES


@pytest.mark.parametrize("state", State)
def test_only_applies_are_audited(state):
    deployment = deployment_in(state)
    audited = {State.APPLYING, State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN}
    assert is_audited(deployment) is (state in audited)


def test_an_audit_message_names_what_was_approved_by_whom():
    message = audit_message(deployment_in(State.APPLYING))
    assert message == {
        "version": 1,
        "event_id": f"{message['id']}:RUNNING",
        "id": f"{message['deployment']}-apply-1",
        "state": "RUNNING",
        "deployment": deployment_in(State.APPLYING).id,
        "repository": "acme/infra",
        "root": "network",
        "dir": "roots/network",
        "workspace": "default",
        "revision": f"{1:040x}",
        "branch": "main",
        "trigger": "merge",
        "initiating_user": "maintainer",
        "approved_by": "reviewer",
        "approved_at": "2026-03-02T08:00:00.000000+00:00",
        "plan_sha256": "ab" * 32,
        "engine": "terraform",
        "engine_version": "1.11.4",
        "started": "2026-03-02T08:00:00.000000+00:00",
        "ended": None,
        "reason": "",
    }


def test_an_audit_message_of_an_apply_without_review_names_nobody():
    message = audit_message(deployment_in(State.APPLIED, review=None, plan=None))
    assert (message["approved_by"], message["approved_at"], message["plan_sha256"]) == (None, None, None)
