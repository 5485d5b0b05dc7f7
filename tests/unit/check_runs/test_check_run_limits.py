"""Check runs stay within the forge's limits, whatever the engine printed and whatever things are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.builders import NOW, any_lock, any_plan, any_review, any_revision, any_root, deployment_in
from tests.chance import examples
from tests.unit.check_runs.rendered import everything, shown
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval
from tidegate.deploys.texts.presentation import Mark, PendingDependency, QueuePosition, View, WaitedFor
from tidegate.deploys.texts.text import render
from tidegate.plans.rules.cost import KEPT, PlanCost, ResourceCost
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.rules.access import Access
from tidegate.vcs.rules.check_run import MAXIMUM_ACTIONS, MAXIMUM_TEXT, MAXIMUM_TITLE


def test_a_long_plan_loses_its_middle_and_says_how_much_and_where_the_whole_is():
    plan = "first line\n" + "".join(f"  + line {number}\n" for number in range(20_000)) + "Plan: 1 to add"
    text = shown(State.AWAITING_REVIEW, View(plan_text=plan, plan_size=len(plan), bucket="b")).text
    assert "first line" in text
    assert "Plan: 1 to add" in text
    assert "bytes omitted …" in text
    assert "The full plan is in `s3://b/plans/network-plan-1/plan.txt`" in text
    assert MAXIMUM_TEXT - 1000 < len(text.encode()) <= MAXIMUM_TEXT


def test_a_plan_that_grows_when_it_is_made_harmless_still_fits():
    plan = "```\n" * 16_000
    text = shown(State.AWAITING_REVIEW, View(plan_text=plan, plan_size=len(plan))).text
    assert len(text.encode()) <= MAXIMUM_TEXT
    assert len([token for token in MarkdownIt().parse(text) if token.type == "fence"]) == 1


def test_a_plan_of_which_only_the_start_was_read_says_how_much_is_missing():
    text = shown(State.AWAITING_REVIEW, View(plan_text="start\n", plan_size=20_000_000)).text
    assert "start" in text
    assert "19,999,99" in text


def test_last_lines_that_are_too_long_lose_their_middle():
    lines = "line\n" * 5_000
    text = shown(State.APPLY_FAILED, last_lines=f"begin\n{lines}middle\n{lines}the end", plan=None).text
    assert "begin" in text
    assert "the end" in text
    assert "middle" not in text
    assert "bytes omitted …" in text


HOSTILE = st.text(st.one_of(st.sampled_from("`\n~+-<>@|\x1b é漢😀"), st.characters(codec="utf-8")), max_size=300)


@examples(60)
@given(
    state=st.sampled_from(list(State)),
    plan=HOSTILE,
    times=st.sampled_from([1, 50, 2000]),
    more=st.sampled_from([0, 1, 10**9]),
    reason=HOSTILE,
    last_lines=HOSTILE,
    address=HOSTILE,
    notice=HOSTILE,
    name=HOSTILE,
)
def test_whatever_is_printed_the_check_run_fits_and_stays_in_its_fences(
    state, plan, times, more, reason, last_lines, address, notice, name
):
    changes = PlannedChanges(destroy=60, replace=60, destroyed=(address,) * 50, replaced=(address * 20,) * 50)
    cost = PlanCost("USD", 1, 1, (ResourceCost(address * 20, 10**14),) * KEPT, 1, 1, reason if more else "")
    deployment = deployment_in(
        state,
        reason=reason * times,
        last_lines=(last_lines * times)[:12_000],
        must_review=reason or None,
        plan=any_plan(changes=changes, cost=cost),
        root=any_root(name=name * 20, dir="r" * 1024, workspace=name),
        revision=any_revision(branch=name * 100),
        requested_by=name,
        error=name,
        authors=tuple(f"{name}{number}" for number in range(50)),
        review_rule=ReviewRule(approvals=60, exclude_authors=True),
        review=any_review(approvals=tuple(Approval(f"{name * 5}{number}", NOW) for number in range(50))),
        unlocked=Unlocking(name * 9, NOW),
        stack=name * 9,
        shared=True,
        why=reason,
        waits=Waits((name,) * 500, (), (name * 9,) * 500),
        access=Access(review=(name,) * 500, apply=()),
    )
    text = plan * times
    view = View(
        place=QueuePosition(2, NOW, Mark(name * 9), False, Mark("", name)),
        plan_text=text,
        plan_size=len(text.encode()) + more,
        notice=notice,
        lock=any_lock(reason=reason, by=name),
        locks=True,
        repeats=Mark(name),
        repeated_by=Mark(name),
        supersedes=Mark(name),
        superseded_by=Mark(name),
        waited_for=WaitedFor(
            tuple(PendingDependency(name * 99, name * 99, each, NOW, "https://web.example/") for each in State)
        ),
        log_url="https://web.example/" + "j" * 1000,
        plan_url="https://web.example/" + "p" * 1000,
    )
    check_run = render(deployment, view)
    assert len(check_run.summary.encode()) <= MAXIMUM_TEXT
    assert len(check_run.text.encode()) <= MAXIMUM_TEXT
    assert len(check_run.title) <= MAXIMUM_TITLE
    assert len(check_run.actions) <= MAXIMUM_ACTIONS
    tokens = [token.type for token in MarkdownIt().parse(check_run.text)]
    assert tokens.count("fence") == bool(last_lines) + bool(text)
    assert tokens.count("html_block") in ({0, 2} if state is State.AWAITING_REVIEW else {2 if text else 0})
    assert everything(check_run).encode()


@pytest.mark.parametrize("state", State)
def test_buttons_fit_the_forges_limits(state):
    for action in shown(state, View(locks=True)).actions:
        assert len(action.button.value) <= 20
        assert len(action.description) <= 40
