"""What comments say of the queues that a merge finds, and of an apply before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_lock, any_queue, deployment_in, sha
from tests.unit.pull_requests.publishing_scenario import WHERE, Scenario, planned
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.rules.comment import MARKER
from tidegate.pull_requests.rules.record import Applying


def test_a_comment_says_what_the_merge_finds_in_the_queues_of_its_roots():
    scenario = Scenario(planned())
    scenario.queues.enqueue(any_deployment())
    head, _ = scenario.queues.read(any_queue())
    scenario.queues.commit(head, replace(head, lock=any_lock(pull_request=3)))
    scenario.publish()
    assert (
        "[`network`](https://tidegate.example/queue?repository=acme%2Finfra&root=network) is being" in scenario.texts[0]
    )
    assert "The queue of `network` is locked by `maintainer`: Somebody looks" in scenario.texts[0]


def test_what_a_pull_request_applies_itself_is_not_before_its_merge():
    scenario = Scenario(planned(), applies=(Applying("network", "default", any_deployment().id),))
    scenario.queues.enqueue(any_deployment())
    head, _ = scenario.queues.read(any_queue())
    scenario.queues.commit(head, replace(head, lock=any_lock(pull_request=5)))
    scenario.publish()
    assert "As of this comment" not in scenario.texts[0]


def test_a_lock_that_is_being_taken_away_is_not_told():
    scenario = Scenario(planned())
    head, _ = scenario.queues.read(any_queue())
    scenario.queues.commit(head, replace(head, lock=any_lock(unlocking=Unlocking("maintainer", NOW))))
    scenario.publish()
    assert "As of this comment" not in scenario.texts[0]


HERE = ApplyRules(ApplyMode.IN_PULL_REQUEST)


def test_where_it_is_applied_before_the_merge_the_comments_say_so_and_how_far_that_is():
    scenario = Scenario(planned(), planned("db"), rules=HERE)
    scenario.publish()
    (text,) = scenario.texts
    assert "### What happens on apply and on merge" in text
    assert "on the merge commit" not in text
    assert "comment `tidegate apply`" in text
    applied = deployment_in(State.APPLIED, 3, base_sha=sha(2))
    scenario.deployments.add(applied)
    scenario.records.save(replace(scenario.record, applies=(Applying("network", "default", applied.id),)))
    scenario.show_again()
    (text,) = scenario.texts
    assert "`db`: not applied yet. Comment `tidegate apply`." in text


@pytest.fixture
def applied():
    """A pull request with a comment for each of three stacks, which has applied the root of one."""
    scenario = Scenario(*(planned(stack, stack=stack) for stack in ("dev", "prod", "test")), rules=HERE)
    scenario.publish()
    applied = replace(deployment_in(State.APPLIED, 3, base_sha=sha(2)), stack="prod")
    scenario.deployments.add(applied)
    scenario.records.save(replace(scenario.record, applies=(Applying("prod", "prod", applied.id),)))
    return scenario


def test_what_comments_say_already_is_not_written_again(applied):
    for _ in range(3):
        applied.show_again()
    assert applied.forge.edits == [1, 2, 3]


@pytest.mark.parametrize("edited", ["edited", f"{MARKER} default -->\nedited"])
def test_what_somebody_did_to_comments_is_undone_when_they_are_shown_again(applied, edited):
    applied.show_again()
    before = applied.texts
    applied.forge.comments[0] = (WHERE[1], edited)
    applied.forge.deleted.add(3)
    applied.show_again()
    assert applied.forge.edits == [1, 2, 3, 1]
    assert applied.texts == [*before, before[2]]


def test_only_what_shows_its_newest_revision_is_shown_again():
    scenario = Scenario(planned(), rules=HERE)
    scenario.show_again()
    scenario.show_again("acme/infra#99")
    assert scenario.texts == []
    scenario.publish()
    scenario.records.save(replace(scenario.record, closed_at=NOW))
    scenario.show_again()
    assert "### Closed" in scenario.texts[0]
