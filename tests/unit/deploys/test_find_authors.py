"""Whose changes a plan holds: not only those of its own deployment, and who may approve it then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, amended, any_deployed, any_deployment, any_revision, deployment_in
from tests.unit.deploys.queue.scenario import Scenario
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import Answer, check_click, missing_approvals
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.ports import Change
from tidegate.vcs.rules.authors import MAXIMUM_AUTHORS, Authors

DEPLOYED, MERGED = any_revision(1), any_revision(2)
EXCLUDING = ReviewRule(exclude_authors=True)


@pytest.fixture
def scenario():
    return Scenario()


def validated(scenario, **fields):
    """Let a deployment of MERGED be validated; return it as it goes on to planning."""
    given = {"revision": MERGED, "review_rule": EXCLUDING, "authors": ("author",), **fields}
    deployment = amended(any_deployment(2), **given)
    scenario.in_flight(deployment)
    assert scenario.validate(deployment).allowed
    return scenario.deployments.get(deployment.id)


def authors_of(deployment):
    return Authors(deployment.commits.authors, deployment.commits.authors_known)


def after(scenario, state, revision=DEPLOYED, **fields):
    """Let a deployment of a revision have ended in a state; return its place in the queue's head."""
    ended = amended(deployment_in(state), id="before-1", revision=revision, **fields)
    scenario.deployments.add(ended)
    return any_deployed(deployment=ended.id, revision=revision, state=state)


def test_everybody_who_made_a_commit_since_the_deployed_revision_is_an_author(scenario):
    scenario.change(deployed=after(scenario, State.APPLIED))
    scenario.forge.changes[DEPLOYED.sha, MERGED.sha] = Change(DEPLOYED.sha, Authors(("earlier", "author")))
    assert authors_of(validated(scenario)) == Authors(("author", "earlier"))


def test_a_request_of_an_operator_has_the_authors_of_what_it_changes(scenario):
    scenario.change(deployed=after(scenario, State.APPLIED))
    scenario.forge.changes[DEPLOYED.sha, MERGED.sha] = Change(DEPLOYED.sha, Authors(("author",)))
    asked = validated(scenario, trigger=Trigger.MANUAL, requested_by="operator", authors=(), authors_known=False)
    assert authors_of(asked) == Authors(("author",))
    waiting = replace(asked, state=State.AWAITING_REVIEW, review=deployment_in(State.AWAITING_REVIEW).review)
    assert "so another person must approve it" in check_click(waiting, Answer.APPROVE, "author", NOW).reason


def test_of_a_first_request_nobody_knows_the_authors(scenario):
    asked = validated(scenario, trigger=Trigger.MANUAL, authors=(), authors_known=False)
    assert authors_of(asked) == Authors(known=False)


@pytest.mark.parametrize("state", [State.REJECTED, State.PLAN_FAILED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_who_made_what_was_tried_and_not_applied_is_an_author_of_what_comes_after(scenario, state):
    scenario.change(attempted=after(scenario, state, authors=("rejected",)))
    assert authors_of(validated(scenario)) == Authors(("author", "rejected"))


def test_who_made_what_is_deployed_again_is_its_author(scenario):
    scenario.change(deployed=after(scenario, State.APPLIED, revision=MERGED, authors=("first",)))
    again = validated(scenario, trigger=Trigger.RERUN, authors=(), authors_known=False)
    assert authors_of(again) == Authors(("first",))


@pytest.mark.parametrize("fields", [{"trigger": Trigger.MERGE}, {"trigger": Trigger.MANUAL, "pull_request": 5}])
def test_who_pushed_a_change_without_being_told_of_stays_unknown_whatever_its_commits_say(scenario, fields):
    scenario.change(deployed=after(scenario, State.APPLIED))
    scenario.forge.changes[DEPLOYED.sha, MERGED.sha] = Change(DEPLOYED.sha, Authors(("author",)))
    assert authors_of(validated(scenario, authors_known=False, **fields)) == Authors(("author",), known=False)


def test_who_made_what_was_applied_is_no_author_of_what_comes_after(scenario):
    applied = after(scenario, State.APPLIED, authors=("first",))
    scenario.change(deployed=applied, attempted=applied)
    scenario.forge.changes[DEPLOYED.sha, MERGED.sha] = Change(DEPLOYED.sha, Authors(("author",)))
    assert authors_of(validated(scenario)) == Authors(("author",))


def test_authors_that_the_forge_cannot_tell_are_not_known(scenario):
    scenario.change(deployed=after(scenario, State.APPLIED))
    assert authors_of(validated(scenario)) == Authors(("author",), known=False)


def test_authors_of_an_attempt_whose_record_is_gone_are_not_known(scenario):
    scenario.change(attempted=any_deployed(deployment="gone-1", revision=DEPLOYED, state=State.REJECTED))
    assert authors_of(validated(scenario)) == Authors(("author",), known=False)


def test_where_authors_count_nobody_is_asked_about_them(scenario):
    scenario.change(deployed=after(scenario, State.APPLIED))
    assert authors_of(validated(scenario, review_rule=ReviewRule())) == Authors(("author",))


def test_while_not_all_authors_are_known_one_person_more_must_approve():
    waiting = deployment_in(State.AWAITING_REVIEW, review_rule=EXCLUDING, authors_known=False)
    assert missing_approvals(waiting) == 2
    assert missing_approvals(replace(waiting, commits=replace(waiting.commits, authors_known=True))) == 1
    assert missing_approvals(replace(waiting, settings=replace(waiting.settings, review_rule=ReviewRule()))) == 1


def test_of_more_authors_than_are_remembered_not_all_are_known():
    many = Authors(tuple(f"person-{number}" for number in range(MAXIMUM_AUTHORS)))
    assert many.and_also(many) == many
    assert many.and_also(Authors(("more",))) == replace(many, known=False)
