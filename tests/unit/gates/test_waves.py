"""Stacks that are rolled out a few deployments at a time, stop after failures, and soak."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, any_review
from tests.fakes.ports import changed
from tests.unit.gates.gate_scenario import CHANGE
from tests.unit.gates.wave_scenario import ONE_AT_A_TIME, STOPS_AT_ONCE, WaveScenario
from tidegate.changes.rules.waits import Soak, Waits
from tidegate.changes.rules.wave import Wave, WaveRules
from tidegate.deploys.rules.overview import overview
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.deploys.waves import Waves, end_in_wave, leave_wave
from tidegate.gates.decide_gate import retry_gate
from tidegate.gates.get_change import get_change
from tidegate.gates.open_gates import open_gates
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.record_plan import record_plan
from tidegate.messages import BeginJob, RecordPlan
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.errors import Conflict, RequirementsMissing

REVIEWED = ReviewRule(when=PlanReview.ALWAYS)


@pytest.fixture
def scenario():
    return WaveScenario()


def states(*members):
    return [each.state.value for each in members]


class TestAtMostSoManyAtOnce:
    def test_the_next_begins_when_one_has_ended(self, scenario):
        first, second, third = scenario.applies("a", "b", "c")
        assert states(first, second, third) == ["applying", "gated", "gated"]
        assert second.gate.wave == second.reason
        scenario.finishes(first)
        assert scenario.answers[second.id] == "apply"
        assert third.id not in scenario.answers
        assert scenario.begins(second)
        assert scenario.wave().running == (second.id,)
        assert scenario.now(second).gate is None

    def test_who_has_waited_longest_goes_first(self, scenario):
        first, second = scenario.coming("z"), scenario.coming("a")
        holder = scenario.applies("m")[0]
        for each in (first, second):
            scenario.comes(each)
        scenario.finishes(holder)
        assert scenario.answers.keys() & {first.id, second.id} == {first.id}

    def test_a_gate_that_reads_too_early_is_not_the_last_word(self, scenario):
        """Without a place at its gate, it asks again when its apply begins: it may have come past a review."""
        first, second = (scenario.coming(root, review_rule=REVIEWED) for root in "ab")
        assert [scenario.comes(first), scenario.comes(second)] == ["review", "review"]
        for each in (first, second):
            scenario.change(each, state=State.APPROVED, gate=None, review=any_review(approved=True))
        assert [scenario.begins(first), scenario.begins(second)] == [True, False]
        assert scenario.now(second).state is State.GATED
        assert scenario.comes(second) == ""
        scenario.finishes(first)
        assert scenario.answers[second.id] == "apply"

    def test_stacks_have_places_of_their_own(self, scenario):
        members = scenario.applies("a", stack="dev") + scenario.applies("b")
        assert states(*members) == ["applying", "applying"]

    def test_a_deployment_by_itself_has_no_wave(self, scenario):
        alone = replace(scenario.coming("a"), change=replace(scenario.coming("b").change, id=""))
        assert Waves(scenario.ports).check(alone).begins
        assert not alone.change.waits_before_apply

    def test_its_plan_goes_to_the_gate_first(self, scenario):
        member = scenario.coming("a")
        plan = member.planned.plan
        assert record_plan(scenario.ports, RecordPlan(deployment=member.id, plan=plan)).next == "gate"

    def test_who_waits_for_its_requirements_has_no_place(self, scenario):
        first, second = scenario.coming("a", requires=(Requirements(approvals=1),)), scenario.coming("b")
        assert scenario.comes(first) == "apply"
        assert scenario.comes(second) == ""
        with pytest.raises(RequirementsMissing):
            scenario.begins(first)
        scenario.look()
        assert scenario.answers[second.id] == "apply"

    def test_who_begins_already_keeps_its_place(self, scenario):
        (first,) = scenario.applies("a")
        assert scenario.begins(first)
        with pytest.raises(Exception, match="apply"):
            begin_job(scenario.ports, BeginJob(deployment=first.id, phase="apply", attempt=2))
        assert scenario.wave().running == (first.id,)

    def test_a_place_whose_holder_ended_unseen_is_given_on(self, scenario):
        first, second = scenario.applies("a", "b")
        scenario.change(first, state=State.APPLIED)
        scenario.change_sets.save_wave(replace(scenario.wave(), running=(first.id, "forgotten")))
        scenario.look()
        assert scenario.wave().running == (second.id,)

    def test_a_place_that_was_just_taken_is_not_given_on(self, scenario):
        first, second = scenario.applies("a", "b")
        stale = {first.id: replace(first, state=State.AWAITING_REVIEW)}
        Waves(scenario.ports).read(CHANGE, stale)
        assert scenario.wave().running == (first.id,)
        assert scenario.now(second).state is State.GATED

    def test_of_two_that_ask_at_once_one_gets_the_place(self, scenario):
        first, second = scenario.coming("a"), scenario.coming("b")
        one, other = Waves(scenario.ports), Waves(scenario.ports)
        assert one.check(first).begins
        assert other.check(second).begins
        assert one.admit(first).begins
        assert not other.admit(second).begins

    def test_a_wave_that_others_write_all_the_time_is_read_when_it_is_needed(self, scenario):
        (first,) = scenario.applies("a")
        scenario.change(first, state=State.APPLIED)
        store = scenario.change_sets

        class Crossed:
            def __getattr__(self, name):
                return getattr(store, name)

            def save_wave(self, wave):
                raise Conflict(wave.change)

        crossed = changed(scenario.ports, change_sets=Crossed())
        waves = Waves(crossed)
        waves.read(CHANGE, {first.id: scenario.now(first)})
        assert not waves.check(scenario.coming("b")).begins
        with pytest.raises(Conflict):
            end_in_wave(crossed, first)

    def test_leaving_twice_wakes_others_once(self, scenario):
        (first,) = scenario.applies("a")
        scenario.event_publisher.moved.clear()
        leave_wave(scenario.ports, first)
        leave_wave(scenario.ports, first)
        assert scenario.event_publisher.moved == [CHANGE]

    def test_ending_twice_is_written_down_once(self, scenario):
        (first,) = scenario.applies("a")
        ended = scenario.finishes(first)
        before = scenario.wave()
        end_in_wave(scenario.ports, ended)
        assert scenario.wave() == before


class TestAfterTooManyFailures:
    RULES = WaveRules(max_concurrent=1, stop_on_failures=1)

    @pytest.mark.parametrize("state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
    def test_nothing_further_begins(self, scenario, state):
        first, second = scenario.applies("a", "b", wave=self.RULES)
        scenario.change(first, apply_job=None)
        scenario.finishes(scenario.change(first, state=state))
        held = scenario.now(second)
        assert (held.state, held.gate.next) == (State.BLOCKED, None)
        assert "a" in held.reason
        assert scenario.comes(scenario.coming("c", wave=self.RULES)) == ""

    def test_who_comes_to_its_review_is_not_reviewed_for_nothing(self, scenario):
        (first,) = scenario.applies("a", wave=STOPS_AT_ONCE)
        scenario.finishes(first, State.APPLY_FAILED)
        assert scenario.comes(scenario.coming("b", wave=STOPS_AT_ONCE, review_rule=REVIEWED)) == ""

    def test_a_full_wave_does_not_hold_back_reviews(self, scenario):
        scenario.applies("a")
        assert scenario.comes(scenario.coming("b", review_rule=REVIEWED)) == "review"

    def test_who_was_approved_meanwhile_goes_back_to_its_gate(self, scenario):
        (first,) = scenario.applies("a", wave=STOPS_AT_ONCE)
        second = scenario.change(scenario.coming("b", wave=STOPS_AT_ONCE), state=State.APPROVED)
        scenario.finishes(first, State.APPLY_FAILED)
        assert not scenario.begins(second)
        assert scenario.now(second).state is State.BLOCKED

    def test_who_had_a_place_when_the_others_failed_gives_it_back(self, scenario):
        rules = WaveRules(max_concurrent=2, stop_on_failures=1)
        first, second = (scenario.coming(root, wave=rules) for root in "ab")
        assert [scenario.comes(first), scenario.comes(second)] == ["apply", "apply"]
        assert scenario.begins(first)
        scenario.finishes(first, State.APPLY_FAILED)
        assert not scenario.begins(second)
        assert scenario.wave().running == ()
        assert scenario.now(second).state is State.BLOCKED
        assert not scenario.begins(second)

    def test_a_failure_counts_no_more_once_a_newer_revision_contains_it(self, scenario):
        first, second = scenario.applies("a", "b", wave=self.RULES)
        failed = scenario.finishes(first, State.APPLY_FAILED)
        end_in_wave(scenario.ports, scenario.change(failed, contained_by="newer", contained_at=NOW))
        scenario.look()
        assert scenario.answers[second.id] in {"apply", "plan again"}

    def test_without_a_limit_places_are_not_written_down(self, scenario):
        scenario.applies("a", "b", wave=STOPS_AT_ONCE)
        assert scenario.wave() == Wave(CHANGE, "prod")

    def test_a_retry_runs_what_failed_and_the_rest_follows(self, scenario):
        first, second = scenario.applies("a", "b", wave=self.RULES)
        scenario.finishes(first, State.APPLY_FAILED)
        assert retry_gate(scenario.ports, second.id, "maintainer", scenario.clock.now()).done
        (again,) = [each for each in scenario.deployments.all() if each.rerun.of == first.id]
        assert again.change.wave == self.RULES
        assert Waves(scenario.ports).admit(again).begins
        scenario.finishes(scenario.change(again, state=State.APPLIED, plan=first.planned.plan))
        assert scenario.wave().failed == ()
        assert scenario.answers[second.id] in {"apply", "plan again"}


class TestSoakTimes:
    WAITS = Waits(apply_after=("dev",), soaks=(Soak("dev", 3600),))

    def waiting(self, scenario, state=State.APPLIED):
        dev = scenario.member("app", "dev", State.APPLYING)
        member = scenario.coming("app", "prod", WaveRules(), self.WAITS)
        assert scenario.comes(member) == ""
        step = replace(scenario.now(dev).history[-1], state=state, at=NOW - timedelta(days=1))
        scenario.change(dev, state=state, history=(*scenario.now(dev).history, step))
        return dev, member

    def test_the_next_stack_waits_until_the_one_before_has_soaked(self, scenario):
        dev, member = self.waiting(scenario)
        ended = scenario.ends(dev, State.APPLIED)
        held = scenario.now(member)
        assert (held.state, held.gate.next) == (State.GATED, None)
        assert "soak time of stack dev" in held.reason
        since = ended.history[-1].at
        scenario.clock.at = since + timedelta(seconds=3599)
        assert open_gates(scenario.ports, CHANGE) == 0
        scenario.clock.at = since + timedelta(seconds=3601)
        assert open_gates(scenario.ports, CHANGE) == 1
        assert scenario.answers[member.id] in {"apply", "plan again"}

    def test_where_nothing_was_applied_nothing_soaks(self, scenario):
        dev, member = self.waiting(scenario, State.NO_CHANGES)
        scenario.ends(dev, State.NO_CHANGES)
        assert scenario.answers[member.id] == "apply"

    def test_a_stack_soaks_from_when_its_last_root_was_done(self, scenario):
        other = scenario.member("web", "dev", State.APPLYING)
        dev, member = self.waiting(scenario)
        scenario.ends(dev, State.APPLIED)
        assert "soak" not in scenario.now(member).reason
        ended = scenario.ends(other, State.NO_CHANGES)
        scenario.clock.at = ended.history[-1].at + timedelta(minutes=59)
        open_gates(scenario.ports, CHANGE)
        assert "soak" in scenario.now(member).reason

    def test_plans_do_not_wait_for_it(self, scenario):
        waits = Waits(plan_after=("dev",), soaks=self.WAITS.soaks)
        dev = scenario.member("app", "dev", State.APPLYING)
        member = scenario.validated("app", "prod", waits)
        scenario.waits(member, member.id)
        scenario.ends(dev, State.APPLIED)
        assert scenario.answers[member.id] == "plan"

    def test_a_stack_that_soaks_is_a_reason_to_come_to_the_gate(self):
        assert Waits(soaks=(Soak("dev", 1),)).before_apply


def test_the_gate_says_no_more_why_its_wave_held_it(scenario):
    dev = scenario.member("app", "dev", State.NO_CHANGES)
    _, second = scenario.applies("a", "b", wave=ONE_AT_A_TIME, waits=Waits(apply_after=("dev",)))
    assert second.gate.wave
    scenario.change(dev, state=State.APPLYING)
    scenario.look()
    assert scenario.now(second).gate == Gate(second.gate.id, second.gate.since)


class TestProgress:
    def test_a_change_tells_how_many_of_a_stack_are_done_run_wait_and_failed(self, scenario):
        members = scenario.applies("a", "b", "c", "d", wave=WaveRules(max_concurrent=2, stop_on_failures=1))
        scenario.finishes(members[0], State.APPLIED)
        scenario.finishes(members[1], State.APPLY_FAILED)
        assert scenario.begins(scenario.change(members[2], state=State.APPROVED, gate=None)) is False
        (prod,) = overview(get_change(scenario.ports, CHANGE).deployments)
        assert (prod.done, prod.running, prod.waiting, prod.failed) == (1, 0, 2, 1)

    def test_a_change_tells_which_stacks_failures_hold_back(self, scenario):
        first, _ = scenario.applies("a", "b", wave=STOPS_AT_ONCE)
        scenario.coming("x", stack="dev", wave=ONE_AT_A_TIME)
        scenario.finishes(first, State.APPLY_FAILED)
        waves = get_change(scenario.ports, CHANGE).waves
        assert {stack: view.is_held for stack, view in waves.items()} == {"prod": True, "dev": False}
        assert waves["dev"].wave == Wave(CHANGE, "dev")

    def test_a_change_without_such_stacks_has_none(self, scenario):
        scenario.member("app", "dev")
        assert get_change(scenario.ports, CHANGE).waves == {}
