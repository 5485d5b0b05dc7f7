"""What came to a bad end before: who contains what others of its change held up is looked at, whatever the rules."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, any_deployed, any_deployment, any_revision
from tests.chance import examples
from tests.unit.deploys.queue.scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, moves_baseline
from tidegate.deploys.rules.waiting import Gate
from tidegate.ports import Enrolled
from tidegate.rules.errors import Conflict
from tidegate.vcs.rules.comparison import Comparison

AFTER_DEV = Waits(apply_after=("dev",))
MEMBERS = (("network", "prod"), ("app", "dev"))


def held(number=1, change="change-1", **fields):
    """A deployment of the root in prod, which waits for ``app`` in dev."""
    return any_deployment(number, **{"stack": "prod", "waits": AFTER_DEV, "change_set": change, **fields})


def alone(number, **fields):
    """A deployment of the root in prod, whose change has nothing else."""
    return any_deployment(number, stack="prod", **fields)


def enroll(scenario, change="change-1", members=MEMBERS, dev=State.PLAN_FAILED):
    known = any_deployment(1, id=f"{change}-dev", stack="dev", state=dev)
    scenario.deployments.add(known)
    scenario.change_sets.enroll(
        change, [Enrolled(*each, known.id if each[1] == "dev" else "any", NOW) for each in members]
    )


def let_in(scenario, deployment):
    """Bring a deployment in flight and have it validated."""
    scenario.in_flight(deployment)
    scenario.validate(deployment)
    return scenario.deployments.get(deployment.id)


def ends(scenario, deployment, state, **fields):
    """Let a deployment come in flight, and end there."""
    now = let_in(scenario, deployment)
    if now.state is not State.REFUSED:
        scenario.deployments.save(replace(now, state=state, **fields))
    scenario.record(deployment)
    return scenario.deployments.get(deployment.id)


BAD = [State.REJECTED, State.GATE_EXPIRED, State.PLAN_FAILED, State.ENGINE_FAULT, State.REVIEW_EXPIRED]


@pytest.mark.parametrize("state", BAD)
def test_who_contains_what_ended_at_its_gate_is_looked_at(scenario, state):
    enroll(scenario)
    ends(scenario, held(), state)
    assert let_in(scenario, alone(2)).lineage.look_twice


def test_who_takes_the_place_of_a_blocked_one_is_looked_at_and_so_is_each_after_it_until_one_is_done(scenario):
    enroll(scenario)
    ends(scenario, held(), State.SUPERSEDED, gate=Gate("plan", NOW))
    assert ends(scenario, alone(2), State.PLAN_FAILED).lineage.look_twice
    assert ends(scenario, alone(3), State.REJECTED).lineage.look_twice
    assert ends(scenario, alone(4), State.NO_CHANGES).lineage.look_twice
    assert not let_in(scenario, alone(5)).lineage.look_twice


def test_a_refusal_in_between_hides_nothing(scenario):
    enroll(scenario)
    ends(scenario, held(), State.REJECTED)
    scenario.forge.comparisons[any_revision(2).sha, "main"] = Comparison.BASE_MISSING
    assert ends(scenario, alone(2), State.REFUSED).state is State.REFUSED
    assert let_in(scenario, alone(3)).lineage.look_twice


def test_one_that_died_before_it_was_let_in_hides_nothing(scenario):
    enroll(scenario)
    ends(scenario, held(), State.REJECTED)
    scenario.in_flight(alone(2))
    scenario.record(alone(2), "States.Timeout")
    assert let_in(scenario, alone(3)).lineage.look_twice


def test_an_older_revision_is_not_looked_at_and_leaves_it_to_those_that_contain_it(scenario):
    enroll(scenario)
    ends(scenario, held(2), State.REJECTED)
    scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
    assert not ends(scenario, alone(1), State.APPLIED).lineage.look_twice
    assert let_in(scenario, alone(3)).lineage.look_twice


@pytest.mark.parametrize("how", [Comparison.DIVERGED, Comparison.BASE_MISSING])
def test_what_may_contain_it_is_looked_at_once(scenario, how):
    enroll(scenario)
    ends(scenario, held(), State.REJECTED)
    scenario.forge.comparisons[any_revision(1).sha, any_revision(2).sha] = how
    assert ends(scenario, alone(2), State.APPLIED).lineage.look_twice
    assert not let_in(scenario, alone(3)).lineage.look_twice


@pytest.mark.parametrize("state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_what_began_to_be_applied_had_passed_its_gate(scenario, state):
    enroll(scenario)
    ends(scenario, held(), state)
    scenario.change(lock=None)
    assert not let_in(scenario, alone(2)).lineage.look_twice


def test_what_waited_for_nothing_asks_for_no_look(scenario):
    ends(scenario, alone(1), State.REJECTED)
    assert not let_in(scenario, alone(2)).lineage.look_twice


@pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES])
def test_once_all_is_done_that_held_it_up_nobody_need_look(scenario, state):
    enroll(scenario, dev=state)
    ends(scenario, held(), State.PLAN_FAILED)
    assert not let_in(scenario, alone(2)).lineage.look_twice


def test_one_that_waits_itself_for_the_same_need_not_be_looked_at(scenario):
    enroll(scenario)
    enroll(scenario, "change-2")
    ends(scenario, held(), State.REJECTED)
    assert not let_in(scenario, held(2, "change-2")).lineage.look_twice


def test_one_that_waits_itself_is_looked_at_where_the_one_before_was_to_be(scenario):
    enroll(scenario)
    enroll(scenario, "change-3")
    ends(scenario, held(), State.REJECTED)
    ends(scenario, alone(2), State.REJECTED)
    assert let_in(scenario, held(3, "change-3")).lineage.look_twice


def test_what_was_to_wait_at_both_gates_is_held_up_by_both(scenario):
    waits = Waits(roots=("base",), apply_after=("dev",))
    enroll(scenario, members=(*MEMBERS, ("base", "prod")))
    enroll(scenario, "change-2", members=(("network", "prod"), ("base", "prod")))
    ends(scenario, held(waits=waits), State.GATE_EXPIRED)
    assert let_in(scenario, held(2, "change-2", waits=Waits(roots=("base",)))).lineage.look_twice


def test_what_a_change_does_not_know_any_more_is_held_by_nobody(scenario):
    enroll(scenario, "change-2")
    ends(scenario, held(), State.GATE_EXPIRED)
    assert let_in(scenario, held(2, "change-2")).lineage.look_twice


def test_without_its_record_people_look(scenario):
    scenario.change(undone=any_deployed(1, deployment="gone", state=State.REJECTED))
    assert let_in(scenario, alone(2)).lineage.look_twice


def test_the_same_revision_run_again_waits_as_before_and_is_not_looked_at(scenario):
    enroll(scenario)
    old = ends(scenario, held(), State.REJECTED)
    again = held(id="again", trigger=Trigger.RERUN, rerun_of=old.id)
    assert not let_in(scenario, again).lineage.look_twice


#: How those end that come after it, some before they are validated, some refused.
LATER_ENDS = st.lists(
    st.sampled_from([*BAD, State.REFUSED, State.QUEUED, State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED]),
    max_size=6,
)


@given(first=st.sampled_from(BAD), later=LATER_ENDS)
@examples(60)
def test_whatever_comes_in_between_people_look_until_something_that_contains_it_began_to_be_applied(first, later):
    scenario = Scenario()
    enroll(scenario)
    ends(scenario, held(), first)
    is_pending = True
    for number, state in enumerate(later, start=2):
        if state is State.QUEUED:
            scenario.in_flight(alone(number))
            scenario.record(alone(number), "States.Timeout")
            continue
        if state is State.REFUSED:
            scenario.forge.comparisons[any_revision(number).sha, "main"] = Comparison.BASE_MISSING
        ended = ends(scenario, alone(number), state)
        assert ended.state is state
        assert ended.lineage.look_twice is is_pending
        is_pending = is_pending and not moves_baseline(state)
    assert let_in(scenario, alone(9)).lineage.look_twice is is_pending


class TestContained:
    """What waits for a deployment goes on once a revision is applied that contains it."""

    @pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES])
    @pytest.mark.parametrize("before", [State.PLAN_FAILED, State.APPLY_FAILED, State.REJECTED])
    def test_a_correction_says_of_all_that_failed_before_it_that_it_is_applied(self, scenario, before, state):
        ends(scenario, alone(1, change_set="change-1"), before)
        ends(scenario, alone(2, change_set="change-2"), before)
        scenario.event_publisher.moved.clear()
        done = ends(scenario, alone(3), state, changed_at=NOW)
        records = [scenario.deployments.get(alone(number).id) for number in (1, 2)]
        assert [(each.lineage.contained_by, each.lineage.contained_at) for each in records] == [(done.id, NOW)] * 2
        assert sorted(scenario.event_publisher.moved) == ["change-1", "change-2"]

    def test_one_that_comes_to_a_bad_end_itself_says_so_of_none(self, scenario):
        first = ends(scenario, alone(1), State.PLAN_FAILED)
        ends(scenario, alone(2), State.APPLY_FAILED)
        assert scenario.deployments.get(first.id).lineage.contained_by is None

    def test_one_that_does_not_contain_it_says_so_of_none(self, scenario):
        first = ends(scenario, alone(1), State.PLAN_FAILED)
        scenario.forge.comparisons[any_revision(1).sha, any_revision(2).sha] = Comparison.DIVERGED
        ends(scenario, alone(2), State.APPLIED)
        assert scenario.deployments.get(first.id).lineage.contained_by is None

    def test_told_again_it_asks_again_and_says_nothing_new(self, scenario):
        first = ends(scenario, alone(1, change_set="change-1"), State.PLAN_FAILED)
        done = ends(scenario, alone(2), State.APPLIED)
        version = scenario.deployments.get(first.id).version
        scenario.event_publisher.moved.clear()
        scenario.record(done)
        assert scenario.event_publisher.moved == ["change-1"]
        assert scenario.deployments.get(first.id).version == version

    @pytest.mark.parametrize(("deployed", "expected"), [(State.APPLIED, "network-2"), (State.APPLY_FAILED, None)])
    def test_what_comes_too_late_is_applied_already_if_what_contains_it_is(self, scenario, deployed, expected):
        scenario.change(deployed=any_deployed(2, deployment="network-2", state=deployed))
        scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
        late = let_in(scenario, alone(1))
        assert (late.state, late.lineage.contained_by) == (State.SUPERSEDED, expected)

    @pytest.mark.parametrize("how", ["its own re-run", "a correction"])
    def test_what_comes_too_late_behind_a_failed_apply_is_applied_once_that_is(self, scenario, how):
        ends(scenario, alone(1, change_set="change-1"), State.PLAN_FAILED)
        failed = ends(scenario, alone(3, change_set="change-3"), State.APPLY_FAILED)
        scenario.forge.comparisons[any_revision(3).sha, any_revision(2).sha] = Comparison.BEHIND
        late = ends(scenario, alone(2, change_set="change-2"), State.SUPERSEDED)
        scenario.validate(late)
        assert late.lineage.contained_by is None
        scenario.event_publisher.moved.clear()
        again = alone(3, id="again", trigger=Trigger.RERUN, rerun_of=failed.id)
        done = ends(scenario, again if how == "its own re-run" else alone(4), State.APPLIED, changed_at=NOW)
        assert scenario.deployments.get(late.id).lineage.contained_by == done.id
        assert scenario.deployments.get(alone(1).id).lineage.contained_by == done.id
        assert sorted(set(scenario.event_publisher.moved)) == ["change-1", "change-2", "change-3"]

    @pytest.mark.parametrize("dies", [0, 1, 2])
    def test_who_says_that_may_be_interrupted_and_says_it_again(self, scenario, dies):
        ends(scenario, alone(1, change_set="change-1"), State.PLAN_FAILED)
        ends(scenario, alone(3, change_set="change-3"), State.APPLY_FAILED)
        scenario.forge.comparisons[any_revision(3).sha, any_revision(2).sha] = Comparison.BEHIND
        late = alone(2, change_set="change-2")
        scenario.in_flight(late)
        saves, save = itertools.count(), scenario.deployments.save

        def interrupted(deployment):
            if next(saves) == dies:
                raise Conflict(deployment.id)
            return save(deployment)

        scenario.deployments.save = interrupted
        scenario.validate(late)
        scenario.deployments.save = save
        scenario.record(late)
        ends(scenario, alone(4), State.APPLIED)
        assert all(scenario.deployments.get(alone(number).id).lineage.contained_by for number in (1, 2, 3))

    def test_without_the_record_of_the_failed_apply_nothing_is_said(self, scenario):
        scenario.change(deployed=any_deployed(2, deployment="gone", state=State.APPLY_FAILED))
        scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
        assert let_in(scenario, alone(1)).lineage.contains is None

    def test_so_is_what_is_run_again_too_late(self, scenario):
        ends(scenario, alone(1), State.PLAN_FAILED)
        done = ends(scenario, alone(2), State.APPLIED)
        scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
        again = let_in(scenario, alone(1, id="again", trigger=Trigger.RERUN))
        assert (again.state, again.lineage.contained_by) == (State.REFUSED, done.id)


class TestStacks:
    """A root in several stacks stands in each of them for itself."""

    def test_what_is_undone_in_one_stack_asks_for_no_look_in_the_other(self, scenario):
        enroll(scenario)
        ends(scenario, held(shared=True, id="prod-1"), State.REJECTED)
        dev = any_deployment(2, stack="dev", shared=True, id="dev-2")
        assert not ends(scenario, dev, State.APPLIED).lineage.look_twice
        assert let_in(scenario, alone(3, shared=True, id="prod-3")).lineage.look_twice

    def test_a_newer_revision_in_the_other_stack_takes_nothing_away(self, scenario):
        ends(scenario, any_deployment(2, stack="dev", shared=True, id="dev-2"), State.APPLIED)
        scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
        prod = let_in(scenario, alone(1, shared=True, id="prod-1"))
        assert prod.state is State.PLANNING

    def test_one_may_run_again_whose_root_was_tried_in_the_other_stack_since(self, scenario):
        ends(scenario, alone(1, shared=True, id="prod-1"), State.PLAN_FAILED)
        ends(scenario, any_deployment(2, stack="dev", shared=True, id="dev-2"), State.APPLIED)
        again = alone(1, shared=True, id="prod-again", trigger=Trigger.RERUN)
        assert let_in(scenario, again).state is State.PLANNING

    def test_each_stack_knows_its_own_once_one_has_ended(self, scenario):
        ends(scenario, alone(1, shared=True, id="prod-1"), State.APPLIED)
        ends(scenario, any_deployment(2, stack="dev", shared=True, id="dev-2"), State.REJECTED)
        ends(scenario, alone(3, shared=True, id="prod-3"), State.APPLIED)
        stands = {each.stack: each for each in scenario.head.by_stack}
        assert [stands["prod"].deployed.deployment, stands["prod"].undone] == ["prod-3", None]
        assert [stands["dev"].deployed, stands["dev"].undone.deployment] == [None, "dev-2"]

    def test_before_that_the_queue_is_what_is_known(self, scenario):
        scenario.change(deployed=any_deployed(2))
        scenario.forge.comparisons[any_revision(2).sha, any_revision(1).sha] = Comparison.BEHIND
        assert let_in(scenario, alone(1, shared=True)).state is State.SUPERSEDED

    def test_a_root_that_is_left_in_one_stack_goes_on_from_what_it_was_there(self, scenario):
        ends(scenario, alone(1, shared=True, id="prod-1"), State.APPLIED)
        ends(scenario, any_deployment(2, stack="dev", shared=True, id="dev-2"), State.APPLIED)
        ends(scenario, alone(3), State.APPLIED)
        stands = {each.stack: each.deployed.revision for each in scenario.head.by_stack}
        assert stands == {"prod": any_revision(3), "dev": any_revision(2)}


@pytest.mark.parametrize("state", BAD)
def test_who_contains_a_change_of_rules_that_was_left_undone_changes_them_as_well(scenario, state):
    ends(scenario, alone(1, rule_changes=("workflows",)), state)
    assert ends(scenario, alone(2, rule_changes=("hooks",)), state).commits.rule_changes == ("hooks", "workflows")
    assert ends(scenario, alone(3), State.APPLIED).commits.rule_changes == ("hooks", "workflows")
    assert let_in(scenario, alone(4)).commits.rule_changes == ()


def test_who_does_not_contain_it_changes_no_rules(scenario):
    ends(scenario, alone(1, rule_changes=("workflows",)), State.REJECTED)
    scenario.forge.comparisons[any_revision(1).sha, any_revision(2).sha] = Comparison.DIVERGED
    assert let_in(scenario, alone(2)).commits.rule_changes == ()
