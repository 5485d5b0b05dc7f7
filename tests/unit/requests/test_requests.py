"""Requests of operators: taken, stored, queued, and what becomes of them."""

from __future__ import annotations

import pytest

from tests.instants import utc
from tests.unit.comments.events_scenario import AT, HEAD, MAIN, REPOSITORY, EventsScenario
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.ports import KnownRepository
from tidegate.requests.request_deployments import request_deployments
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.rules.errors import CloudUnavailable, InvalidName, NotFound


@pytest.fixture
def scenario():
    return EventsScenario()


@pytest.fixture
def known(scenario):
    """The scenario, which knows its repository."""
    scenario.repository_index.remember(KnownRepository(REPOSITORY, "main", MAIN, AT))
    return scenario


def request(scenario, repository=REPOSITORY, roots=("a",), **more):
    return request_deployments(scenario.ports, repository, list(roots), "operator", **more)


def test_a_request_is_stored_and_queued_before_its_id_is_told(known):
    identifier = request(known, roots=["live/db", "live/app", "live/db"])
    (sent,) = known.ports.events.sent
    assert (sent.id, sent.event) == (identifier, "manual")
    assert sent.fields == {
        "repository": REPOSITORY,
        "roots": ["live/app", "live/db"],
        "by": "operator",
    }
    assert known.deliveries.is_queued(identifier)
    assert known.deliveries.outcome(identifier) is None


def test_a_request_may_name_directories_and_a_query(known):
    request(known, roots=[], directories=["live/", "live"], query="stack_name:prod")
    (sent,) = known.ports.events.sent
    assert (sent.fields["roots"], sent.fields["directories"], sent.fields["query"]) == ([], ["live"], "stack_name:prod")


def test_a_query_that_means_nothing_and_a_directory_outside_are_refused(known):
    with pytest.raises(InvalidTagQuery):
        request(known, roots=[], query="a and")
    with pytest.raises(InvalidName):
        request(known, roots=[], directories=["../x"])
    assert known.ports.events.sent == []


def test_a_resume_is_deployed_as_one(scenario):
    scenario.file(MAIN, TAGGED)
    scenario.request("live/app", resumes=True)
    (deployment,) = scenario.enqueued
    assert (deployment.request.trigger, deployment.request.resumes) == (Trigger.MANUAL, True)


TAGGED = "version: 1\nroots: [{dir: live/app, tags: [web]}, {dir: live/db}]\n"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"directories": ["live"]}, ["live/app", "live/db"]),
        ({"query": "web"}, ["live/app"]),
        ({"query": "web", "directories": ["live/db"]}, ["live/app", "live/db"]),
        ({"query": "not web"}, ["live/db"]),
    ],
)
def test_the_roots_of_directories_and_queries_are_deployed(scenario, asked, names):
    scenario.file(MAIN, TAGGED)
    assert f"Enqueued at {MAIN[:7]}: {', '.join(names)}." in scenario.request(**asked)
    assert scenario.names == names


def test_directories_and_queries_that_mean_no_root_are_told(scenario):
    scenario.file(MAIN, TAGGED)
    told = scenario.request(directories=["prod"], query="qa")
    assert told == "No root is in 'prod' or matches 'qa'. Nothing is deployed."
    assert "Did you mean stack_name:default?" in scenario.request(query="stack_nam:default")
    assert "Did you mean" not in scenario.request(query="stack_name:default and not stack_name:default")
    assert scenario.names == []


def test_two_requests_are_two(known):
    assert request(known) != request(known)


def test_a_request_that_is_not_queued_is_left_to_the_reconciler(known):
    known.ports.events.refusals = 1
    with pytest.raises(CloudUnavailable):
        request(known)
    assert [delivery.event for delivery in known.deliveries.unqueued(utc("2027-01-01"))] == ["manual"]


@pytest.mark.parametrize(("repository", "root"), [("acme", "a"), (REPOSITORY, "../.."), (REPOSITORY, "")])
def test_names_that_nothing_can_have_are_refused(known, repository, root):
    with pytest.raises(InvalidName):
        request(known, repository, [root])


def test_a_repository_that_is_not_known_is_not_found(known):
    with pytest.raises(NotFound):
        request(known, "acme/other")


def test_the_default_branchs_head_is_deployed_to_the_named_roots(scenario):
    scenario.file(MAIN, "version: 1\nroots: [{dir: live/app, plan_review: manual}, {dir: live/db}]\n")
    scenario.request("live/app")
    (deployment,) = scenario.enqueued
    assert (deployment.root.name, deployment.revision.sha, deployment.revision.branch) == ("live/app", MAIN, "main")
    assert (deployment.request.trigger, deployment.request.by) == (Trigger.MANUAL, "operator")
    assert deployment.settings.review_rule == ReviewRule(PlanReview.MANUAL)
    assert scenario.deliveries.outcome("delivery-1").deployments == (deployment.id,)


def test_a_request_that_is_received_again_deploys_the_head_that_it_found_first(scenario):
    scenario.workflows.refusals = 1
    with pytest.raises(ExceptionGroup):
        scenario.request("live/app", "live/db", delivery="again")
    scenario.trees[HEAD] = scenario.trees[MAIN]
    scenario.forge.branches["main"] = HEAD
    scenario.request("live/app", "live/db", delivery="again")
    assert scenario.names == ["live/app", "live/db"]
    assert {deployment.revision.sha for deployment in scenario.enqueued} == {MAIN}


def test_the_authors_of_a_request_are_found_when_it_is_its_turn(scenario):
    scenario.request("live/app")
    assert [deployment.commits.authors_known for deployment in scenario.enqueued] == [False]


def test_roots_are_found_where_no_file_declares_them(scenario):
    assert "Enqueued" in scenario.request("live/app", "live/db")
    assert scenario.names == ["live/app", "live/db"]


def test_a_declared_root_without_a_module_cannot_be_deployed(scenario):
    scenario.file(MAIN, "version: 1\nroots: [{dir: live/app}, {dir: live/gone}]\n")
    assert "There is no root 'live/gone'." in scenario.request("live/gone")


def test_one_unknown_root_holds_back_all_and_tells_which_was_meant(scenario):
    outcome = scenario.request("live/app", "live/bd", "xyz")
    assert outcome == (
        "There is no root 'live/bd'. Did you mean 'live/db'? There is no root 'xyz'. Nothing is deployed."
    )
    assert scenario.names == []


def test_an_invalid_file_and_a_missing_branch_are_told(scenario):
    scenario.file(MAIN, "version: 2\n")
    assert "unknown version '2'" in scenario.request("live/app")
    scenario.forge.branches.clear()
    assert "Nothing is deployed." in scenario.request("live/app")
    assert scenario.names == []
