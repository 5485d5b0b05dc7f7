"""Paths with the real functions, on a local cloud: what they answer leads where it should. (All ways: test_ways.py.)"""

from __future__ import annotations

import pytest

from tests.stepfunctions.plays import CASE_PLAYS, STORY_PLAYS, expected

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]


@pytest.mark.parametrize(("case", "play"), CASE_PLAYS, ids=[case.name for case, _ in CASE_PLAYS])
def test_a_deployment_goes_its_way(stage, case, play):
    assert stage.start(play).result() == expected(case)


@pytest.mark.parametrize("play", STORY_PLAYS, ids=lambda play: play.name)
def test_a_queue_goes_on_whatever_happens(stage, play):
    stage.start(play).result()
