"""Stopping a stack of a change, and letting it continue after failures."""

from __future__ import annotations

import pytest

from tests.builders import any_review
from tests.unit.gates.gate_scenario import CHANGE
from tests.unit.gates.wave_scenario import ONE_AT_A_TIME, STOPS_AT_ONCE, WaveScenario
from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import Wave, WaveRules
from tidegate.deploys.rules.freeze import MissingBeforeApply
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.requirements_gate import waiting
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.gates.stop_wave import continue_wave, reject_stopped, stop_wave
from tidegate.rules.access import Access
from tidegate.rules.errors import CloudUnavailable, NotFound

BOTH = WaveRules(max_concurrent=1, stop_on_failures=1)


@pytest.fixture
def scenario():
    return WaveScenario()


def stop(scenario, by="reviewer", stack="prod", at=None):
    return stop_wave(scenario.ports, CHANGE, stack, by, at or scenario.clock.now())


def go_on(scenario, reason="It is the same quota.", at=None):
    return continue_wave(scenario.ports, CHANGE, "prod", "operator", at or scenario.clock.now(), reason)


class TestStopping:
    def test_who_waits_at_the_gate_is_rejected_and_who_runs_goes_on(self, scenario):
        first, second = scenario.applies("a", "b")
        decision = stop(scenario)
        assert decision.done, decision.reason
        scenario.look()
        rejected = scenario.now(second)
        assert (rejected.gate.next, rejected.rejected_by) == (AfterGate.REJECTED, "reviewer")
        assert rejected.outcome.ending.state is State.REJECTED
        assert scenario.answers[second.id] == "rejected"
        assert scenario.now(first).state is State.APPLYING
        assert scenario.audit.states[-1] == "STOPPED"

    def test_who_waits_for_its_dependencies_is_rejected_too(self, scenario):
        scenario.member("app", "dev", State.APPLYING)
        waiting_ = scenario.coming("a", waits=Waits(apply_after=("dev",)))
        assert scenario.comes(waiting_) == ""
        stop(scenario)
        scenario.look()
        assert scenario.answers[waiting_.id] == "rejected"

    def test_who_waits_for_people_is_rejected_too(self, scenario):
        reviewed = scenario.coming("a", review_rule=ReviewRule(when=PlanReview.ALWAYS))
        scenario.change(reviewed, state=State.AWAITING_REVIEW, review=any_review())
        asked = scenario.change(scenario.coming("b"), state=State.APPROVED)
        asked = scenario.deployments.save(waiting(asked, MissingBeforeApply(("x",)), scenario.clock.now()))
        stop(scenario)
        assert scenario.look() == 2
        assert scenario.now(reviewed).review.approved is False
        assert scenario.now(asked).gate.next is AfterGate.REJECTED
        assert {scenario.now(each).rejected_by for each in (reviewed, asked)} == {"reviewer"}

    def test_who_comes_later_is_rejected_when_it_comes(self, scenario):
        first, second = scenario.coming("a"), scenario.coming("b")
        stop(scenario)
        assert scenario.comes(first) == "rejected"
        scenario.change(second, state=State.APPROVED)
        assert not scenario.begins(second)
        assert not scenario.begins(second)
        assert scenario.comes(second) == "rejected"

    def test_a_repeated_call_changes_nothing(self, scenario):
        scenario.applies("a", "b")
        at = scenario.clock.now()
        assert stop(scenario, at=at) == stop(scenario, at=at)
        assert not stop(scenario, "maintainer").done
        assert scenario.audit.states.count("STOPPED") == 1

    def test_only_who_may_reject_all_of_them_stops_them(self, scenario):
        access = Access(review=("user:owner",))
        scenario.coming("a")
        scenario.coming("b", access=access)
        refused = stop(scenario)
        assert not refused.done
        assert "root b" in refused.reason
        assert scenario.wave() == Wave(CHANGE, "prod")

    def test_where_nothing_is_left_there_is_nothing_to_stop(self, scenario):
        scenario.applies("a")
        assert not stop(scenario).done

    def test_a_stack_without_rules_is_not_stopped_as_nobody_would_look(self, scenario):
        scenario.coming("a", wave=WaveRules())
        assert "max_concurrent" in stop(scenario).reason

    def test_an_unknown_stack_is_not_found(self, scenario):
        scenario.coming("a")
        with pytest.raises(NotFound):
            stop(scenario, stack="staging")

    def test_nothing_stops_that_cannot_be_audited(self, scenario):
        scenario.coming("a")
        scenario.audit.unavailable = True
        with pytest.raises(CloudUnavailable):
            stop(scenario)
        assert scenario.wave().stopped is None

    def test_nobody_is_rejected_whose_stack_nobody_stopped(self, scenario):
        member = scenario.coming("a")
        assert reject_stopped(scenario.ports, member, scenario.wave()) == member


class TestContinuing:
    def held(self, scenario, wave=STOPS_AT_ONCE):
        first, second = scenario.applies("a", "b", wave=wave)
        if second.state is State.APPLYING:
            second = None
        scenario.finishes(first, State.APPLY_FAILED)
        return second or scenario.coming("c", wave=wave)

    def test_an_operator_lets_the_others_begin(self, scenario):
        member = self.held(scenario, BOTH)
        at = scenario.clock.now()
        assert go_on(scenario, at=at).done
        assert go_on(scenario, at=at).done
        scenario.look()
        assert scenario.answers[member.id] == "apply"
        assert scenario.wave().continued.reason == "It is the same quota."
        assert scenario.audit.states.count("CONTINUED") == 1

    def test_the_next_failure_holds_them_again(self, scenario):
        second = self.held(scenario, BOTH)
        go_on(scenario)
        scenario.look()
        third = scenario.coming("d", wave=BOTH)
        scenario.comes(third)
        assert scenario.begins(second)
        scenario.finishes(second, State.APPLY_FAILED)
        assert scenario.now(third).state is State.BLOCKED

    @pytest.mark.parametrize("reason", ["", "  ", "x" * (MAXIMUM_REASON + 1)])
    def test_the_reason_is_needed(self, scenario, reason):
        self.held(scenario)
        assert not go_on(scenario, reason).done

    def test_where_nothing_holds_it_there_is_nothing_to_continue(self, scenario):
        scenario.applies("a", wave=ONE_AT_A_TIME)
        assert not go_on(scenario).done

    def test_a_stopped_stack_stays_stopped(self, scenario):
        self.held(scenario)
        stop(scenario)
        assert "final" in go_on(scenario).reason
