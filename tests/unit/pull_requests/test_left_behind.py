"""What a pull request says of roots that it takes away: how much stays behind, and what destroys it."""

from __future__ import annotations

import pytest

from tests.builders import any_layer, any_plan, any_pull_request_record
from tests.pull_request_layers import comment_of, planned
from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.checks import render_layer, render_whole
from tidegate.pull_requests.rules.comment import render_comment
from tidegate.pull_requests.rules.remarks import left_behind
from tidegate.pull_requests.rules.tally import tally
from tidegate.vcs.rules.check_run import Conclusion

REVISION = any_pull_request_record().spec.revision


def gone(root="network", resources=12, **fields):
    plan = None if resources is None else any_plan(changes=PlannedChanges(change=1, resources=resources))
    state = {"state": LayerState.NO_CHANGES, "plan": plan, "gone": True, "is_extra": True}
    return LayerView(any_layer(root, **{**state, **fields}))


def whole(*views):
    record = any_pull_request_record(discovered=REVISION, layers=tuple(each.layer.id for each in views))
    return render_whole(record, views, "https://forge.example/pull/5")


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        (12, "12 resources remain"),
        (1, "1 resource remains"),
        (0, "no resources remain"),
        (None, "the number of resources that remain"),
    ],
)
def test_a_root_that_is_gone_says_how_many_resources_stay_behind(resources, told):
    assert told in stays(gone(resources=resources).layer.left)


def test_the_check_of_such_a_root_says_what_stays_and_what_destroys_it():
    found = render_layer(gone(why="It is taken away."))
    assert (found.title, found.conclusion) == ("gone: 12 resources remain", Conclusion.NEUTRAL)
    assert "tidegate destroy -p network" in found.summary
    assert "It is taken away" in found.summary
    assert render_layer(gone(resources=0)).conclusion is Conclusion.SUCCESS
    assert "tidegate destroy" not in render_layer(gone(resources=0)).summary


def test_the_whole_passes_and_says_so_too():
    found = whole(gone("a"), gone("b", None, reason="No credentials.\nMore."), gone("c", 0))
    assert found.conclusion is Conclusion.SUCCESS
    assert found.title == "3 gone (12 resources stay)"
    for told in ("12 resources remain", "the number of resources that remain", "No credentials", "destroy: true"):
        assert told in found.summary


def test_the_comment_names_what_is_gone_apart_from_what_is_unchanged_or_deployed():
    text = render_comment(comment_of(planned("a"), gone("b")))
    assert "1 with changes (1 to change), 1 gone (12 resources stay)" in text
    assert "> * `b`: 12 resources remain." in text
    assert "`b`: the merge removes the root" in text
    assert "Unchanged" not in text
    assert "planned on request. The merge does" not in text


@pytest.mark.parametrize(("resources", "asked"), [(12, True), (None, True), (0, False)])
def test_what_stays_behind_is_decided_about_before_the_merge(resources, asked):
    for views in ([gone(resources=resources)], [planned("a"), gone("b", resources=resources)]):
        text = render_comment(comment_of(*views))
        assert ("Decide whether to keep the resources" in text) is asked
        assert ("You can merge" in text) is (not asked and not views[1:])


def test_what_is_planned_still_is_not_told_to_be_gone():
    layers = [gone(state=LayerState.PLANNING, plan=None).layer]
    assert (left_behind(layers, 5_000), tally(layers).gone, layers[0].left) == ("", 0, None)


def test_of_many_roots_so_many_are_named():
    text = left_behind([gone(f"root-{number}").layer for number in range(200)], 3_000)
    assert len(text.encode()) < 4_000
    assert "more." in text


def test_what_the_file_destroys_is_told_among_what_the_merge_does():
    text = render_comment(comment_of(planned("a", destroy=True)))
    assert "`a`: Tidegate destroys all of its resources" in text
