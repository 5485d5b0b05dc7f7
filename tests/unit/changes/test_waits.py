"""What the members of one change wait for, found at once: the same as is found for each by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, amended, any_root, deployment_in
from tests.chance import examples
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.dependencies import DependencyInChange
from tidegate.deploys.rules.gate import Opening, dependency, evaluate_gate, looked_at, lost, point_of, waits_for
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import Gate

LATE = utc("2026-03-02T20:00")
STACKS, ROOTS = ("dev", "prod", "lab"), ("a", "b", "c")
STATES = (State.QUEUED, State.GATED, State.BLOCKED, State.APPLIED, State.NO_CHANGES, State.REJECTED)


def member(root, stack, state=State.GATED, waits=Waits(), at=NOW):  # noqa: B008
    deployment = deployment_in(state, 1, root=any_root(name=root), stack=stack, waits=waits, gate=Gate("gate", NOW))
    return replace(deployment, history=(Step(State.PLANNING, NOW), Step(state, at)))


some = st.lists(st.sampled_from(STACKS), max_size=2, unique=True).map(tuple)
members = st.dictionaries(
    st.tuples(st.sampled_from(ROOTS), st.sampled_from(STACKS)),
    st.none()
    | st.builds(
        lambda state, roots, plan, apply, at: (state, Waits(roots, plan, apply), at),
        st.sampled_from(STATES),
        st.lists(st.sampled_from(ROOTS), max_size=3, unique=True).map(tuple),
        some,
        some,
        st.sampled_from((NOW, LATE)),
    ),
    min_size=1,
)


@examples(200)
@given(members)
def test_each_is_judged_as_by_itself(drawn):
    known = {key: each and member(*key, *each) for key, each in drawn.items()}
    awaited = DependencyInChange(known)
    for deployment in filter(None, known.values()):
        alone = [dependency(*key, other) for key, other in known.items() if waits_for(deployment, *key)]
        alone += lost(deployment, known.keys())
        assert sorted(awaited.by(deployment).all, key=str) == sorted(alone, key=str)
        verdict = evaluate_gate(deployment, awaited.by(deployment), point_of(deployment))
        assert verdict == evaluate_gate(deployment, alone, point_of(deployment))


def test_what_stands_in_line_behind_one_that_waits_for_it_is_found():
    waiting = member("a", "prod", waits=Waits(apply_after=("dev",)))
    queued = amended(member("a", "dev", State.QUEUED), trigger=Trigger.RERUN)
    awaited = DependencyInChange({("a", "prod"): waiting, ("a", "dev"): queued, ("b", "dev"): None})
    assert awaited.behind(waiting) == queued
    assert awaited.behind(member("b", "prod", waits=waiting.change.waits)) is None


@pytest.mark.parametrize(
    ("state", "opening"),
    [(State.QUEUED, Opening.WAIT), (State.REJECTED, Opening.BLOCKED), (State.APPLIED, Opening.OPEN)],
)
def test_what_hundreds_wait_for_is_gathered_and_judged_once(state, opening):
    dev = {(f"r{number}", "dev"): member(f"r{number}", "dev", state) for number in range(500)}
    prod = {
        (f"r{number}", "prod"): member(f"r{number}", "prod", waits=Waits(plan_after=("dev",))) for number in range(500)
    }
    awaited = DependencyInChange({**dev, **prod})
    found = [awaited.by(each) for each in prod.values()]
    assert len({id(each) for each in found}) == 1
    assert looked_at(next(iter(prod.values())), found[0], LATE).reason
    assert evaluate_gate(next(iter(prod.values())), found[0], point_of(next(iter(prod.values())))).opening is opening
    assert found[0].shut is found[0].shut
