"""Deployments that wait for each other over queues: one of each cycle is told, and nobody who can go on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, amended, any_root, deployment_in
from tests.chance import examples
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.gate import waits_for
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.wait_cycles import cycles
from tidegate.deploys.rules.waiting import AfterGate, Gate

LATE = utc("2026-03-02T20:00")
AFTER_DEV = Waits(apply_after=("dev",))


def member(identifier, root, stack, state=State.GATED, change="one", *, waits=AFTER_DEV, **fields):
    deployment = deployment_in(state, 1, root=any_root(name=root), stack=stack, change_set=change, waits=waits)
    gate = Gate("gate", NOW) if state in {State.GATED, State.BLOCKED} else None
    return amended(deployment, id=identifier, shared=True, **{"gate": gate, **fields})


def over_two_queues(**fields):
    """net (prod) of a merge waits for app (dev), behind one by hand, which waits for net (dev), behind the first."""
    by_hand = {"change": "two", "trigger": Trigger.MANUAL}
    return [
        member("net-prod", "net", "prod"),
        member("app-dev", "app", "dev", State.QUEUED),
        member("app-hand", "app", "dev", plan=None, waits=Waits(roots=("net",)), **{**by_hand, **fields}),
        member("net-hand", "net", "dev", State.QUEUED, waits=Waits(), **by_hand),
    ]


def test_the_one_by_hand_is_told_who_waits_for_whom_and_what_to_do():
    ((told, why),) = cycles(over_two_queues()).items()
    assert told == "app-hand"
    assert why == (
        "These deployments wait for each other (a deadlock): this deployment waits for net (dev), which is queued "
        "behind net (prod) of 0000000; that one waits for app (dev), which is queued behind this deployment. Reject "
        "this deployment or one of the others. You can deploy the rejected one again once the others are done."
    )


def test_of_merges_the_newest_is_told_and_who_was_told_before_stays_it():
    hand = {"trigger": Trigger.MERGE}
    assert list(cycles(over_two_queues(**hand, requested_at=LATE))) == ["app-hand"]
    assert list(cycles(over_two_queues(**hand, requested_at=utc("2025-01-01")))) == ["net-prod"]
    told = {"state": State.BLOCKED, "gate": Gate("gate", NOW, cycle="why")}
    assert list(cycles(over_two_queues(**hand, **told, requested_at=utc("2025-01-01")))) == ["app-hand"]


def test_whoever_can_be_answered_otherwise_is_in_no_cycle():
    for state in (State.AWAITING_REVIEW, State.APPLYING, State.BLOCKED):
        assert cycles(over_two_queues(state=state)) == {}
    assert cycles(over_two_queues(gate=Gate("gate", NOW, AfterGate.REJECTED))) == {}
    assert cycles(over_two_queues()[1:]) == {}
    assert cycles([]) == {}


def test_a_merge_behind_the_one_that_waits_for_it_is_a_cycle_and_a_re_run_goes_first():
    waiting, merge = member("prod", "net", "prod"), member("dev", "net", "dev", State.QUEUED)
    ((told, why),) = cycles([waiting, merge]).items()
    assert told == "prod"
    assert "waits for net (dev), which is queued behind this deployment." in why
    assert cycles([waiting, amended(merge, trigger=Trigger.RERUN)]) == {}


def test_of_a_long_cycle_not_all_is_told():
    known = []
    for number in range(7):
        other = (number + 1) % 7
        known.append(
            member(f"{number}", f"r{number}", "prod", change=f"c{number}", requested_at=NOW + timedelta(seconds=number))
        )
        known.append(member(f"{number} waits for", f"r{other}", "dev", State.QUEUED, f"c{number}"))
    ((told, why),) = cycles(known).items()
    assert told == "6"
    assert why.count("waits") == 5
    assert "waits for others, and so on; that one waits for r6 (dev), which is" in why


def one_of_many(each, number):
    """The same in changes and queues of their own."""
    waits = replace(each.change.waits, roots=tuple(f"{root}{number}" for root in each.change.waits.roots))
    own = {"id": f"{each.id} {number}", "change_set": f"{each.change.id} {number}", "waits": waits}
    return amended(each, root=any_root(name=f"{each.root.name}{number}"), **own)


def test_of_many_cycles_each_has_one_that_is_told():
    known = [one_of_many(each, number) for number in range(1000) for each in over_two_queues()]
    assert sorted(cycles(known)) == sorted(f"app-hand {number}" for number in range(1000))


def test_who_is_in_two_cycles_is_told_once_if_both_end_with_it():
    """The middle waits for two others, each of which waits for the middle's queue."""
    known = [
        member("middle", "m", "prod", change="middle", requested_at=LATE),
        member("a of middle", "a", "dev", State.QUEUED, "middle"),
        member("b of middle", "b", "dev", State.QUEUED, "middle"),
        member("a", "a", "prod", change="a"),
        member("m of a", "m", "dev", State.QUEUED, "a"),
        member("b", "b", "prod", change="b"),
        member("m of b", "m", "dev", State.QUEUED, "b"),
    ]
    assert list(cycles(known)) == ["middle"]
    assert sorted(cycles([amended(known[0], requested_at=utc("2025-01-01")), *known[1:]])) == ["a", "b"]


members = st.lists(
    st.builds(
        member,
        st.uuids().map(str),
        st.sampled_from("abcd"),
        st.sampled_from(["dev", "lab", "prod"]),
        st.sampled_from([State.GATED, State.QUEUED, State.QUEUED]),
        st.sampled_from(["one", "two", "three"]),
        waits=st.sampled_from([AFTER_DEV, Waits(apply_after=("lab",)), Waits(apply_after=("dev", "lab"))]),
        requested_at=st.sampled_from([NOW, LATE]),
    ),
    max_size=16,
)


@examples(300)
@given(members)
def test_without_those_who_are_told_nobody_waits_for_ever(known):
    in_flight = {each.queue: each for each in known if each.state is State.GATED}
    known = [each for each in known if each.state is State.QUEUED or each is in_flight[each.queue]]
    left = [each for each in in_flight.values() if each.id not in cycles(known)]
    while left:
        free = [each for each in left if not _held_up_by(each, known) & {other.queue for other in left}]
        assert free, "a cycle is left"
        left = [each for each in left if each not in free]


def _held_up_by(waiting, known):
    queued = [each for each in known if each.state is State.QUEUED and each.change.id == waiting.change.id]
    return {each.queue for each in queued if waits_for(waiting, each.root.name, each.stack)}
