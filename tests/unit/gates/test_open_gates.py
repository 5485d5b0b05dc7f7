from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.builders import deployment_in
from tests.contract.queue_actors import Died
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.gate import is_behind
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.state import DONE, State, is_final
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.gates.decide_gate import reject_gate, retry_gate
from tidegate.gates.open_gates import open_gates
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.messages import WaitAtGate
from tidegate.rules.errors import CloudUnavailable, Conflict

LATE = utc("2026-03-02T20:00")
BAD_ENDS = sorted({state for state in State if is_final(state)} - DONE)


@pytest.fixture
def scenario():
    return GateScenario()


def test_a_gate_opens_when_the_last_that_is_waited_for_is_done(scenario):
    app, web = scenario.member("app", "dev", State.APPLYING), scenario.member("web", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    scenario.ends(app, State.NO_CHANGES)
    assert (scenario.answers, scenario.now(waiting).reason) == ({}, "Waiting for web (dev).")
    assert scenario.event_publisher.announced[-1].reason == "Waiting for web (dev)."
    scenario.ends(web, State.NO_CHANGES)
    assert scenario.answers == {"token": "review"}


def test_what_is_applied_after_the_plan_leads_to_another_plan(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    scenario.ends(dev, State.APPLIED)
    assert scenario.answers == {"token": "plan again"}
    assert scenario.now(waiting).reason == "app (dev) changed after this plan was made."


@pytest.mark.parametrize("state", BAD_ENDS)
def test_a_bad_end_blocks_all_that_wait_for_it_and_those_that_wait_for_these(scenario, state):
    dev = scenario.member("app", "dev", State.APPLYING)
    staging = scenario.waits(scenario.planned("app", "staging"), "staging")
    prod = scenario.waits(scenario.planned("web", "prod", Waits(apply_after=("staging",))), "prod")
    scenario.ends(dev, state)
    assert (scenario.now(staging).state, scenario.now(prod).state) == (State.BLOCKED, State.BLOCKED)
    assert scenario.now(prod).reason == "app (staging) is blocked."
    assert scenario.answers == {}


def test_a_re_run_that_succeeds_lets_all_go_on(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    staging = scenario.waits(scenario.planned("app", "staging"), "staging")
    prod = scenario.waits(scenario.planned("web", "prod", Waits(apply_after=("staging",))), "prod")
    scenario.ends(dev, State.APPLY_FAILED)
    again = scenario.member(
        "app", "dev", State.APPLYING, trigger=Trigger.RERUN, requested_at=utc("2027-01-01"), rerun_of=dev.id
    )
    scenario.look()
    assert (scenario.now(staging).state, scenario.now(prod).state) == (State.GATED, State.GATED)
    scenario.ends(again, State.NO_CHANGES)
    assert scenario.answers == {"staging": "review"}


def test_looking_again_changes_nothing_and_settles_again(scenario):
    scenario.member("app", "dev", State.NO_CHANGES)
    waiting = scenario.waits(scenario.planned())
    scenario.workflows.settled.clear()
    scenario.workflows.waiting.add("token")
    before = scenario.now(waiting)
    assert open_gates(scenario.ports, CHANGE) == 0
    assert (scenario.now(waiting), scenario.answers) == (before, {"token": "review"})


def test_a_change_of_which_nobody_waits_is_left_alone(scenario):
    scenario.member("app", "dev", State.APPLIED)
    assert (scenario.look(), scenario.event_publisher.announced) == (0, [])


def test_a_blocked_deployment_gives_way_to_a_newer_one_and_both_say_so(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("web"))
    newer = scenario.newer(waiting)
    scenario.look()
    assert scenario.now(waiting).state is State.GATED
    scenario.ends(dev, State.REJECTED)
    old = scenario.now(waiting)
    assert (old.gate.next, old.lineage.superseded_by) == (AfterGate.SUPERSEDED, newer.id)
    assert old.outcome.ending.state is State.SUPERSEDED
    assert scenario.now(newer).lineage.supersedes == old.id
    assert {old.id, newer.id} <= {each.id for each in scenario.event_publisher.announced}
    assert scenario.answers == {"token": "superseded"}


def test_a_blocked_one_plans_again_once_a_revision_is_applied_that_contains_what_blocks_it(scenario):
    dev = scenario.member("app", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    assert blocked.state is State.BLOCKED
    scenario.change(dev, contained_by="newer", contained_at=LATE)
    scenario.look()
    assert scenario.answers == {"token": "plan again"}


def test_what_came_too_late_as_a_newer_one_has_it_blocks_nobody(scenario):
    scenario.member("app", "dev", State.SUPERSEDED, contained_by="newer", contained_at=utc("2026-03-02T07:00"))
    scenario.waits(scenario.planned("web"))
    assert scenario.answers == {"token": "review"}


def test_what_comes_behind_a_blocked_one_takes_its_place(scenario):
    scenario.member("app", "dev", State.REJECTED)
    blocked = scenario.waits(scenario.planned("web"))
    scenario.look()
    assert scenario.answers == {}
    scenario.newer(blocked)
    scenario.look()
    assert scenario.answers == {"token": "superseded"}


def test_of_several_newer_ones_the_next_in_line_takes_the_place(scenario):
    scenario.member("app", "dev", State.REJECTED)
    blocked = scenario.waits(scenario.planned("web"))
    newest, next_one = scenario.newer(blocked, number=3), scenario.newer(blocked)
    scenario.look()
    assert scenario.now(blocked).lineage.superseded_by == next_one.id
    assert (scenario.now(next_one).lineage.supersedes, scenario.now(newest).lineage.supersedes) == (blocked.id, None)


def test_what_is_run_again_gives_way_to_a_merge_that_stood_in_line_before_it(scenario):
    dev = scenario.member("app", "dev", State.REJECTED)
    old = deployment_in(State.REJECTED, 1)
    again = run_again(run_again(old, "main", "maintainer", LATE, "click"), "main", "maintainer", LATE, "once more")
    first = again.rerun.first_requested_at
    blocked = scenario.waits(
        scenario.planned("web", trigger=Trigger.RERUN, requested_at=LATE, first_requested_at=first)
    )
    newer = scenario.newer(blocked)
    scenario.ends(dev, State.REJECTED)
    assert scenario.now(blocked).lineage.superseded_by == newer.id


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.RERUN])
def test_only_a_merge_takes_the_place_of_a_blocked_one(scenario, trigger):
    scenario.member("app", "dev", State.REJECTED)
    blocked = scenario.waits(scenario.planned("web"))
    scenario.newer(blocked, trigger)
    scenario.look()
    assert (scenario.now(blocked).state, scenario.answers) == (State.BLOCKED, {})


def test_one_that_cannot_be_looked_at_keeps_no_other_from_it(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    scenario.waits(scenario.planned("app", "staging"), "staging")
    scenario.waits(scenario.planned("web", "prod"), "prod")
    scenario.change(dev, state=State.NO_CHANGES)
    scenario.workflows.refusals = 1
    with pytest.raises(ExceptionGroup) as raised:
        scenario.look()
    assert [type(each) for each in raised.value.exceptions] == [CloudUnavailable]
    assert len(scenario.answers) == 1
    scenario.look()
    assert scenario.answers == {"staging": "review", "prod": "review"}


def test_a_deployment_that_somebody_changes_meanwhile_is_looked_at_as_it_is_then(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    scenario.change(dev, state=State.NO_CHANGES)
    meanwhile = [lambda: reject_gate(scenario.ports, waiting.id, "reviewer", scenario.clock.now())]

    class Rejected:
        many, get, gate_token = scenario.deployments.many, scenario.deployments.get, scenario.deployments.gate_token

        def save(self, deployment):
            while meanwhile:
                meanwhile.pop()()
            return scenario.deployments.save(deployment)

    open_gates(changed(scenario.ports, deployments=Rejected()), CHANGE)
    assert scenario.now(waiting).gate.next is AfterGate.REJECTED
    assert scenario.answers == {"token": "rejected"}


def test_who_keeps_being_changed_is_looked_at_later(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    scenario.waits(scenario.planned())
    scenario.change(dev, state=State.NO_CHANGES)

    class Busy:
        many, get = scenario.deployments.many, scenario.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    with pytest.raises(ExceptionGroup):
        open_gates(changed(scenario.ports, deployments=Busy()), CHANGE)


def _shared(scenario):
    """One root in two stacks: prod waits at its gate, dev has failed and is run again, behind prod in their queue."""
    dev = scenario.member("app", "dev", State.REJECTED, shared=True)
    prod = scenario.waits(scenario.planned("app", "prod", shared=True))
    again = run_again(dev, "main", "maintainer", LATE, "by hand")
    scenario.queues.enqueue(again)
    scenario.enroll("app", "dev", again.id, again.request.at)
    return prod, again


def test_what_stands_behind_the_one_that_waits_for_it_goes_first_and_that_one_runs_after_it(scenario):
    prod, again = _shared(scenario)
    scenario.look()
    old = scenario.now(prod)
    assert scenario.answers == {"token": "superseded"}
    assert old.outcome.ending.reason.startswith("app (dev) was queued behind this deployment")
    new = scenario.deployments.get(old.lineage.superseded_by)
    assert (new.rerun.of, new.stack, new.change.waits) == (old.id, "prod", old.change.waits)
    assert new.lineage.supersedes is None, "it is the same revision, and needs no second look"
    assert [each.deployment for each in scenario.queues.waiting(old.queue)] == [again.id, new.id]
    (enrolled,) = [each for each in scenario.change_sets.deployments(CHANGE) if each.stack == "prod"]
    assert enrolled.deployment == new.id


def test_one_whose_root_waits_elsewhere_in_line_for_nothing_stays(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("app", "prod", shared=True))
    other = replace(scenario.member("app", "qa", State.QUEUED, shared=True), state=State.QUEUED)
    assert not is_behind(waiting, other)
    scenario.look()
    assert scenario.answers == {}


#: More calls to ports than any of these use cases makes.
DEATHS = list(itertools.product(range(20), (False, True)))


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
class TestDeaths:
    """Whoever works at a gate may die at any of its calls: the next who comes brings it to its end."""

    def dies(self, scenario, death, call):
        scenario.fate.countdown, scenario.fate.after = death
        with suppress(Died, ExceptionGroup):
            call()
        scenario.fate.countdown = None

    def test_whoever_opens_a_gate_may_die_and_the_next_look_does_it(self, scenario, death):
        dev = scenario.member("app", "dev", State.APPLYING)
        waiting = scenario.waits(scenario.planned())
        scenario.change(dev, state=State.NO_CHANGES)
        self.dies(scenario, death, lambda: open_gates(scenario.ports, CHANGE))
        scenario.look()
        assert scenario.answers == {"token": "review"}
        assert [step.state for step in scenario.now(waiting).history].count(State.GATED) == 1

    def test_whoever_supersedes_may_die_and_the_next_look_does_it(self, scenario, death):
        scenario.member("app", "dev", State.REJECTED)
        blocked = scenario.waits(scenario.planned("web"))
        newer = scenario.newer(blocked)
        self.dies(scenario, death, lambda: open_gates(scenario.ports, CHANGE))
        scenario.look()
        assert scenario.answers == {"token": "superseded"}
        assert (scenario.now(blocked).lineage.superseded_by, scenario.now(newer).lineage.supersedes) == (
            newer.id,
            blocked.id,
        )

    @pytest.mark.parametrize("ends", [True, False])
    def test_who_lets_one_step_aside_may_die_and_the_next_look_does_it(self, scenario, death, ends):
        prod, again = _shared(scenario)
        self.dies(scenario, death, lambda: open_gates(scenario.ports, CHANGE))
        if ends and scenario.answers:  # Then its execution goes on, and its queue records the end.
            scenario.deployments.save(scenario.now(prod).ended(scenario.now(prod).outcome.ending))
        scenario.look()
        assert scenario.answers == {"token": "superseded"}
        waiting = [each.deployment for each in scenario.queues.waiting(prod.queue)]
        assert waiting == [again.id, scenario.now(prod).lineage.superseded_by]
        assert scenario.change_sets.deployments(CHANGE)[-1].deployment == scenario.now(prod).lineage.superseded_by

    @pytest.mark.parametrize("ends", ["before", "meanwhile", "after"])
    def test_who_begins_to_wait_may_die_and_the_retried_state_is_answered(self, scenario, death, ends):
        dev = scenario.member("app", "dev", State.NO_CHANGES if ends == "before" else State.APPLYING)
        planned = scenario.planned()
        self.dies(
            scenario,
            death,
            lambda: wait_at_gate(
                scenario.ports, WaitAtGate(deployment=planned.id, token="first", job=planned.planned.plan.job)
            ),
        )
        if ends == "meanwhile":
            scenario.ends(dev, State.NO_CHANGES)
        scenario.waits(planned, "second")
        if ends == "after":
            scenario.ends(dev, State.NO_CHANGES)
        assert scenario.answers["second"] == "review"

    def test_who_retries_may_die_and_a_second_retry_does_it(self, scenario, death):
        dev = scenario.member("app", "dev", State.REJECTED)
        blocked = scenario.waits(scenario.planned("web"))

        def retry():
            return retry_gate(scenario.ports, blocked.id, "maintainer", utc("2027-01-01"))

        self.dies(scenario, death, retry)
        assert retry().done
        scenario.look()
        assert scenario.now(blocked).state is State.GATED
        (again,) = [each for each in scenario.deployments.all() if each.rerun.of == dev.id]
        (enrolled,) = [each for each in scenario.change_sets.deployments(CHANGE) if each.stack == "dev"]
        assert enrolled.deployment == again.id

    def test_who_rejects_may_die_and_the_next_look_does_it(self, scenario, death):
        scenario.member("app", "dev", State.APPLYING)
        waiting = scenario.waits(scenario.planned())
        self.dies(scenario, death, lambda: reject_gate(scenario.ports, waiting.id, "reviewer", utc("2027-01-01")))
        scenario.look()
        reject_gate(scenario.ports, waiting.id, "reviewer", utc("2027-01-01"))
        assert scenario.answers == {"token": "rejected"}
        assert scenario.now(waiting).rejected_by == "reviewer"


def test_two_stacks_of_one_root_wait_each_by_itself(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned("app", "prod", shared=True))
    assert waiting.root == dev.root
    scenario.ends(dev, State.NO_CHANGES)
    assert scenario.answers == {"token": "review"}
