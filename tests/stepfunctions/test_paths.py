"""Every path of both state machines is executed, with the real handlers, on a local cloud."""

from __future__ import annotations

import pytest

from tests.stepfunctions.histories import all_edges
from tests.stepfunctions.machines import MACHINES
from tests.stepfunctions.plays import CASE_PLAYS, STORY_PLAYS, expected

pytestmark = [pytest.mark.cloud, pytest.mark.xdist_group("paths")]


@pytest.mark.parametrize(("case", "play"), CASE_PLAYS, ids=[case.name for case, _ in CASE_PLAYS])
def test_a_deployment_goes_its_way(stage, case, play):
    assert stage.start(play).result() == expected(case)


@pytest.mark.parametrize("play", STORY_PLAYS, ids=lambda play: play.name)
def test_a_queue_goes_on_whatever_happens(stage, play):
    stage.start(play).result()


def test_every_state_and_every_way_out_of_it_was_taken(stage, world):
    for playing in [stage.start(play) for play in (*(play for _, play in CASE_PLAYS), *STORY_PLAYS)]:
        playing.exception()
    histories = world.histories()
    deploying = [machine for machine in MACHINES if machine.name in {"deploy", "terraform"}]
    visited = {(history.machine, state) for history in histories for state in history.states}
    assert {(machine.name, state) for machine in deploying for state in machine.states} - visited == set()
    taken = {edge for history in histories for edge in history.edges}
    assert all_edges("deploy", "terraform") - taken == set()
