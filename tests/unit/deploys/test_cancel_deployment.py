"""Whatever has not ended can be cancelled, and a cancelled deployment is never applied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployment, deployment_in
from tests.unit.deploys.cancel_scenario import LATER, RUNNER, CancelScenario
from tidegate.deploys.cancel_deployment import cancel_deployment, go_on_cancelling
from tidegate.deploys.rules.cancelling import answer_given, can_be_cancelled, cancelled, not_cancelled
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.states import presentation_of
from tidegate.rules.errors import CloudUnavailable, Conflict, DeploymentCancelled, NotFound


@pytest.fixture
def scenario():
    return CancelScenario()


class Overtaken:
    """Deployments whose next record somebody else changes right before it is saved."""

    def __init__(self, deployments, change):
        self._deployments, self._change = deployments, change

    def save(self, deployment):
        if self._change:
            change, self._change = self._change, None
            self._deployments.save(change(self._deployments.get(deployment.id)))
        return self._deployments.save(deployment)

    def __getattr__(self, name):
        return getattr(self._deployments, name)


def test_what_waits_in_line_leaves_it_and_the_next_one_is_first(scenario):
    first, second = any_deployment(1), any_deployment(2)
    scenario.queues.enqueue(first)
    scenario.queues.enqueue(second)
    decision = scenario.cancel(first)
    assert decision.done
    assert "reviewer" in decision.reason
    assert [each.deployment for each in scenario.queues.waiting(first.queue)] == [second.id]
    ended = scenario.now(first)
    assert (ended.state, ended.history[-1].by) == (State.CANCELLED, "reviewer")
    assert scenario.audit.states == ["CANCELLED"]
    assert scenario.audit.published[0].body["cancelled_by"] == "reviewer"
    assert State.CANCELLED in scenario.states()
    assert first.queue in scenario.event_publisher.lines


def test_a_deployment_that_was_taken_from_the_line_just_now_ends_as_well(scenario):
    deployment = scenario.in_flight(any_deployment())
    assert scenario.cancel(deployment).done
    assert scenario.now(deployment).state is State.CANCELLED


def test_a_plan_ends_its_runner_is_stopped_and_nobody_waits_for_it(scenario):
    deployment = scenario.planning()
    scenario.event_publisher.lines.clear()
    assert scenario.cancel(deployment).done
    assert scenario.now(deployment).state is State.CANCELLED
    assert list(scenario.runners.stopped) == [RUNNER]
    assert scenario.workflows.failed["job"][0] == "DeploymentCancelled"
    assert deployment.queue in scenario.event_publisher.lines


def test_no_runner_takes_a_plan_that_was_cancelled_before_one_had_it(scenario):
    deployment = scenario.planning(taken=False)
    assert scenario.cancel(deployment).done
    assert scenario.runners.stopped == {}
    assert "job" in scenario.workflows.failed
    assert not scenario.jobs.hand_over(deployment.planned.job, "later", "clone")


def test_a_plan_whose_job_has_expired_ends_all_the_same(scenario):
    deployment = scenario.in_flight(deployment_in(State.PLANNING, plan_job="network-plan-9"))
    assert scenario.cancel(deployment).done
    assert scenario.now(deployment).state is State.CANCELLED


def test_a_review_is_not_waited_for_any_more(scenario):
    deployment = scenario.reviewed()
    assert scenario.cancel(deployment).done
    assert scenario.now(deployment).state is State.CANCELLED
    assert scenario.workflows.failed["review"][0] == "DeploymentCancelled"


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED, State.AWAITING_REQUIREMENTS])
def test_a_gate_is_not_waited_at_any_more(scenario, state):
    deployment = scenario.gated(state)
    assert scenario.cancel(deployment).done
    assert scenario.now(deployment).state is State.CANCELLED
    assert scenario.workflows.failed["gate"][0] == "DeploymentCancelled"


def test_an_approved_deployment_whose_apply_has_not_begun_never_begins_it(scenario):
    deployment = scenario.in_flight(deployment_in(State.APPROVED))
    assert scenario.cancel(deployment).done
    with pytest.raises(DeploymentCancelled):
        not_cancelled(scenario.now(deployment))


def test_who_begins_the_apply_first_wins(scenario):
    deployment = scenario.in_flight(deployment_in(State.APPROVED))

    def begin(one):
        return amended(one.moved(State.APPLYING, LATER), apply_job=deployment_in(State.APPLYING).apply.job)

    overtaken = Overtaken(scenario.deployments, begin)
    decision = scenario.cancel(deployment, deployments=overtaken)
    assert not decision.done
    assert scenario.now(deployment).state is State.APPLYING
    assert scenario.audit.published == []


def test_who_begins_the_apply_after_the_cancel_cannot_save_it(scenario):
    deployment = scenario.in_flight(deployment_in(State.APPROVED))
    scenario.cancel(deployment)
    with pytest.raises(Conflict):
        scenario.deployments.save(deployment.moved(State.APPLYING, LATER))


def test_an_apply_is_left_alone_unless_it_is_meant(scenario):
    deployment = scenario.applying()
    decision = scenario.cancel(deployment)
    assert not decision.done
    assert "partly changed" in decision.reason
    assert scenario.now(deployment) == deployment
    assert scenario.runners.stopped == {}


def test_an_apply_is_interrupted_once_it_is_meant_and_ends_as_its_engine_says(scenario):
    deployment = scenario.applying()
    decision = scenario.cancel(deployment, is_apply=True)
    assert decision.done
    assert "partly changed" in decision.reason
    now = scenario.now(deployment)
    assert (now.state, now.outcome.cancelled.by) == (State.APPLYING, "reviewer")
    assert list(scenario.runners.stopped) == [RUNNER]
    assert scenario.workflows.failed == {}, "its runner answers"
    assert scenario.audit.states == ["CANCELLING"]


def test_an_apply_that_no_runner_has_taken_is_never_applied(scenario):
    deployment = scenario.applying(taken=False)
    decision = scenario.cancel(deployment, is_apply=True)
    assert "Nothing was applied" in decision.reason
    assert scenario.now(deployment).state is State.CANCELLED
    assert scenario.workflows.failed["job"][0] == "DeploymentCancelled"
    assert scenario.audit.states == ["CANCELLING", "CANCELLED"]


def test_an_apply_is_not_interrupted_while_the_audit_topic_does_not_hear_of_it(scenario):
    deployment = scenario.applying()
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.cancel(deployment, is_apply=True)
    assert scenario.runners.stopped == {}
    assert scenario.now(deployment).outcome.cancelled is None


@pytest.mark.parametrize("is_apply", [False, True])
def test_cancelling_once_more_is_harmless_and_names_who_did_it(scenario, is_apply):
    deployment = scenario.applying() if is_apply else scenario.planning()
    scenario.cancel(deployment, is_apply=is_apply)
    again = scenario.cancel(deployment, by="somebody-else", is_apply=is_apply)
    assert again.done
    assert again.reason.startswith("reviewer ")
    assert len(scenario.runners.stopped) == 1
    assert len(scenario.audit.published) == 1


@pytest.mark.parametrize("state", [state for state in State if is_final(state) and state is not State.CANCELLED])
def test_what_has_ended_is_not_cancelled(scenario, state):
    deployment = scenario.put(deployment_in(state))
    decision = scenario.cancel(deployment, is_apply=True)
    assert not decision.done
    assert "has ended" in decision.reason
    assert scenario.now(deployment) == deployment


def test_what_somebody_has_rejected_before_stays_rejected(scenario):
    rejected = Ending(State.REJECTED, "no", "", "", LATER)
    deployment = scenario.in_flight(deployment_in(State.AWAITING_REVIEW, ending=rejected))
    assert not scenario.cancel(deployment).done
    assert scenario.now(deployment).outcome.ending == rejected


def test_one_who_dies_after_the_decision_is_followed_by_the_reconciler(scenario):
    deployment = scenario.reviewed()
    scenario.deployments.save(cancelled(deployment, "reviewer", LATER))
    assert go_on_cancelling(scenario.ports, deployment.id)
    assert scenario.now(deployment).state is State.CANCELLED
    assert "review" in scenario.workflows.failed
    assert not go_on_cancelling(scenario.ports, deployment.id), "nothing is left to be done"


def test_the_reconciler_cancels_nothing_by_itself(scenario):
    deployment = scenario.reviewed()
    assert not go_on_cancelling(scenario.ports, deployment.id)
    assert not go_on_cancelling(scenario.ports, "gone")
    assert scenario.now(deployment) == deployment


def test_a_runner_that_cannot_be_stopped_now_is_stopped_when_it_is_asked_again(scenario):
    deployment = scenario.planning()
    scenario.runners.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.cancel(deployment)
    assert scenario.cancel(deployment).done
    assert list(scenario.runners.stopped) == [RUNNER]


def test_an_unknown_deployment_is_not_cancelled(scenario):
    with pytest.raises(NotFound):
        cancel_deployment(scenario.ports, "gone", "reviewer", LATER)


def test_there_is_nothing_to_say_of_one_that_nobody_cancelled():
    with pytest.raises(ValueError, match="is not cancelled"):
        answer_given(deployment_in(State.PLANNING))


def test_it_is_offered_once(scenario):
    waiting, planning = scenario.put(any_deployment(2)), scenario.applying()
    assert can_be_cancelled(waiting)
    assert can_be_cancelled(planning)
    scenario.cancel(waiting)
    scenario.cancel(planning, is_apply=True)
    assert not can_be_cancelled(scenario.now(waiting))
    assert not can_be_cancelled(scenario.now(planning))


def test_its_check_run_is_cancelled_and_says_by_whom(scenario):
    deployment = scenario.planning()
    scenario.cancel(deployment)
    face = presentation_of(scenario.now(deployment), View())
    assert (face.status, face.conclusion) == ("completed", "cancelled")
    assert "`reviewer`" in face.paragraphs[0]


@pytest.mark.parametrize("state", [State.APPLYING, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.APPLIED])
def test_an_apply_that_was_interrupted_never_looks_as_if_nothing_happened(scenario, state):
    deployment = scenario.applying()
    scenario.cancel(deployment, is_apply=True)
    shown = replace(scenario.now(deployment), state=state)
    text = " ".join(presentation_of(shown, View()).paragraphs)
    assert "`reviewer` interrupted" in text
    assert "Nothing was" not in text
