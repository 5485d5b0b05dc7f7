"""Deploys by hand where the configuration tells what each root requires."""

from __future__ import annotations

import pytest

from tests.unit.comments.events_scenario import HEAD, MAIN, EventsScenario


@pytest.fixture
def scenario():
    return EventsScenario()


CHECKED = """
version: 1
apply_requirements:
  checks:
    - {tag_query: prod, approved: {any_of_count: 2}}
    - {tag_query: dir:live/**, status_checks: {}}
roots: [{dir: live/app, tags: [prod]}, {dir: live/db}]
"""


def test_each_root_is_judged_by_the_first_check_that_matches_it_and_the_reply_names_both(scenario):
    scenario.file(MAIN, CHECKED)
    scenario.pull(failing_checks=("build",))
    scenario.comment("tidegate deploy -p live/app -p live/db")
    assert "`live/app`: 2 approvals of the current head" in scenario.reply
    assert "`live/db`: These checks failed or have not completed: `build`" in scenario.reply
    assert scenario.names == []
    assert scenario.forge.reactions == [(70, "confused")]


def test_what_another_root_lacks_holds_no_root_up(scenario):
    scenario.file(MAIN, CHECKED)
    scenario.comment("tidegate deploy -p live/db")
    assert scenario.names == ["live/db"]


def test_tags_of_the_pull_request_are_no_way_around_a_check(scenario):
    scenario.file(MAIN, CHECKED)
    scenario.file(HEAD, "version: 1\nroots: [{dir: live/app, name: free}]\n")
    scenario.comment("tidegate deploy -p free")
    assert "`free`: 2 approvals" in scenario.reply
    assert scenario.names == []


def test_a_root_that_no_check_matches_is_deployed_by_force_alone_with_a_hint(scenario):
    scenario.file(MAIN, "version: 1\napply_requirements: {checks: [{tag_query: prod}]}\n")
    scenario.comment("tidegate deploy")
    assert "`live/app`: No check of `apply_requirements` matches" in scenario.reply
    assert "`tag_query: ''`" in scenario.reply
    assert scenario.names == []
    scenario.comment("tidegate deploy --force")
    assert scenario.names == ["live/app"]


def test_who_may_not_write_is_told_that_alone_where_checks_tell_the_rest(scenario):
    scenario.file(MAIN, CHECKED)
    scenario.comment("tidegate deploy", by="visitor")
    assert "has no write permission" in scenario.reply
    assert "approvals" not in scenario.reply
