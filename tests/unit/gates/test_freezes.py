"""A deployment in a freeze window waits before its apply, and goes on when the window ends or an operator overrides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_deployment, any_root, deployment_in, sha
from tests.instants import utc
from tests.unit.gates.requirements_scenario import Waiting
from tidegate.deploys.rules.freeze import Freeze, FreezeWindows
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.gates.freezes import keep_freezes
from tidegate.gates.wait_for_requirements import check_requirements
from tidegate.ports import KnownRepository
from tidegate.rules.errors import RequirementsMissing

BEFORE, END = utc("2026-03-01T00:00"), utc("2026-03-02T12:00")
WINDOW = Freeze("stack_name:prod", "the <b>fair</b>", BEFORE, END)


class Frozen(Waiting):
    """An approved deployment of a root that requires nothing, in a stack whose window holds."""

    def __init__(self):
        super().__init__()
        self.queues.keep_freezes(FreezeWindows(REPOSITORY, (WINDOW,)))
        self.id = self.put(deployment_in(State.APPROVED, 7, stack="prod")).id

    def waits(self):
        with pytest.raises(RequirementsMissing):
            self.begin()
        self.wait()


@pytest.fixture
def scenario():
    return Frozen()


def test_it_waits_with_the_windows_end_and_reason(scenario):
    scenario.waits()
    (told,) = scenario.now.requirements.missing
    assert "frozen until" in told
    assert "12:00" in told
    assert "<b>" not in told
    assert (scenario.now.state, scenario.settled) == (State.AWAITING_REQUIREMENTS, [])


def test_it_goes_on_by_itself_when_the_window_ends(scenario):
    scenario.waits()
    assert not check_requirements(scenario.ports, scenario.id)
    scenario.clock.at = END
    assert check_requirements(scenario.ports, scenario.id)
    scenario.begin()
    assert scenario.now.state is State.APPLYING


def test_it_goes_on_when_the_file_says_no_window_any_more(scenario):
    scenario.waits()
    scenario.queues.keep_freezes(FreezeWindows(REPOSITORY))
    assert check_requirements(scenario.ports, scenario.id)


def test_an_operator_overrides_it_and_the_audit_topic_hears_why(scenario):
    scenario.waits()
    assert "It is recorded in the audit log" in scenario.decide(GateAnswer.OVERRIDE).reason
    assert scenario.decide(GateAnswer.OVERRIDE, reason="an outage").done
    assert [message.state for message in scenario.audit.published] == ["OVERRIDDEN"]
    scenario.begin()
    assert scenario.now.state is State.APPLYING


def test_nobody_approves_it_and_people_may_reject_it(scenario):
    scenario.waits()
    assert "An operator can override the freeze" in scenario.decide(GateAnswer.APPROVE).reason
    assert scenario.decide(GateAnswer.REJECT).done
    assert scenario.settled == ["rejected"]


def test_what_is_deployed_by_force_waits_as_well(scenario):
    forced = any_deployment(8, stack="prod", forced=True, unmatched=True)
    assert len(missing_requirements(scenario.ports, forced).sentences) == 1
    assert not missing_requirements(scenario.ports, replace(forced, stack="dev"))


@pytest.mark.parametrize(
    ("query", "holds"),
    [("", True), ("stack_name:live", True), ("team:sre", True), ("dir:roots/**", True), ("stack_name:dev", False)],
)
def test_windows_are_about_roots_by_their_tags(scenario, query, holds):
    scenario.queues.keep_freezes(FreezeWindows(REPOSITORY, (replace(WINDOW, query=query, reason=""),)))
    place = any_root(dir="roots/network")
    one = any_deployment(9, root=place, stack="prod", within=("live",), tags=("team:sre",))
    assert bool(missing_requirements(scenario.ports, one)) is holds


def test_a_root_that_only_a_pull_request_has_waits_for_each_window(scenario):
    head = any_deployment(9, stack="dev", trigger=Trigger.MANUAL, pull_request=5)
    assert not missing_requirements(scenario.ports, head)
    assert (
        len(missing_requirements(scenario.ports, replace(head, request=replace(head.request, foreign=True))).sentences)
        == 1
    )


def test_the_newest_files_windows_are_kept(scenario):
    known = KnownRepository(REPOSITORY, "main", sha(2), NOW)
    scenario.repository_index.remember(known)
    keep_freezes(scenario.ports, replace(known, seen=sha(1)), ())
    assert scenario.queues.freezes(REPOSITORY).windows == (WINDOW,)
    keep_freezes(scenario.ports, known, ())
    assert scenario.queues.freezes(REPOSITORY).windows == ()
