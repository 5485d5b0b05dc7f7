from __future__ import annotations

import pytest

from tests.builders import any_deployed, any_deployment, any_revision
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import Orphaned
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.revision import Relations, check_revision, rerun_refusal
from tidegate.deploys.rules.state import State
from tidegate.vcs.rules.comparison import Comparison

AHEAD = Relations(Comparison.AHEAD, Comparison.AHEAD)


def judged(comparison, trigger=Trigger.MERGE, branch=Comparison.AHEAD, above=Comparison.AHEAD, attempted=None):
    known = Relations(comparison, branch, above)
    return check_revision(any_deployment(2, trigger=trigger), any_deployed(), attempted, known)


def test_the_first_deployment_of_a_root_is_allowed():
    assert check_revision(any_deployment(), None, None, Relations()).allowed


@pytest.mark.parametrize("comparison", Comparison)
def test_only_a_revision_that_is_behind_or_gone_is_refused(comparison):
    verdict = judged(comparison)
    assert verdict.allowed is (comparison not in {Comparison.BEHIND, Comparison.HEAD_MISSING})
    assert verdict.reason


@pytest.mark.parametrize("comparison", Comparison)
def test_a_revision_that_may_undo_something_must_be_reviewed(comparison):
    assert bool(judged(comparison).must_review) is (comparison in {Comparison.DIVERGED, Comparison.BASE_MISSING})


def test_without_a_comparison_nothing_is_allowed():
    with pytest.raises(ValueError, match="not compared"):
        judged(None)


@pytest.mark.parametrize("above", [*Comparison, None])
def test_what_is_behind_is_superseded_when_its_branch_went_on_to_what_was_deployed(above):
    verdict = judged(Comparison.BEHIND, above=above)
    superseded = above in {Comparison.AHEAD, Comparison.IDENTICAL}
    assert (verdict.allowed, verdict.end) == (False, State.SUPERSEDED if superseded else State.REFUSED)


@pytest.mark.parametrize("branch", [Comparison.BEHIND, Comparison.DIVERGED, Comparison.HEAD_MISSING])
def test_a_revision_that_left_its_branch_is_approved_first_and_says_all_that_is_wrong(branch):
    assert "rewritten" in (judged(Comparison.AHEAD, branch=branch).must_review or "")
    both = judged(Comparison.DIVERGED, branch=branch).must_review or ""
    assert "rewritten" in both
    assert "undone" in both
    assert not judged(Comparison.BEHIND, branch=branch).allowed


def test_a_commit_that_is_gone_is_refused():
    assert "no longer exists" in judged(None, branch=Comparison.BASE_MISSING).reason


@pytest.mark.parametrize("branch", Comparison)
def test_only_what_is_on_the_default_branch_is_run_again(branch):
    refusal = rerun_refusal(any_revision(), None, branch)
    assert (refusal is None) is (branch in {Comparison.AHEAD, Comparison.IDENTICAL})


def test_only_the_latest_attempt_is_run_again():
    assert rerun_refusal(any_revision(2), any_deployed(2), Comparison.IDENTICAL) is None
    assert rerun_refusal(any_revision(2), any_deployed(1), Comparison.IDENTICAL) is not None
    assert not judged(Comparison.AHEAD, Trigger.RERUN, attempted=any_deployed(1)).allowed
    assert judged(Comparison.AHEAD, Trigger.RERUN, attempted=any_deployed(2)).allowed


def test_a_deploy_by_hand_may_come_from_anywhere():
    assert judged(Comparison.AHEAD, Trigger.MANUAL, branch=None).must_review is None


@pytest.mark.parametrize(("deployed", "allowed"), [(any_deployed(2), True), (any_deployed(1), False), (None, False)])
def test_only_what_is_deployed_still_is_destroyed(deployed, allowed):
    wanted = any_deployment(2, trigger=Trigger.MANUAL, destroy=Destruction("last"))
    verdict = check_revision(wanted, deployed, None, Relations(Comparison.IDENTICAL))
    assert verdict.allowed is allowed
    assert ("nothing is destroyed" in verdict.reason) is not allowed
    assert ("because another root then uses that state" in (verdict.must_review or "")) is allowed


def test_what_is_deployed_and_gone_from_the_forge_is_not_destroyed():
    wanted = any_deployment(2, trigger=Trigger.MANUAL, destroy=Destruction("last"))
    assert not check_revision(wanted, any_deployed(2), None, Relations(Comparison.HEAD_MISSING)).allowed


def test_what_the_file_destroys_is_compared_as_every_merge():
    assert check_revision(any_deployment(2, destroy=Destruction()), any_deployed(), None, AHEAD).allowed


@pytest.mark.parametrize(("asked", "destroyed", "allowed"), [(1, True, False), (1, False, True), (9, True, True)])
def test_what_was_merged_before_a_destroyed_root_was_gone_makes_nothing_of_it_again(asked, destroyed, allowed):
    gone = any_deployed(orphaned=Orphaned(any_revision(5).sha, any_deployment(5).request.at), destroyed=destroyed)
    verdict = check_revision(any_deployment(asked), gone, None, AHEAD)
    assert (verdict.allowed, verdict.end is State.SUPERSEDED) == (allowed, not allowed)
