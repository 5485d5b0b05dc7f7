"""A short soak: whatever happens in twenty seconds of work and trouble, the rules hold and everything ends."""

from __future__ import annotations

import pytest
from rich.console import Console

from soak.report import show
from soak.run import Soak

SEED, SECONDS, ROOTS = 20, 20, 8
#: Seconds in which nothing may move: a runner that was lost is given up after a minute, and a busy machine is slow.
PATIENCE = 300


@pytest.mark.nightly
@pytest.mark.cloud
@pytest.mark.parametrize("plan_runner", ["fargate", "lambda"])
def test_a_short_soak_breaks_no_rule_and_comes_to_rest(plan_runner, tmp_path):
    soak = Soak(SEED, SECONDS, ROOTS, PATIENCE, log=tmp_path / "cloud.log", plan_runner=plan_runner)
    console = Console(width=160, color_system=None)
    outcome = soak.run(lambda told, _: console.print(told, markup=False))
    show(outcome, console)
    assert outcome.violations == ()
    assert outcome.settled, outcome.left
    assert outcome.events
    assert outcome.troubles
    assert outcome.ends["Applied"]
    assert any(history.plans for history in outcome.histories)
