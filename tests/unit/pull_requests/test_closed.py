"""A pull request that ends: its comments say so, in place, and what people did to them is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.pull_requests.pull_request_scenario import NUMBER, PAGE, PullRequestScenario
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.pull_requests.rules.comment import MERGED, marker
from tidegate.pull_requests.rules.record import Applying
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable

PLANS = f"{marker('dev')}\n## Tidegate\n\nPlans."
TEXT = f"{PLANS}\n\n### What happens on merge\n\n* It is deployed.\n\n### What to do now\n\n* Merge."


@pytest.fixture
def scenario():
    scenario = PullRequestScenario()
    scenario.receive()
    scenario.forge.comments.append((NUMBER, TEXT))
    record = scenario.record
    scenario.records.save(replace(record, comments=(("dev", 1),)))
    return scenario


def ends(scenario, *, merged):
    scenario.pull(is_open=False, merged=merged)
    scenario.receive(action="closed")


def test_a_merge_is_told_in_place_of_the_next_steps(scenario):
    ends(scenario, merged=True)
    ((_, text),) = scenario.forge.comments
    assert text == f"{PLANS}\n\n{MERGED}\n\n[This page]({PAGE}) shows its deployments."


def test_what_is_closed_is_told_once(scenario):
    for _ in range(3):
        ends(scenario, merged=False)
    ((_, text),) = scenario.forge.comments
    assert "### Closed" in text
    assert scenario.forge.edits == [1]


def test_the_end_of_a_merge_that_deploys_is_left_to_who_shows_that_so_that_nobody_overwrites_it(scenario):
    ends(scenario, merged=True)
    scenario.forge.edits.clear()
    scenario.forge.comments[0] = (NUMBER, TEXT)
    deploys = (Applying("app", "dev", ""),)
    notify_closed(scenario.ports, replace(scenario.record, merge_sha="e" * 40, deploys=deploys), merged=True)
    assert (scenario.event_publisher.deployed, scenario.forge.edits) == ([scenario.record.spec.id], [])


def test_comments_of_others_stay_as_they_are(scenario):
    scenario.forge.comments.append((NUMBER, TEXT))
    ends(scenario, merged=True)
    assert scenario.forge.comments[1] == (NUMBER, TEXT)


def test_a_locked_conversation_is_no_failure(scenario):
    scenario.forge.failures = [ForgeRefused(403, "The conversation is locked.")]
    notify_closed(scenario.ports, scenario.record, merged=True)
    assert scenario.forge.edits == []


def test_a_deleted_comment_is_no_failure(scenario):
    scenario.forge.deleted.add(1)
    ends(scenario, merged=True)
    assert (scenario.record.merged, scenario.forge.edits) == (True, [])


def test_while_the_forge_does_not_answer_it_is_put_off(scenario):
    scenario.forge.failures = [ForgeUnavailable("GitHub", "down")]
    with pytest.raises(ForgeUnavailable):
        notify_closed(scenario.ports, scenario.record, merged=True)
    ends(scenario, merged=True)
    assert "### Merged" in scenario.forge.comments[0][1]


def test_without_comments_the_forge_is_not_asked(scenario):
    scenario.records.save(replace(scenario.record, comments=()))
    ends(scenario, merged=True)
    assert scenario.forge.edits == []
