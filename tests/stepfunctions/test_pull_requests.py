"""Paths with the real functions, on a local cloud: what they answer leads where it should. (All ways: test_ways.py.)"""

from __future__ import annotations

import pytest

from tests.stepfunctions.plays import PULL_PLAYS
from tests.stepfunctions.pull_cases import FOUND, PullCase, PullInWorld

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]


@pytest.mark.parametrize(("case", "play"), PULL_PLAYS, ids=[case.name for case, _ in PULL_PLAYS])
def test_a_pull_request_goes_its_way(stage, case, play):
    assert stage.start(play).result() == (case.states, case.layer)


def test_an_execution_of_an_older_revision_does_nothing(stage, world):
    for _, play in PULL_PLAYS:
        stage.start(play).exception()
    pull = PullInWorld(world, PullCase("pulls-nothing", ()), 1)
    world.tidegate.workflows.start_pull_request("pulls-overtaken", pull.id, f"{'0' * 40}+{'1' * 40}")
    assert pull.history("pulls-overtaken").states == (*FOUND, "Overtaken")
