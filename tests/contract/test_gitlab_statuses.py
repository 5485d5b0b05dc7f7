"""Commit statuses on a GitLab that makes pipelines of its own for the same commit."""

from __future__ import annotations

import pytest

from tests.contract.forges import tried
from tests.contract.test_forges import shown
from tidegate.domain.check_run import Conclusion


@pytest.fixture
def world(tmp_path):
    with tried("gitlab", tmp_path, "") as world:
        yield world


def test_a_status_ends_in_the_pipeline_that_it_began_in(world):
    head = world.push({"network/main.tf": "# one\n"})
    made = world.forge.create_check_run(*world.where, shown(head))
    person = world.person()
    (begun,) = person.statuses(world.repository, head)
    person.start_pipeline(world.repository, "main")
    done = shown(head, "Applied", "completed", Conclusion.SUCCESS)
    world.forge.update_check_run(*world.where, made, done)
    (ended,) = [each for each in person.statuses(world.repository, head) if each["name"] == done.name]
    assert (ended["status"], ended["pipeline_id"]) == ("success", begun["pipeline_id"])


def test_an_older_check_run_of_the_same_name_does_not_hide_the_newer_one(world):
    head = world.push({"network/main.tf": "# one\n"})
    older = world.forge.create_check_run(*world.where, shown(head, "Older"))
    newer = world.forge.create_check_run(*world.where, shown(head, "Newer", external_id="network-2"))
    assert newer > older
    world.forge.update_check_run(*world.where, older, shown(head, "Done", "completed", Conclusion.NEUTRAL))
    words = [each["description"] for each in world.person().statuses(world.repository, head)]
    assert words == ["Newer"]
    world.forge.create_check_run(*world.where, shown(head, "Older, again"))
    world.forge.update_check_run(*world.where, newer, shown(head, "Newer, again"))
    words = [each["description"] for each in world.person().statuses(world.repository, head)]
    assert words == ["Newer, again"]
