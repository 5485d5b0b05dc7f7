"""Every path of the machine that looks for drift is executed, with the real handlers, on a local cloud."""

from __future__ import annotations

import pytest

from tests.stepfunctions.histories import all_edges
from tests.stepfunctions.machines import read
from tests.stepfunctions.plays import DRIFT_PLAYS

pytestmark = [pytest.mark.cloud, pytest.mark.xdist_group("paths")]


@pytest.mark.parametrize(("case", "play"), DRIFT_PLAYS, ids=[case.name for case, _ in DRIFT_PLAYS])
def test_a_run_goes_its_way(stage, case, play):
    assert stage.start(play).result() == (case.states, case.summary)


def test_every_state_and_every_way_out_of_it_was_taken(stage, world):
    for _, play in DRIFT_PLAYS:
        stage.start(play).exception()
    histories = [history for history in world.histories() if history.machine == "drift"]
    assert set(read("drift").states) - {state for history in histories for state in history.states} == set()
    assert all_edges("drift") - {edge for history in histories for edge in history.edges} == set()
