"""What a pull request shows when whoever shows it dies, or the forge puts it off."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.builders import any_plan, sha
from tests.contract.queue_actors import Died, Fate, Mortal
from tests.fakes import MemoryForge
from tests.fakes.ports import changed
from tests.unit.pull_requests.publishing_scenario import REFUSING, Scenario, in_state, planned
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.plan import Artifact
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.pull_requests.rules.record import PullRequestState
from tidegate.rules.errors import ForgeUnavailable

DEATHS = list(itertools.product(range(40), (False, True)))


#: The ports at whose calls it may die.
PORTS = ("pull_requests", "speculative_plans", "forge", "pull_check_runs", "event_publisher")


def _story(**scenario):
    held = PolicySetStatus("security")
    altered = replace(any_plan(), text=Artifact("gone", "0" * 64))
    return Scenario(
        planned("a", stack="dev", policy_sets=(held,), verdicts=(REFUSING,)),
        replace(planned("b", stack="prod"), plan=altered),
        in_state("c", LayerState.REFUSED, stack="prod"),
        queued=sha(77),
        **scenario,
    )


@pytest.mark.parametrize(("call", "after"), DEATHS)
def test_a_death_at_any_call_is_harmless(call, after):
    scenario = _story()
    fate = Fate(call, after)
    with suppress(Died):
        scenario.publish(
            ports=changed(scenario.ports, **{name: Mortal(getattr(scenario.ports, name), fate) for name in PORTS})
        )
    assert scenario.publish() == "shown"
    assert len(scenario.texts) == 2
    assert sorted(each.name for each in scenario.forge.check_runs.values()) == [
        *["tidegate/plan"] * 2,
        *["tidegate/policy: security"] * 2,
    ]
    assert scenario.record.state is PullRequestState.IDLE


@pytest.mark.parametrize("call", range(8))
def test_what_the_forge_puts_off_is_shown_later_and_once(call):
    calls = itertools.count()

    class Refusing(MemoryForge):
        def _called(self, *_where):
            if next(calls) == call:
                raise ForgeUnavailable("secondary limit", 60)

    scenario = _story(forge=Refusing())
    with pytest.raises(ForgeUnavailable):
        scenario.publish()
    assert not scenario.record.commented
    assert scenario.publish() == "shown"
    assert len(scenario.texts) == 2
    assert len(scenario.forge.check_runs) == 4
