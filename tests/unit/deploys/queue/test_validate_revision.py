"""Which revision is let in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_lock, any_revision, any_root, deployment_in
from tests.unit.deploys.queue.scenario import related
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.cancelling import cancelled
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.policies.rules.requirements import Requirements
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.push import Pushed


def test_the_first_revision_is_compared_with_its_branch_only(scenario):
    scenario.in_flight(any_deployment())
    assert scenario.validate(any_deployment()).allowed
    assert scenario.forge.compared == [(any_revision().sha, "main")]
    assert scenario.deployments.get(any_deployment().id).state is State.PLANNING


def test_the_revision_deployed_last_may_be_deployed_again(scenario):
    scenario.change(deployed=any_deployed())
    scenario.in_flight(any_deployment())
    assert scenario.validate(any_deployment()).allowed
    assert scenario.forge.compared == [(any_revision().sha, "main")]


def test_a_revision_that_is_behind_another_branch_is_refused(scenario):
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 1, Comparison.BEHIND)
    related(scenario, 2, "main", Comparison.DIVERGED)
    scenario.in_flight(any_deployment(1))
    first, again = scenario.validate(any_deployment(1)), scenario.validate(any_deployment(1))
    assert not first.allowed
    assert again == first
    refused = scenario.deployments.get(any_deployment(1).id)
    assert (refused.state, refused.reason) == (State.REFUSED, first.reason)


def test_a_merge_that_a_newer_one_has_overtaken_is_superseded(scenario):
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 1, Comparison.BEHIND)
    scenario.in_flight(any_deployment(1))
    assert not scenario.validate(any_deployment(1)).allowed
    assert scenario.record(any_deployment(1)) == "superseded"
    assert (scenario.head.deployed, scenario.head.attempted) == (any_deployed(2), None)


def test_a_deploy_by_hand_is_never_superseded(scenario):
    manual = any_deployment(1, trigger=Trigger.MANUAL)
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 1, Comparison.BEHIND)
    scenario.in_flight(manual)
    assert not scenario.validate(manual).allowed
    assert scenario.record(manual) == "refused"
    assert scenario.head.lock is None


def test_a_merge_that_left_its_branch_while_it_waited_must_be_reviewed(scenario):
    related(scenario, 1, "main", Comparison.DIVERGED)
    scenario.in_flight(any_deployment())
    assert scenario.validate(any_deployment()).allowed
    assert "rewritten" in scenario.deployments.get(any_deployment().id).planned.must_review


@pytest.mark.parametrize("trigger", [Trigger.MERGE, Trigger.RERUN])
def test_a_commit_that_does_not_exist_any_more_is_refused_and_blocks_nothing(scenario, trigger):
    gone, later = any_deployment(1, trigger=trigger), any_deployment(2)
    related(scenario, 1, "main", Comparison.BASE_MISSING)
    scenario.in_flight(gone)
    scenario.enqueue(later)
    assert not scenario.validate(gone).allowed
    assert scenario.record(gone) == "refused"
    assert scenario.claim().deployment == later.id


def test_a_commit_that_vanished_before_a_deploy_by_hand_is_refused(scenario):
    manual = any_deployment(1, trigger=Trigger.MANUAL)
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 1, Comparison.HEAD_MISSING)
    scenario.in_flight(manual)
    assert not scenario.validate(manual).allowed


def test_only_the_latest_attempt_is_run_again(scenario):
    again = any_deployment(1, trigger=Trigger.RERUN)
    scenario.change(attempted=any_deployed(2))
    scenario.in_flight(again)
    refused = scenario.validate(again)
    assert not refused.allowed
    assert any_revision(2).short in refused.reason


@pytest.mark.parametrize("attempted", [None, any_deployed(1)])
def test_the_latest_attempt_may_be_run_again_from_the_default_branch(scenario, attempted):
    again = any_deployment(1, trigger=Trigger.RERUN)
    scenario.change(attempted=attempted)
    scenario.in_flight(again)
    assert scenario.validate(again).allowed
    assert scenario.head.lock is None


def test_what_is_not_on_the_default_branch_is_not_run_again(scenario):
    again = any_deployment(1, trigger=Trigger.RERUN)
    related(scenario, 1, "main", Comparison.DIVERGED)
    scenario.in_flight(again)
    assert "default branch" in scenario.validate(again).reason


def called_otherwise(scenario, **fields):
    """Let the root have been deployed under another name, which has a queue of its own; return that deployment."""
    former = deployment_in(State.APPLIED, 2, root=any_root(name="net"), id="net-2")
    scenario.enqueue(replace(former, state=State.QUEUED))
    head = scenario.queues.read(former.queue)[0]
    waiting = scenario.queues.waiting(former.queue)[0]
    head = scenario.queues.commit(head, head, take=waiting)
    deployed = any_deployed(2, deployment=former.id)
    scenario.queues.commit(head, replace(head, worker=None, deployed=deployed, **fields))
    return former


def test_a_root_under_a_new_name_is_compared_with_what_its_old_name_deployed_and_looked_at(scenario):
    called_otherwise(scenario, lock=any_lock(by="maintainer", reason="Somebody looks."), in_flight="net-3")
    related(scenario, 2, 1, Comparison.DIVERGED)
    scenario.in_flight(any_deployment(1))
    assert scenario.validate(any_deployment(1)).allowed
    must = scenario.deployments.get(any_deployment(1).id).planned.must_review
    for words in ("named net", "locked by maintainer: Somebody looks.", "are still running or queued", "diverged"):
        assert words in must


def test_a_new_name_is_no_way_backwards(scenario):
    called_otherwise(scenario)
    related(scenario, 2, 1, Comparison.BEHIND)
    scenario.in_flight(any_deployment(1))
    assert not scenario.validate(any_deployment(1)).allowed


def test_an_old_name_without_lock_and_work_is_told_and_nothing_else(scenario):
    called_otherwise(scenario)
    related(scenario, 2, 1, Comparison.AHEAD)
    scenario.in_flight(any_deployment(1))
    assert scenario.validate(any_deployment(1)).allowed
    must = scenario.deployments.get(any_deployment(1).id).planned.must_review
    assert "was named net when it was" in must


def test_another_directory_is_another_root(scenario):
    called_otherwise(scenario)
    scenario.in_flight(any_deployment(1, root=any_root(dir="roots/else")))
    assert scenario.validate(any_deployment(1)).allowed
    assert scenario.deployments.get(any_deployment(1).id).planned.must_review is None


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        (Waits(), False),
        (Waits(apply_after=("dev",)), False),
        (Waits(roots=("dns",)), True),
        (Waits(plan_after=("dev",)), True),
    ],
)
def test_the_answer_tells_whether_the_plan_waits_for_others(scenario, waits, expected):
    deployment = any_deployment(waits=waits)
    scenario.in_flight(deployment)
    assert [scenario.validate(deployment).waits for _ in range(2)] == [expected, expected]


def test_one_that_waits_for_others_already_is_told_the_same(scenario):
    deployment = any_deployment(state=State.GATED, waits=Waits(roots=("dns",)))
    scenario.in_flight(deployment)
    answer = scenario.validate(deployment)
    assert (answer.allowed, answer.waits) == (True, True)


def test_what_requires_something_of_its_apply_knows_the_pushes_that_it_holds(scenario):
    own = Pushed(any_revision(1).sha, any_revision(2).sha, "main")
    deployment = any_deployment(2, requires=(Requirements(approvals=1),), pushed=(own,))
    scenario.in_flight(deployment)
    scenario.validate(deployment)
    assert scenario.deployments.get(deployment.id).commits.pushed == (own,)


def test_who_asks_for_a_destruction_is_its_author(scenario):
    scenario.change(deployed=any_deployed())
    rule = ReviewRule(exclude_authors=True)
    one = any_deployment(trigger=Trigger.MANUAL, destroy=Destruction("last"), authors=("asks",), review_rule=rule)
    scenario.in_flight(one)
    assert scenario.validate(one).allowed
    judged = scenario.deployments.get(one.id)
    assert (judged.commits.authors, judged.commits.authors_known) == (("asks",), True)


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING])
def test_what_somebody_has_cancelled_meanwhile_is_not_let_in_and_ends_with_its_outcome(scenario, state):
    one = any_deployment()
    scenario.in_flight(one)
    stored = scenario.deployments.get(one.id)
    scenario.deployments.save(cancelled(replace(stored, state=state), "reviewer", NOW))
    assert not scenario.validate(one).allowed
    scenario.record(one)
    assert scenario.deployments.get(one.id).state is State.CANCELLED
    assert scenario.head.in_flight is None
