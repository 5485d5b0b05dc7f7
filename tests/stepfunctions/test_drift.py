"""Paths with the real functions, on a local cloud: what they answer leads where it should. (All ways: test_ways.py.)"""

from __future__ import annotations

import pytest

from tests.stepfunctions.plays import DRIFT_PLAYS

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]


@pytest.mark.parametrize(("case", "play"), DRIFT_PLAYS, ids=[case.name for case, _ in DRIFT_PLAYS])
def test_a_run_goes_its_way(stage, case, play):
    assert stage.start(play).result() == (case.states, case.summary)
