from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.builders import deployment_in
from tests.contract.queue_actors import Died
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.gate_world import CHANGE, GateWorld
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
def world():
    return GateWorld()


def test_a_gate_opens_when_the_last_that_is_waited_for_is_done(world):
    app, web = world.member("app", "dev", State.APPLYING), world.member("web", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    world.ends(app, State.NO_CHANGES)
    assert (world.answers, world.now(waiting).reason) == ({}, "Waiting for web (dev).")
    assert world.event_publisher.announced[-1].reason == "Waiting for web (dev)."
    world.ends(web, State.NO_CHANGES)
    assert world.answers == {"token": "review"}


def test_what_is_applied_after_the_plan_leads_to_another_plan(world):
    dev = world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    world.ends(dev, State.APPLIED)
    assert world.answers == {"token": "plan again"}
    assert world.now(waiting).reason == "app (dev) changed after this plan was made."


@pytest.mark.parametrize("state", BAD_ENDS)
def test_a_bad_end_blocks_all_that_wait_for_it_and_those_that_wait_for_these(world, state):
    dev = world.member("app", "dev", State.APPLYING)
    staging = world.waits(world.planned("app", "staging"), "staging")
    prod = world.waits(world.planned("web", "prod", Waits(apply_after=("staging",))), "prod")
    world.ends(dev, state)
    assert (world.now(staging).state, world.now(prod).state) == (State.BLOCKED, State.BLOCKED)
    assert world.now(prod).reason == "app (staging) is blocked."
    assert world.answers == {}


def test_a_re_run_that_succeeds_lets_all_go_on(world):
    dev = world.member("app", "dev", State.APPLYING)
    staging = world.waits(world.planned("app", "staging"), "staging")
    prod = world.waits(world.planned("web", "prod", Waits(apply_after=("staging",))), "prod")
    world.ends(dev, State.APPLY_FAILED)
    again = world.member(
        "app", "dev", State.APPLYING, trigger=Trigger.RERUN, requested_at=utc("2027-01-01"), rerun_of=dev.id
    )
    world.look()
    assert (world.now(staging).state, world.now(prod).state) == (State.GATED, State.GATED)
    world.ends(again, State.NO_CHANGES)
    assert world.answers == {"staging": "review"}


def test_looking_again_changes_nothing_and_settles_again(world):
    world.member("app", "dev", State.NO_CHANGES)
    waiting = world.waits(world.planned())
    world.workflows.settled.clear()
    world.workflows.waiting.add("token")
    before = world.now(waiting)
    assert open_gates(world.ports, CHANGE) == 0
    assert (world.now(waiting), world.answers) == (before, {"token": "review"})


def test_a_change_of_which_nobody_waits_is_left_alone(world):
    world.member("app", "dev", State.APPLIED)
    assert (world.look(), world.event_publisher.announced) == (0, [])


def test_a_blocked_deployment_gives_way_to_a_newer_one_and_both_say_so(world):
    dev = world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned("web"))
    newer = world.newer(waiting)
    world.look()
    assert world.now(waiting).state is State.GATED
    world.ends(dev, State.REJECTED)
    old = world.now(waiting)
    assert (old.gate.next, old.lineage.superseded_by) == (AfterGate.SUPERSEDED, newer.id)
    assert old.outcome.ending.state is State.SUPERSEDED
    assert world.now(newer).lineage.supersedes == old.id
    assert {old.id, newer.id} <= {each.id for each in world.event_publisher.announced}
    assert world.answers == {"token": "superseded"}


def test_a_blocked_one_plans_again_once_a_revision_is_applied_that_contains_what_blocks_it(world):
    dev = world.member("app", "dev", State.PLAN_FAILED)
    blocked = world.waits(world.planned("web"))
    assert blocked.state is State.BLOCKED
    world.change(dev, contained_by="newer", contained_at=LATE)
    world.look()
    assert world.answers == {"token": "plan again"}


def test_what_came_too_late_as_a_newer_one_has_it_blocks_nobody(world):
    world.member("app", "dev", State.SUPERSEDED, contained_by="newer", contained_at=utc("2026-03-02T07:00"))
    world.waits(world.planned("web"))
    assert world.answers == {"token": "review"}


def test_what_comes_behind_a_blocked_one_takes_its_place(world):
    world.member("app", "dev", State.REJECTED)
    blocked = world.waits(world.planned("web"))
    world.look()
    assert world.answers == {}
    world.newer(blocked)
    world.look()
    assert world.answers == {"token": "superseded"}


def test_of_several_newer_ones_the_next_in_line_takes_the_place(world):
    world.member("app", "dev", State.REJECTED)
    blocked = world.waits(world.planned("web"))
    newest, next_one = world.newer(blocked, number=3), world.newer(blocked)
    world.look()
    assert world.now(blocked).lineage.superseded_by == next_one.id
    assert (world.now(next_one).lineage.supersedes, world.now(newest).lineage.supersedes) == (blocked.id, None)


def test_what_is_run_again_gives_way_to_a_merge_that_stood_in_line_before_it(world):
    dev = world.member("app", "dev", State.REJECTED)
    old = deployment_in(State.REJECTED, 1)
    again = run_again(run_again(old, "main", "maintainer", LATE, "press"), "main", "maintainer", LATE, "once more")
    first = again.rerun.first_requested_at
    blocked = world.waits(world.planned("web", trigger=Trigger.RERUN, requested_at=LATE, first_requested_at=first))
    newer = world.newer(blocked)
    world.ends(dev, State.REJECTED)
    assert world.now(blocked).lineage.superseded_by == newer.id


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.RERUN])
def test_only_a_merge_takes_the_place_of_a_blocked_one(world, trigger):
    world.member("app", "dev", State.REJECTED)
    blocked = world.waits(world.planned("web"))
    world.newer(blocked, trigger)
    world.look()
    assert (world.now(blocked).state, world.answers) == (State.BLOCKED, {})


def test_one_that_cannot_be_looked_at_keeps_no_other_from_it(world):
    dev = world.member("app", "dev", State.APPLYING)
    world.waits(world.planned("app", "staging"), "staging")
    world.waits(world.planned("web", "prod"), "prod")
    world.change(dev, state=State.NO_CHANGES)
    world.workflows.refusals = 1
    with pytest.raises(ExceptionGroup) as raised:
        world.look()
    assert [type(each) for each in raised.value.exceptions] == [CloudUnavailable]
    assert len(world.answers) == 1
    world.look()
    assert world.answers == {"staging": "review", "prod": "review"}


def test_a_deployment_that_somebody_changes_meanwhile_is_looked_at_as_it_is_then(world):
    dev = world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    world.change(dev, state=State.NO_CHANGES)
    meanwhile = [lambda: reject_gate(world.ports, waiting.id, "reviewer", world.clock.now())]

    class Rejected:
        many, get, gate_token = world.deployments.many, world.deployments.get, world.deployments.gate_token

        def save(self, deployment):
            while meanwhile:
                meanwhile.pop()()
            return world.deployments.save(deployment)

    open_gates(changed(world.ports, deployments=Rejected()), CHANGE)
    assert world.now(waiting).gate.next is AfterGate.REJECTED
    assert world.answers == {"token": "rejected"}


def test_who_keeps_being_changed_is_looked_at_later(world):
    dev = world.member("app", "dev", State.APPLYING)
    world.waits(world.planned())
    world.change(dev, state=State.NO_CHANGES)

    class Busy:
        many, get = world.deployments.many, world.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    with pytest.raises(ExceptionGroup):
        open_gates(changed(world.ports, deployments=Busy()), CHANGE)


def _shared(world):
    """One root in two stacks: prod waits at its gate, dev has failed and is run again, behind prod in their queue."""
    dev = world.member("app", "dev", State.REJECTED, shared=True)
    prod = world.waits(world.planned("app", "prod", shared=True))
    again = run_again(dev, "main", "maintainer", LATE, "by hand")
    world.queues.enqueue(again)
    world.enroll("app", "dev", again.id, again.request.at)
    return prod, again


def test_what_stands_behind_the_one_that_waits_for_it_goes_first_and_that_one_runs_after_it(world):
    prod, again = _shared(world)
    world.look()
    old = world.now(prod)
    assert world.answers == {"token": "superseded"}
    assert old.outcome.ending.reason.startswith("app (dev) was queued behind this deployment")
    new = world.deployments.get(old.lineage.superseded_by)
    assert (new.rerun.of, new.stack, new.change.waits) == (old.id, "prod", old.change.waits)
    assert new.lineage.supersedes is None, "it is the same revision, and needs no second look"
    assert [each.deployment for each in world.queues.waiting(old.queue)] == [again.id, new.id]
    (enrolled,) = [each for each in world.change_sets.deployments(CHANGE) if each.stack == "prod"]
    assert enrolled.deployment == new.id


def test_one_whose_root_waits_elsewhere_in_line_for_nothing_stays(world):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned("app", "prod", shared=True))
    other = replace(world.member("app", "qa", State.QUEUED, shared=True), state=State.QUEUED)
    assert not is_behind(waiting, other)
    world.look()
    assert world.answers == {}


#: More calls to ports than any of these use cases makes.
DEATHS = list(itertools.product(range(20), (False, True)))


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
class TestDeaths:
    """Whoever works at a gate may die at any of its calls: the next who comes brings it to its end."""

    def dies(self, world, death, call):
        world.fate.countdown, world.fate.after = death
        with suppress(Died, ExceptionGroup):
            call()
        world.fate.countdown = None

    def test_whoever_opens_a_gate_may_die_and_the_next_look_does_it(self, world, death):
        dev = world.member("app", "dev", State.APPLYING)
        waiting = world.waits(world.planned())
        world.change(dev, state=State.NO_CHANGES)
        self.dies(world, death, lambda: open_gates(world.ports, CHANGE))
        world.look()
        assert world.answers == {"token": "review"}
        assert [step.state for step in world.now(waiting).history].count(State.GATED) == 1

    def test_whoever_supersedes_may_die_and_the_next_look_does_it(self, world, death):
        world.member("app", "dev", State.REJECTED)
        blocked = world.waits(world.planned("web"))
        newer = world.newer(blocked)
        self.dies(world, death, lambda: open_gates(world.ports, CHANGE))
        world.look()
        assert world.answers == {"token": "superseded"}
        assert (world.now(blocked).lineage.superseded_by, world.now(newer).lineage.supersedes) == (newer.id, blocked.id)

    @pytest.mark.parametrize("ends", [True, False])
    def test_who_lets_one_step_aside_may_die_and_the_next_look_does_it(self, world, death, ends):
        prod, again = _shared(world)
        self.dies(world, death, lambda: open_gates(world.ports, CHANGE))
        if ends and world.answers:  # Then its execution goes on, and its queue records the end.
            world.deployments.save(world.now(prod).ended(world.now(prod).outcome.ending))
        world.look()
        assert world.answers == {"token": "superseded"}
        waiting = [each.deployment for each in world.queues.waiting(prod.queue)]
        assert waiting == [again.id, world.now(prod).lineage.superseded_by]
        assert world.change_sets.deployments(CHANGE)[-1].deployment == world.now(prod).lineage.superseded_by

    @pytest.mark.parametrize("ends", ["before", "meanwhile", "after"])
    def test_who_begins_to_wait_may_die_and_the_retried_state_is_answered(self, world, death, ends):
        dev = world.member("app", "dev", State.NO_CHANGES if ends == "before" else State.APPLYING)
        planned = world.planned()
        self.dies(
            world,
            death,
            lambda: wait_at_gate(
                world.ports, WaitAtGate(deployment=planned.id, token="first", job=planned.planned.plan.job)
            ),
        )
        if ends == "meanwhile":
            world.ends(dev, State.NO_CHANGES)
        world.waits(planned, "second")
        if ends == "after":
            world.ends(dev, State.NO_CHANGES)
        assert world.answers["second"] == "review"

    def test_who_retries_may_die_and_a_second_press_does_it(self, world, death):
        dev = world.member("app", "dev", State.REJECTED)
        blocked = world.waits(world.planned("web"))
        press = lambda: retry_gate(world.ports, blocked.id, "maintainer", utc("2027-01-01"))  # noqa: E731
        self.dies(world, death, press)
        assert press().done
        world.look()
        assert world.now(blocked).state is State.GATED
        (again,) = [each for each in world.deployments.all() if each.rerun.of == dev.id]
        (enrolled,) = [each for each in world.change_sets.deployments(CHANGE) if each.stack == "dev"]
        assert enrolled.deployment == again.id

    def test_who_rejects_may_die_and_the_next_look_does_it(self, world, death):
        world.member("app", "dev", State.APPLYING)
        waiting = world.waits(world.planned())
        self.dies(world, death, lambda: reject_gate(world.ports, waiting.id, "reviewer", utc("2027-01-01")))
        world.look()
        reject_gate(world.ports, waiting.id, "reviewer", utc("2027-01-01"))
        assert world.answers == {"token": "rejected"}
        assert world.now(waiting).rejected_by == "reviewer"


def test_two_stacks_of_one_root_wait_each_by_itself(world):
    dev = world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned("app", "prod", shared=True))
    assert waiting.root == dev.root
    world.ends(dev, State.NO_CHANGES)
    assert world.answers == {"token": "review"}
