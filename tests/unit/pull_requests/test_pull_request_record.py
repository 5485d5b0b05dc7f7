"""The conditions of a pull request, and the state that follows from them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, any_layer, any_pull_request, any_pull_request_record, seen, sha
from tests.instants import utc
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.rules.record import (
    Condition,
    ConditionType,
    PullRequestState,
    Status,
    conditions,
    followed,
    judged,
    restarted,
    state,
)

LATER = utc("2026-03-02T08:15")
REVISION = any_pull_request().revision
DONE = [each for each in LayerState if each not in {LayerState.WAITING, LayerState.PLANNING}]


def with_statuses(*statuses):
    """Return the three conditions, in their order, with these statuses."""
    return tuple(Condition(kind, status, "Any", "", NOW) for kind, status in zip(ConditionType, statuses, strict=True))


@pytest.mark.parametrize(("discovered", "planning", "commented"), list(product(Status, repeat=3)))
def test_the_state_follows_from_any_three_statuses(discovered, planning, commented):
    if discovered is not Status.TRUE:
        expected = PullRequestState.DISCOVERY_NEEDED
    elif commented is not Status.FALSE:
        expected = PullRequestState.IDLE
    else:
        done = planning is Status.FALSE
        expected = PullRequestState.COMMENT_NEEDED if done else PullRequestState.PLANNING
    assert state(with_statuses(discovered, planning, commented)) is expected


def test_without_conditions_everything_is_still_to_be_found_out():
    assert state(()) is PullRequestState.DISCOVERY_NEEDED


#: The table of the states: what is discovered, commented, the states of the layers → the three statuses, the state.
STORIES = {
    "new": ("", "", [], "False Unknown Unknown", PullRequestState.DISCOVERY_NEEDED),
    "newer commit": ("older", "older", [LayerState.PLANNED], "False True True", PullRequestState.DISCOVERY_NEEDED),
    "newer commit, old comment due": (
        "older",
        "",
        [LayerState.PLANNED],
        "False True False",
        PullRequestState.DISCOVERY_NEEDED,
    ),
    "There are no roots to plan": (REVISION, "", [], "True False False", PullRequestState.COMMENT_NEEDED),
    "waiting": (REVISION, "", [LayerState.WAITING], "True True False", PullRequestState.PLANNING),
    "one of two": (
        REVISION,
        "older",
        [LayerState.PLANNED, LayerState.PLANNING],
        "True True False",
        PullRequestState.PLANNING,
    ),
    "all failed": (REVISION, "", [LayerState.FAILED] * 2, "True False False", PullRequestState.COMMENT_NEEDED),
    "shown": (REVISION, REVISION, [LayerState.PLANNED], "True False True", PullRequestState.IDLE),
    "shown and run again": (REVISION, REVISION, [LayerState.PLANNING], "True True True", PullRequestState.IDLE),
}


@pytest.mark.parametrize("story", STORIES)
def test_conditions_tell_what_became_of_the_newest_commit(story):
    discovered, commented, states, statuses, expected = STORIES[story]
    layers = [any_layer(f"root-{number}", state=each) for number, each in enumerate(states)]
    ids = tuple(layer.id for layer in layers)
    record = judged(any_pull_request_record(discovered=discovered, commented=commented, layers=ids), layers, NOW)
    assert " ".join(each.status for each in record.conditions) == statuses
    assert [each.type for each in record.conditions] == list(ConditionType)
    assert record.state is expected


@pytest.mark.parametrize("each", list(LayerState))
def test_a_layer_that_has_ended_is_waited_for_no_more(each):
    layer = any_layer(state=each)
    record = any_pull_request_record(discovered=REVISION, layers=(layer.id,))
    _, planning, _ = conditions(record, [layer], NOW)
    assert planning.status is (Status.FALSE if each in DONE else Status.TRUE)
    assert planning.message == f"Ended speculative plans: {int(each in DONE)} of 1."


def test_a_layer_that_is_gone_has_not_ended_and_one_of_another_commit_does_not_count():
    other = any_layer("other", state=LayerState.PLANNED)
    record = any_pull_request_record(discovered=REVISION, layers=(any_layer().id,))
    _, planning, _ = conditions(record, [other], NOW)
    assert (planning.status, planning.message) == (Status.TRUE, "Ended speculative plans: 0 of 1.")


def test_the_time_of_a_condition_is_that_of_its_status_and_not_of_its_words():
    layers = [any_layer("a", state=LayerState.PLANNED), any_layer("b", state=LayerState.PLANNING)]
    record = any_pull_request_record(discovered=REVISION, layers=tuple(layer.id for layer in layers))
    one = judged(record, layers[1:], NOW)
    two = judged(one, layers, LATER)
    assert [each.since for each in two.conditions] == [NOW] * 3
    assert two.conditions[1].message != one.conditions[1].message
    three = judged(two, [layers[0], replace(layers[1], state=LayerState.FAILED)], LATER)
    assert [each.since for each in three.conditions] == [NOW, LATER, NOW]


@given(
    st.sampled_from(["", "older", REVISION]),
    st.sampled_from(["", "older", REVISION]),
    st.lists(st.sampled_from(LayerState), max_size=4),
    st.booleans(),
)
def test_whatever_is_known_there_are_three_conditions_in_kubernetes_form(discovered, commented, states, all_there):
    layers = [any_layer(f"root-{number}", state=each) for number, each in enumerate(states)]
    ids = tuple(layer.id for layer in layers)
    record = any_pull_request_record(discovered=discovered, commented=commented, layers=ids)
    found = conditions(record, layers if all_there else layers[1:], NOW)
    assert [each.type for each in found] == list(ConditionType)
    assert all(each.reason.isalpha() and each.reason[0].isupper() and each.message for each in found)
    assert conditions(replace(record, conditions=found), layers if all_there else layers[1:], LATER) == found


def test_an_execution_is_of_one_attempt_at_one_revision_of_one_pull_request():
    record = any_pull_request_record()
    others = [
        replace(record, attempt=2),
        replace(record, spec=replace(record.spec, base_sha=sha(9))),
        replace(record, spec=replace(record.spec, head_sha=sha(9))),
        replace(record, spec=replace(record.spec, number=6)),
        replace(record, spec=replace(record.spec, repository="acme/other")),
    ]
    names = {each.execution for each in [record, *others]}
    assert len(names) == 6
    assert all(len(name) <= 80 and name.replace("-", "").isalnum() for name in names)
    long = replace(record, spec=replace(record.spec, repository=f"{'o' * 39}/{'r' * 100}", number=10**9))
    assert len(long.execution) <= 80


def test_an_execution_that_ended_without_a_result_gives_way_to_another_once():
    record = judged(any_pull_request_record(discovered=REVISION), (), NOW)
    again = judged(restarted(record), (), NOW)
    assert (again.restarted, again.state) == (True, PullRequestState.DISCOVERY_NEEDED)
    assert again.execution != record.execution
    newer = replace(any_pull_request(), head_sha=sha(9))
    assert not followed(again, seen(newer), newer.base_sha, LATER).restarted


def test_it_is_known_since_when_a_pull_request_goes_to_another_base_branch():
    record = any_pull_request_record()
    same = followed(record, seen(replace(record.spec, head_sha=sha(9))), record.spec.base_sha, NOW)
    assert same.spec.base_since is None
    moved = followed(same, seen(replace(record.spec, base="release")), record.spec.base_sha, NOW)
    assert (moved.spec.base, moved.spec.base_since) == ("release", NOW)
    later = followed(moved, seen(replace(record.spec, base="release", head_sha=sha(9))), sha(8), LATER)
    assert later.spec.base_since == NOW
    back = followed(later, seen(record.spec), sha(8), LATER)
    assert back.spec.base_since == LATER


@pytest.mark.parametrize(("skipped", "is_draft"), list(product((False, True), repeat=2)))
def test_what_is_seen_again_is_worked_on_again_only_if_it_was_a_draft_that_nobody_planned(skipped, is_draft):
    record = any_pull_request_record(discovered=REVISION, skipped=skipped)
    again = followed(record, seen(replace(record.spec, is_draft=is_draft)), record.spec.base_sha, LATER)
    ready = skipped and not is_draft
    assert (again.attempt - record.attempt, again.discovered) == ((1, "") if ready else (0, REVISION))


def test_another_commit_takes_it_out_of_the_merge_queue_and_the_same_one_does_not():
    record = any_pull_request_record(queued=sha(7))
    assert followed(record, seen(record.spec), record.spec.base_sha, LATER).queued == sha(7)
    assert followed(record, seen(replace(record.spec, head_sha=sha(9))), record.spec.base_sha, LATER).queued == ""


def test_the_plans_of_the_commit_before_are_known_until_it_comes_back():
    record = any_pull_request_record(discovered=REVISION, commented=REVISION)
    newer = followed(record, seen(replace(record.spec, head_sha=sha(9))), record.spec.base_sha, LATER)
    assert (newer.attempt, newer.discovered, newer.commented) == (record.attempt + 1, REVISION, REVISION)
    back = followed(newer, seen(record.spec), record.spec.base_sha, LATER)
    assert (back.attempt, back.discovered, back.commented) == (newer.attempt + 1, "", "")


def test_what_is_opened_again_is_open_and_planned_anew():
    closed = any_pull_request_record(discovered=REVISION, closed_at=NOW, merged=True, merge_sha=sha(7))
    opened = followed(closed, seen(closed.spec), closed.spec.base_sha, LATER)
    assert (opened.is_open, opened.merged, opened.merge_sha, opened.discovered) == (True, False, "", "")


def test_a_record_is_open_until_it_is_closed():
    assert any_pull_request_record().is_open
    assert not any_pull_request_record(closed_at=NOW).is_open
