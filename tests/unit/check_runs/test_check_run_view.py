"""What a check run is drawn from: what a deployment waits for at its gate, in few reads, and who took whose place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import amended, any_deployment, any_root, deployment_in
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.check_runs.check_run_view import present_check_run
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import Gate
from tidegate.gates.check_gate import GateChecker
from tidegate.ports import Enrolled, PublishedCheckRun


class ChangedScenario(Scenario):
    """A scenario with a change: a deployment of stack ``prod`` that waits for the roots of ``dev``, in these states."""

    def __init__(self, *states, at=State.GATED):
        super().__init__()
        self.gated = self.put(deployment_in(at))
        self.reads = []
        for number, state in enumerate(states):
            self.member(f"root-{number:04}", state)

    def member(self, name, state, stack="dev"):
        one = replace(deployment_in(state, id=f"{name}-1"), root=any_root(name=name), stack=stack)
        if state is not None:
            self.put(one)
        self.change_sets.enroll("change-1", [Enrolled(name, stack, one.id, one.request.at)])

    def many(self, wanted):
        """Read as the port does, and count."""
        self.reads.append(len(wanted))
        return self.deployments.many(wanted)

    def look(self):
        return GateChecker(self.change_sets, self, self.check_runs, self.forge).look(self.gated)

    def drawn(self, **links):
        return present_check_run(self.linked(**links), self.gated)


def names(found):
    return [each.root for each in found.named]


def test_what_a_deployment_waits_for_is_listed_with_links_to_check_runs():
    scenario = ChangedScenario(State.APPLIED, State.AWAITING_REVIEW, State.PLANNING)
    scenario.check_runs.remember(PublishedCheckRun("root-0001-1", 5, 0, closed=True))
    summary = scenario.drawn().summary
    assert "* [`root-0001`](https://github.com/acme/infra/runs/5) in stack `dev`: **waits for its review**" in summary
    assert "* `root-0002` in stack `dev`: is being planned" in summary
    assert "1 is already done: deployed, or without changes." in summary


def test_others_of_the_change_that_are_not_waited_for_are_not_listed():
    scenario = ChangedScenario(State.PLANNING)
    scenario.member("network", State.GATED, "prod")
    scenario.member("vpc", State.PLANNING, "staging")
    assert names(scenario.look()) == ["root-0000"]


def test_before_its_plan_a_deployment_waits_for_roots_of_its_stack():
    scenario = ChangedScenario()
    scenario.gated = amended(scenario.gated, plan=None, waits=Waits(roots=("vpc",)))
    scenario.member("vpc", State.APPLYING, "prod")
    scenario.member("app", State.APPLYING, "prod")
    assert names(scenario.look()) == ["vpc"]


def test_what_has_no_record_yet_is_in_line():
    scenario = ChangedScenario()
    scenario.change_sets.enroll("change-1", [Enrolled("late", "dev", "late-1", utc("2026-03-02T08:00"))])
    assert "* `late` in stack `dev`: is queued" in scenario.drawn().summary


def test_in_a_large_change_one_read_fills_the_list():
    scenario = ChangedScenario(*[State.QUEUED] * 299)
    found = scenario.look()
    assert (len(found.named), found.more, found.at_most) == (10, 289, True)
    assert scenario.reads == [100]


def test_more_is_read_only_while_the_list_is_not_full():
    scenario = ChangedScenario(*[State.APPLIED] * 295, *[State.PLANNING] * 4)
    found = scenario.look()
    assert names(found) == ["root-0295", "root-0296", "root-0297", "root-0298"]
    assert (found.done, found.more, found.at_most) == (295, 0, False)
    assert scenario.reads == [100, 100, 99]


def test_what_blocks_is_found_wherever_it_is():
    scenario = ChangedScenario(*[State.QUEUED] * 250, State.PLAN_FAILED, at=State.BLOCKED)
    found = scenario.look()
    assert (names(found), found.under_way) == (["root-0250"], 250)


def test_of_a_huge_change_a_part_is_read_and_the_rest_counted():
    scenario = ChangedScenario(*[State.APPLIED] * 1005)
    found = scenario.look()
    assert (found.done, found.more, found.at_most) == (1000, 5, True)
    assert scenario.reads == [100] * 10


@pytest.mark.parametrize("state", [state for state in State if state not in {State.GATED, State.BLOCKED}])
def test_at_no_gate_nothing_of_the_change_is_read(state):
    scenario = ChangedScenario(State.PLANNING, at=state)
    assert scenario.look() is None
    assert scenario.reads == []


def test_a_deployment_without_a_change_waits_for_nothing_known():
    scenario = ChangedScenario()
    scenario.gated = amended(scenario.gated, change_set="")
    assert scenario.look() is None


def test_who_takes_a_place_and_whose_it_was_link_to_each_other():
    scenario = Scenario()
    gate = Gate("network-plan-1", utc("2026-03-02T08:00"))
    new = scenario.put(any_deployment(2, supersedes=any_deployment(1).id))
    old = scenario.put(deployment_in(State.SUPERSEDED, 1, superseded_by=new.id, gate=gate))
    for number, one in enumerate((old, new), start=1):
        scenario.check_runs.remember(PublishedCheckRun(one.id, number, 0, closed=False))
    linked = scenario.linked(execution="https://x.example/{deployment}")
    assert "supersedes [`0000000`](https://github.com/acme/infra/runs/1)" in present_check_run(linked, new).summary
    superseded = present_check_run(linked, old).summary
    assert "Superseded by [`0000000`](https://github.com/acme/infra/runs/2)" in superseded
    assert f"[Execution](https://x.example/{old.id})" in superseded


def test_who_took_a_place_and_is_not_known_is_not_named():
    scenario = Scenario()
    old = scenario.put(deployment_in(State.SUPERSEDED, superseded_by="gone"))
    assert "Superseded by" not in present_check_run(scenario.ports, old).summary


def test_who_took_a_place_and_has_no_check_run_yet_is_named_by_its_commit():
    scenario = Scenario()
    new = scenario.put(any_deployment(2))
    old = scenario.put(deployment_in(State.SUPERSEDED, superseded_by=new.id))
    assert "Superseded by `0000000`" in present_check_run(scenario.ports, old).summary


def test_a_deployment_that_has_ended_shows_what_it_cost_itself():
    scenario = Scenario()
    at = utc("2026-03-02T08:00")
    steps = ((State.PLANNING, 0), (State.APPROVED, 90), (State.APPLYING, 91), (State.APPLIED, 216))
    history = tuple(Step(state, at + timedelta(seconds=second)) for state, second in steps)
    one = scenario.put(amended(deployment_in(State.APPLIED), history=history))
    assert (
        "| Runners | plan 1 min 30 s, apply 2 min 5 s: about $0.0024 |"
        in present_check_run(scenario.ports, one).summary
    )


@pytest.mark.parametrize("state", [State.PLANNING, State.SUPERSEDED])
def test_what_runs_or_never_ran_shows_no_cost_of_its_own(state):
    scenario = Scenario()
    one = scenario.put(deployment_in(state))
    assert "| Runners |" not in present_check_run(scenario.ports, one).summary
