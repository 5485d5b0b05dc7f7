"""The phases of a deployment, from its timeline."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW
from tidegate.deploys.rules.phases import Phase, PhaseKind, phases
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.timeline import Step


def after(seconds: int):
    return NOW + timedelta(seconds=seconds)


def took(kind: PhaseKind, seconds: int, **fields):
    return Phase(kind, timedelta(seconds=seconds), **fields)


def test_each_phase_took_from_its_step_to_the_next():
    steps = [Step(State.QUEUED, after(0)), Step(State.PLANNING, after(5)), Step(State.AWAITING_REVIEW, after(45))]
    steps += [Step(State.APPROVED, after(3645)), Step(State.APPLYING, after(3650)), Step(State.APPLIED, after(3700))]
    assert phases(steps, after(9999)) == (
        took(PhaseKind.QUEUE, 5),
        took(PhaseKind.PLAN, 40),
        took(PhaseKind.REVIEW, 3600),
        took(PhaseKind.APPLY, 55, ended=State.APPLIED),
    )


def test_what_goes_on_has_taken_its_time_so_far_and_a_second_plan_counts_with_the_first():
    steps = [Step(State.QUEUED, after(0)), Step(State.PLANNING, after(1)), Step(State.GATED, after(4))]
    steps.append(Step(State.PLANNING, after(10)))
    assert phases(steps, after(12)) == (
        took(PhaseKind.QUEUE, 1),
        took(PhaseKind.PLAN, 5, current=True),
        took(PhaseKind.GATE, 6),
    )


def test_a_failure_is_at_the_phase_that_failed():
    steps = [Step(State.QUEUED, after(0)), Step(State.PLANNING, after(1)), Step(State.PLAN_FAILED, after(4))]
    assert phases(steps, after(5))[-1] == took(PhaseKind.PLAN, 3, ended=State.PLAN_FAILED)
    assert phases([], NOW) == ()


@given(st.lists(st.tuples(st.sampled_from([each for each in State if not is_final(each)]), st.integers(0, 9999))))
def test_phases_take_all_the_time_since_the_request(walk):
    times = list(accumulate(seconds for _, seconds in walk))
    steps = [Step(state, after(at)) for (state, _), at in zip(walk, times, strict=True)]
    found = phases(steps, after(100_000 + sum(times)))
    total = sum((each.took for each in found), timedelta())
    assert total == (after(100_000 + sum(times)) - steps[0].at if steps else timedelta())
    assert sum(each.current for each in found) == bool(steps)
