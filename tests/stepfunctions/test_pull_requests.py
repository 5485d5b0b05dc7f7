"""Every path of the machine for pull requests is executed, with the real handlers, on a local cloud."""

from __future__ import annotations

import pytest

from tests.stepfunctions.histories import all_edges
from tests.stepfunctions.machines import read
from tests.stepfunctions.plays import PULL_PLAYS
from tests.stepfunctions.pull_cases import FOUND, PullCase, PullInWorld

pytestmark = [pytest.mark.cloud, pytest.mark.xdist_group("paths")]


@pytest.mark.parametrize(("case", "play"), PULL_PLAYS, ids=[case.name for case, _ in PULL_PLAYS])
def test_a_pull_request_goes_its_way(stage, case, play):
    assert stage.start(play).result() == (case.states, case.layer)


def test_an_execution_of_an_older_revision_does_nothing(stage, world):
    """The last way that the machine can take: with it, every state and every way out of it was taken."""
    for _, play in PULL_PLAYS:
        stage.start(play).exception()
    pull = PullInWorld(world, PullCase("pulls-nothing", ()), 1)
    world.tidegate.workflows.start_pull_request("pulls-overtaken", pull.id, f"{'0' * 40}+{'1' * 40}")
    assert pull.history("pulls-overtaken").states == (*FOUND, "Overtaken")
    histories = [history for history in world.histories() if history.machine == "pull_request"]
    assert set(read("pull_request").states) - {state for history in histories for state in history.states} == set()
    assert all_edges("pull_request") - {edge for history in histories for edge in history.edges} == set()
