"""A pull request is merged once all of it is applied, if that is configured; a refusal is told with what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.comments.apply_scenario import FREE, ApplyScenario
from tests.unit.comments.events_scenario import BASE, HEAD, NUMBER
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.merge_applied import merge_applied
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable

ID = f"acme/infra#{NUMBER}"


@pytest.fixture
def scenario():
    found = ApplyScenario()
    found.say(f"{FREE}merge_after_apply: squash\n")
    found.planned("live/app", "live/db")
    found.comment("tidegate apply -p live/app -p live/db")
    return found


def commented(scenario):
    """Let the pull request show its plans, in a comment that is brought up to date."""
    scenario.records.save(replace(scenario.record, commented=scenario.record.spec.revision))


def all_applied(scenario):
    scenario.end()
    scenario.end(root="live/db")


def test_it_is_merged_once_the_last_root_is_applied_and_not_before(scenario):
    commented(scenario)
    scenario.end()
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == []
    assert "`live/db`: applying" in scenario.reply
    scenario.end(root="live/db")
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == [(NUMBER, HEAD, "squash")]
    assert "Everything is applied" in scenario.reply


def test_it_is_merged_once(scenario):
    all_applied(scenario)
    merge_applied(scenario.ports, ID)
    scenario.forge.unmergeable = ForgeRefused(405, "Pull Request is not mergeable")
    merge_applied(scenario.ports, ID)
    assert len(scenario.forge.merges) == 1
    assert scenario.forge.comments == []


@pytest.mark.parametrize("state", [State.REJECTED, State.APPLY_FAILED, State.PLANNING])
def test_it_is_not_merged_while_something_is_not_applied(scenario, state):
    scenario.end()
    scenario.end(state, root="live/db")
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == []


def test_without_being_asked_for_it_people_merge(scenario):
    for root in ("live/app", "live/db"):
        scenario.end(State.REJECTED, root)
    scenario.say(FREE)
    scenario.comment("tidegate apply -p live/app -p live/db")
    all_applied(scenario)
    commented(scenario)
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == []
    assert "Everything is applied" in scenario.reply


def test_what_a_newer_commit_changes_must_be_known_first(scenario):
    all_applied(scenario)
    record = scenario.record
    scenario.records.save(replace(record, spec=replace(record.spec, head_sha=BASE)))
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == []


def test_a_newer_commit_is_not_merged_for_what_an_earlier_one_applied(scenario):
    scenario.end()
    newer = replace(scenario.record.spec, head_sha=BASE)
    unchanged = [replace(each, state=LayerState.NO_CHANGES) for each in scenario.layers.many(scenario.record.layers)]
    for layer in unchanged:
        scenario.layers.save(layer)
    scenario.records.save(replace(scenario.record, spec=newer, discovered=newer.revision))
    scenario.end(root="live/db")
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == []


def test_nothing_is_done_for_what_is_closed_or_not_known(scenario):
    all_applied(scenario)
    commented(scenario)
    scenario.records.save(replace(scenario.record, closed_at=utc("2026-03-02T08:00")))
    merge_applied(scenario.ports, ID)
    merge_applied(scenario.ports, "acme/infra#99")
    assert (scenario.forge.merges, scenario.forge.comments) == ([], [])


def test_a_refusal_is_told_once_with_the_forges_words_and_what_to_do(scenario):
    all_applied(scenario)
    scenario.forge.unmergeable = ForgeRefused(405, "At least 2 approving reviews are required")
    merge_applied(scenario.ports, ID)
    merge_applied(scenario.ports, ID)
    assert "the merge failed" in scenario.reply
    assert "At least 2 approving reviews are required" in scenario.reply
    assert "`tidegate apply` again" in scenario.reply
    assert "The merge deploys nothing again." in scenario.reply


def test_after_another_apply_it_is_tried_again(scenario):
    all_applied(scenario)
    scenario.forge.unmergeable = ForgeRefused(405, "it is a draft")
    merge_applied(scenario.ports, ID)
    scenario.forge.unmergeable = None
    scenario.comment("tidegate apply -p live/app")
    scenario.end(State.NO_CHANGES)
    merge_applied(scenario.ports, ID)
    assert scenario.forge.merges == [(NUMBER, HEAD, "squash")]


def test_a_permission_that_the_app_lacks_is_named(scenario):
    all_applied(scenario)
    scenario.forge.unmergeable = AppLacksPermission(422, ("contents: write",))
    merge_applied(scenario.ports, ID)
    assert "Grant the Tidegate App `contents: write`" in scenario.reply


def test_a_forge_that_does_not_answer_is_asked_again(scenario):
    all_applied(scenario)
    scenario.forge.failures.append(ForgeUnavailable("502"))
    with pytest.raises(ForgeUnavailable):
        merge_applied(scenario.ports, ID)
    merge_applied(scenario.ports, ID)
    assert len(scenario.forge.merges) == 1


def test_a_conversation_that_is_locked_is_no_reason_to_try_for_ever(scenario):
    all_applied(scenario)
    scenario.forge.unmergeable = scenario.forge.silence = ForgeRefused(403, "locked")
    merge_applied(scenario.ports, ID)
    assert scenario.forge.comments == []
    assert scenario.record.merge_refused
