"""How far pull requests are applied, whether they are to be merged, and what their comments say of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_layer, any_pull_request_record, any_revision, any_root, deployment_in, sha
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.rules.apply import ApplyView, apply_steps, how_applied
from tidegate.pull_requests.rules.apply_progress import ApplyProgress, applied_digest, apply_progress
from tidegate.pull_requests.rules.record import Applying
from tidegate.vcs.rules.pull_request import MergeMethod

HEAD, OLDER = any_revision(3, branch="feature"), any_revision(9, branch="feature")
HERE = ApplyRules(ApplyMode.IN_PULL_REQUEST)
NETWORK, DB = ("network", "default"), ("db", "default")


def applied(state, root="network", revision=HEAD):
    return deployment_in(state, root=any_root(name=root), id=f"{root}-1", revision=revision)


def progress(layers, *deployments):
    record = any_pull_request_record(
        applies=tuple(Applying(each.root.name, each.stack, each.id) for each in deployments)
    )
    return apply_progress(record, layers, {each.id: each for each in deployments})


@pytest.mark.parametrize(
    ("state", "revision", "expected"),
    [
        (State.APPLIED, HEAD, ApplyProgress(done=(NETWORK,))),
        (State.NO_CHANGES, HEAD, ApplyProgress(done=(NETWORK,))),
        (State.APPLIED, OLDER, ApplyProgress(older=(NETWORK,))),
        (State.QUEUED, HEAD, ApplyProgress(going_on=(NETWORK,))),
        (State.AWAITING_REVIEW, HEAD, ApplyProgress(going_on=(NETWORK,))),
        (State.APPLYING, OLDER, ApplyProgress(going_on=(NETWORK,))),
        (State.APPLY_FAILED, HEAD, ApplyProgress(bad=(NETWORK,))),
        (State.OUTCOME_UNKNOWN, OLDER, ApplyProgress(bad=(NETWORK,))),
        (State.REJECTED, HEAD, ApplyProgress(left=(NETWORK,))),
        (State.PLAN_FAILED, HEAD, ApplyProgress(left=(NETWORK,))),
        (State.REFUSED, OLDER, ApplyProgress(left=(NETWORK,))),
    ],
)
def test_a_root_counts_as_applied_once_its_head_is(state, revision, expected):
    found = progress([any_layer(state=LayerState.PLANNED)], applied(state, revision=revision))
    assert found == expected
    assert found.is_complete == bool(expected.done)


def test_what_would_not_change_needs_no_apply_and_what_somebody_asked_a_plan_for_neither():
    layers = [
        any_layer(state=LayerState.NO_CHANGES),
        any_layer("extra", state=LayerState.PLANNED, is_extra=True),
        any_layer("db", state=LayerState.PLANNED),
    ]
    assert progress(layers) == ApplyProgress(done=(NETWORK,), left=(DB,))
    assert progress(layers, applied(State.APPLIED, "db")).is_complete
    assert progress(layers, applied(State.APPLIED, revision=OLDER), applied(State.APPLIED, "db")).is_complete


def test_what_is_no_part_of_the_change_any_more_holds_the_merge_up_as_long_as_it_is_applied():
    layers = [any_layer("db", state=LayerState.PLANNED)]
    db = applied(State.APPLIED, "db")
    assert progress(layers, db, applied(State.APPLIED, revision=OLDER)).older == (NETWORK,)
    assert progress(layers, db, applied(State.APPLIED)).is_complete
    assert progress(layers, db, applied(State.REJECTED, revision=OLDER)).is_complete


def test_what_was_never_stored_is_still_to_be_applied():
    record = any_pull_request_record(applies=(Applying("network", "default", "lost"),))
    assert apply_progress(record, [any_layer()], {}) == ApplyProgress(left=(NETWORK,))


def test_one_complete_apply_is_told_from_another():
    record = any_pull_request_record(applies=(Applying("network", "default", "one"), Applying("db", "default", "two")))
    turned = replace(record, applies=record.applies[::-1])
    other = replace(record, applies=record.applies[:1])
    newer = replace(record, spec=replace(record.spec, head_sha=sha(8)))
    assert applied_digest(record) == applied_digest(turned)
    assert len({applied_digest(each) for each in (record, other, newer)}) == 3


def steps(progress, *, ready=True, merge_after=None, of_head=True):
    view = ApplyView(replace(HERE, merge_after=merge_after), progress, of_head)
    return " ".join(apply_steps(view, ready=ready, look="Read the plans."))


def test_comments_say_what_is_to_be_done_next_at_each_stage():
    assert steps(ApplyProgress(left=(NETWORK,))) == (
        "Read the plans. Then get it approved (by one person, on an up-to-date branch without conflicts, unless "
        "`apply_requirements` says otherwise) and comment `tidegate apply`."
    )
    assert steps(ApplyProgress(left=(NETWORK,)), ready=False) == ""
    assert steps(ApplyProgress(going_on=(NETWORK,))).startswith("`network`: applying.")
    assert "`db`: not applied yet. Comment `tidegate apply`." in steps(ApplyProgress(going_on=(NETWORK,), left=(DB,)))
    assert steps(ApplyProgress(done=(NETWORK,), left=(DB,))) == "`db`: not applied yet. Comment `tidegate apply`."
    assert "the apply failed" in steps(ApplyProgress(bad=(NETWORK,)))
    assert "`network`: applied from an earlier commit." in steps(ApplyProgress(older=(NETWORK,)))
    assert "Merge it: nothing is deployed again." in steps(ApplyProgress(done=(NETWORK,)))
    assert "The merge is in progress." in steps(ApplyProgress(done=(NETWORK,)), merge_after=MergeMethod.MERGE)
    newer = steps(ApplyProgress(done=(NETWORK,)), merge_after=MergeMethod.MERGE, of_head=False)
    assert newer == "Everything is applied. Comment `tidegate apply` to merge this commit, too."


def test_comments_say_how_roots_are_applied_and_that_the_merge_deploys_nothing_twice():
    first, second = how_applied(ApplyView(HERE))
    assert "When you comment `tidegate apply`, Tidegate plans each root again" in first
    assert "Tidegate merges it" not in first
    assert second.startswith("The merge does not deploy applied roots again")
    assert "Tidegate merges it" in how_applied(ApplyView(replace(HERE, merge_after=MergeMethod.MERGE)))[0]
