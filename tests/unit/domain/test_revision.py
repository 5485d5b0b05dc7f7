from __future__ import annotations

import pytest

from tests.builders import any_deployed, any_revision
from tidegate.domain.revision import Comparison, judge_revision


def test_the_first_deployment_of_a_root_is_allowed():
    assert judge_revision(any_revision(), None, None).allowed


@pytest.mark.parametrize("comparison", Comparison)
def test_only_a_revision_that_is_behind_or_gone_is_refused(comparison):
    verdict = judge_revision(any_revision(2), any_deployed(), comparison)
    assert verdict.allowed is (comparison not in {Comparison.BEHIND, Comparison.HEAD_MISSING})
    assert verdict.reason


@pytest.mark.parametrize("comparison", Comparison)
def test_a_revision_that_may_undo_something_must_be_reviewed(comparison):
    verdict = judge_revision(any_revision(2), any_deployed(), comparison)
    assert bool(verdict.must_review) is (comparison in {Comparison.DIVERGED, Comparison.BASE_MISSING})


def test_without_a_comparison_nothing_is_allowed():
    with pytest.raises(ValueError, match="not compared"):
        judge_revision(any_revision(2), any_deployed(), None)
