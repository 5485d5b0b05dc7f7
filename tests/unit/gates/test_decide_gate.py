from __future__ import annotations

import pytest

from tests.builders import deployment_in
from tests.instants import utc
from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.queue.end_deployment import end_deployment
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.gates.decide_gate import decide_gate, reject_gate, retry_gate
from tidegate.rules.access import Access
from tidegate.rules.errors import NotFound

FAILED = "has ended (plan failed) and does not wait for dependencies."
AT, LATER = utc("2026-03-02T10:00"), utc("2026-03-02T11:00")


@pytest.fixture
def scenario():
    return GateScenario()


def test_what_waits_for_a_refused_root_is_blocked_at_once_and_says_that_nothing_can_be_run_again(scenario):
    scenario.member("app", "dev", State.APPLIED)
    blocked = scenario.waits(scenario.validated("web", "prod", Waits(apply_after=("dev",), refused=(("db", "dev"),))))
    assert (blocked.state, blocked.reason) == (State.BLOCKED, "db (dev) was not allowed to deploy.")
    scenario.look()
    decision = retry_gate(scenario.ports, blocked.id, "reviewer", AT)
    assert not decision.done
    assert decision.reason.startswith("db (dev) was not allowed to deploy")
    assert reject_gate(scenario.ports, blocked.id, "reviewer", AT).done


def test_what_a_newer_revision_contains_that_is_applied_is_not_run_again(scenario):
    scenario.member("db", "dev", State.PLAN_FAILED, contained_by="newer", contained_at=AT)
    scenario.member("app", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    decision = retry_gate(scenario.ports, blocked.id, "reviewer", AT)
    assert (decision.done, "app (dev): runs again." in decision.reason, "db" in decision.reason) == (True, True, False)


def test_a_retry_says_of_a_pull_requests_head_how_it_is_deployed_again(scenario):
    failed = scenario.member("app", "dev", State.PLAN_FAILED, trigger=Trigger.MANUAL, pull_request=7)
    blocked = scenario.waits(scenario.planned("web", trigger=Trigger.MANUAL, pull_request=7))
    decision = retry_gate(scenario.ports, blocked.id, "reviewer", AT)
    assert not decision.done
    assert "app (dev): deploy it again from #7, or merge that" in decision.reason
    assert [each.id for each in scenario.deployments.all() if each.rerun.of == failed.id] == []
    assert scenario.now(blocked).state is State.BLOCKED


@pytest.mark.parametrize("dev", [State.APPLYING, State.APPLY_FAILED])
def test_a_rejection_settles_the_gate_whether_it_is_blocked_or_not(scenario, dev):
    scenario.member("app", "dev", dev)
    waiting = scenario.waits(scenario.planned("web"))
    decision = decide_gate(scenario.ports, waiting.id, GateAnswer.REJECT, "reviewer", AT, "too late")
    assert decision.done
    assert scenario.now(waiting).outcome.ending.reason.endswith("waited for its dependencies: too late.")
    assert "reviewer rejected" in decision.reason
    assert scenario.answers == {"token": "rejected"}
    assert (scenario.now(waiting).gate.next, scenario.now(waiting).rejected_by) == (AfterGate.REJECTED, "reviewer")


def test_a_rejection_is_audited_when_its_queue_records_the_end(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("web"))
    reject_gate(scenario.ports, waiting.id, "reviewer", AT)
    head, record = scenario.queues.read_with(waiting.queue, waiting.id)
    end_deployment(scenario.ports, head, record, None, None)
    ended = scenario.now(waiting)
    assert (ended.state, ended.history[-1].by) == (State.REJECTED, "reviewer")
    (message,) = scenario.audit.published
    assert (message.state, message.body["rejected_by"]) == ("REJECTED", "reviewer")
    assert scenario.event_publisher.moved[-1] == CHANGE


def test_the_same_rejection_again_is_done_and_changes_nothing(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("web"))
    first = reject_gate(scenario.ports, waiting.id, "reviewer", AT)
    before = scenario.now(waiting)
    assert reject_gate(scenario.ports, waiting.id, "reviewer", AT) == first
    assert scenario.now(waiting) == before


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
def test_after_a_rejection_others_hear_that_it_stands(scenario, answer):
    scenario.member("app", "dev", State.APPLY_FAILED)
    waiting = scenario.waits(scenario.planned("web"))
    reject_gate(scenario.ports, waiting.id, "reviewer", AT)
    refused = decide_gate(scenario.ports, waiting.id, answer, "maintainer", LATER)
    assert not refused.done
    assert "reviewer already rejected this deployment" in refused.reason


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
def test_one_that_goes_on_or_was_superseded_has_nothing_to_decide(scenario, answer):
    dev = scenario.member("app", "dev", State.NO_CHANGES)
    passed = scenario.waits(scenario.planned("web"))
    assert "continues automatically" in decide_gate(scenario.ports, passed.id, answer, "maintainer", AT).reason
    scenario.ends(dev, State.REJECTED)
    blocked = scenario.waits(scenario.planned("db"))
    scenario.newer(blocked)
    scenario.look()
    assert (
        "A newer revision has superseded this deployment"
        in decide_gate(scenario.ports, blocked.id, answer, "maintainer", AT).reason
    )


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
def test_one_that_steps_aside_for_what_runs_again_has_nothing_to_decide(scenario, answer):
    dev = scenario.member("web", "dev", State.REJECTED, shared=True)
    prod = scenario.waits(scenario.planned("web", "prod", shared=True))
    retry_gate(scenario.ports, prod.id, "maintainer", LATER)
    scenario.look()
    assert (
        "This deployment runs again after a" in decide_gate(scenario.ports, prod.id, answer, "maintainer", LATER).reason
    )
    assert {each.rerun.of for each in scenario.deployments.all()} >= {dev.id, prod.id}


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
@pytest.mark.parametrize("state", [State.AWAITING_REVIEW, State.REJECTED])
def test_what_does_not_wait_is_refused_with_its_state(scenario, answer, state):
    other = scenario.put(deployment_in(state))
    refused = decide_gate(scenario.ports, other.id, answer, "maintainer", AT)
    assert not refused.done
    assert state.replace("_", " ") in refused.reason
    assert scenario.now(other) == other


def test_a_retry_runs_again_what_failed_and_the_gate_waits_for_that(scenario):
    dev = scenario.member("app", "dev", State.APPLY_FAILED)
    scenario.member("db", "dev", State.APPLIED)
    blocked = scenario.waits(scenario.planned("web"))
    decision = decide_gate(scenario.ports, blocked.id, GateAnswer.RETRY, "maintainer", AT)
    assert (decision.done, decision.reason) == (True, "maintainer retried. app (dev): runs again.")
    (again,) = [each for each in scenario.deployments.all() if each.rerun.of == dev.id]
    assert (again.request.trigger, again.request.by, again.change.id) == (Trigger.RERUN, "maintainer", CHANGE)
    assert (again.stack, again.change.waits) == (dev.stack, dev.change.waits)
    assert scenario.event_publisher.repeats == [(dev.id, again.id)]
    scenario.look()
    assert (scenario.now(blocked).state, scenario.now(blocked).reason) == (State.GATED, "Waiting for app (dev).")
    scenario.ends(again, State.NO_CHANGES)
    assert scenario.answers == {"token": "review"}


def test_a_retry_reaches_what_failed_behind_others_that_are_blocked_and_each_runs_once(scenario):
    dev = scenario.member("app", "dev", State.REVIEW_EXPIRED)
    scenario.waits(scenario.planned("app", "staging"), "staging")
    prod = scenario.waits(scenario.planned("web", "prod", Waits(apply_after=("dev", "staging"))), "prod")
    scenario.look()
    retry_gate(scenario.ports, prod.id, "maintainer", AT)
    assert [each.rerun.of for each in scenario.deployments.all() if each.rerun.of] == [dev.id]


def test_the_same_retry_again_runs_nothing_twice_even_when_it_failed_again(scenario):
    scenario.member("app", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    for _ in range(2):
        assert retry_gate(scenario.ports, blocked.id, "maintainer", AT).done
    (again,) = [each for each in scenario.deployments.all() if each.rerun.of]
    scenario.ends(again, State.PLAN_FAILED)
    assert retry_gate(scenario.ports, blocked.id, "maintainer", AT).done
    assert [each.id for each in scenario.deployments.all() if each.rerun.of] == [again.id]
    retry_gate(scenario.ports, blocked.id, "maintainer", LATER)
    assert len([each for each in scenario.deployments.all() if each.rerun.of]) == 2


@pytest.mark.parametrize("state", [State.REFUSED, State.SUPERSEDED])
def test_what_was_never_let_in_is_not_run_again_and_the_answer_says_so(scenario, state):
    scenario.member("app", "dev", state)
    blocked = scenario.waits(scenario.planned("web"))
    refused = retry_gate(scenario.ports, blocked.id, "maintainer", AT)
    assert not refused.done
    assert "app (dev): This deployment never started" in refused.reason
    assert not [each for each in scenario.deployments.all() if each.rerun.of]


def test_what_somebody_may_not_apply_they_cannot_have_run_again(scenario):
    scenario.member("app", "dev", State.PLAN_FAILED, access=Access(apply=("user:maintainer",)))
    db = scenario.member("db", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    decision = retry_gate(scenario.ports, blocked.id, "developer", AT)
    assert decision.done
    assert "Only user:maintainer can deploy stack" in decision.reason
    assert [each.rerun.of for each in scenario.deployments.all() if each.rerun.of] == [db.id]


def test_a_retry_of_one_that_nothing_holds_up_only_looks_again(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("web"))
    assert retry_gate(scenario.ports, waiting.id, "maintainer", AT).done
    assert scenario.event_publisher.moved == [CHANGE]


def test_what_is_not_enqueued_yet_did_not_fail(scenario):
    scenario.member("app", "dev", State.PLAN_FAILED)
    scenario.enroll("db", "dev", "not-enqueued-yet")
    blocked = scenario.waits(scenario.planned("web"))
    assert "db" not in retry_gate(scenario.ports, blocked.id, "maintainer", AT).reason


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"state": State.PLANNING}, "is now planning and does not wait for dependencies."),
        ({"state": State.APPLIED}, "has ended (applied) and does not wait for dependencies."),
        (
            {"state": State.PLAN_FAILED},
            (
                f"{FAILED} Correct the configuration and merge the fix. The next revision of this root is then planned "
                "as usual."
            ),
        ),
        ({"state": State.PLAN_FAILED, "contained_by": "newer"}, FAILED),
    ],
)
def test_who_decides_about_what_does_not_wait_is_told_where_it_is_and_what_helps(scenario, answer, fields, told):
    one = scenario.member("app", "dev", **fields)
    decision = decide_gate(scenario.ports, one.id, answer, "maintainer", AT)
    assert (decision.done, decision.reason) == (False, f"This deployment {told}")


@pytest.mark.parametrize("answer", [GateAnswer.RETRY, GateAnswer.REJECT])
def test_there_is_no_gate_of_what_does_not_exist(scenario, answer):
    with pytest.raises(NotFound):
        decide_gate(scenario.ports, "none", answer, "maintainer", AT)
