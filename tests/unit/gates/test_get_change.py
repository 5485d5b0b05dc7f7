"""Looking at a change: the newest deployment of each root in each stack, with a bounded number of reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployment, any_root, deployment_in
from tests.fakes.ports import memory_ports
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.summary import summary_of
from tidegate.gates.get_change import READ_AWAITED, SHOWN_MEMBERS, awaited_by, get_change, replaced_by, replacement_of
from tidegate.ports import Enrolled
from tidegate.rules.errors import NotFound

NOTHING_READ = memory_ports(change_sets=None, deployments=None)


@pytest.fixture
def ports():
    return memory_ports()


def change(ports, *deployments, missing=()):
    enrolled = [Enrolled(one.root.name, one.stack, one.id, one.request.at) for one in deployments]
    ports.change_sets.enroll("c-1", enrolled)
    for one in deployments:
        if one.id not in missing:
            ports.deployments.add(one)
    return deployments


def member(stack, number=1, state=State.QUEUED, **fields):
    one = deployment_in(state, number, stack=stack, change_set="c-1", **fields)
    return replace(one, id=f"{stack}-{number}", planned=replace(one.planned, plan=None))


def test_a_change_is_all_its_deployments(ports):
    dev, prod = change(ports, member("dev", state=State.APPLIED), member("prod", 2))
    view = get_change(ports, "c-1")
    assert set(view.deployments) == {dev, prod}
    assert (view.left_out, view.is_over) == (0, False)


def test_a_change_is_over_once_all_have_ended(ports):
    change(ports, member("dev", state=State.APPLIED), member("prod", 2, State.REJECTED))
    assert get_change(ports, "c-1").is_over


def test_what_is_enrolled_and_not_in_line_yet_is_left_out(ports):
    dev, prod = member("dev"), member("prod", 2)
    change(ports, dev, prod, missing={prod.id})
    assert get_change(ports, "c-1").deployments == (dev,)


def test_a_change_that_nobody_knows_is_not_found(ports):
    dev = member("dev")
    change(ports, dev, missing={dev.id})
    for name in ("c-1", "c-2"):
        with pytest.raises(NotFound):
            get_change(ports, name)


def test_a_change_with_more_members_than_are_shown_says_how_many_are_left_out(ports):
    members = [
        replace(any_deployment(root=any_root(name=f"r{number}")), id=f"d{number}")
        for number in range(SHOWN_MEMBERS + 5)
    ]
    change(ports, *members)
    view = get_change(ports, "c-1")
    assert (len(view.deployments), view.left_out) == (SHOWN_MEMBERS, 5)


def test_a_deployment_waits_for_those_of_the_stacks_before_it(ports):
    dev, prod, _ = change(
        ports, member("dev"), member("prod", 2, State.GATED, waits=Waits(plan_after=("dev",))), member("other", 3)
    )
    assert [one.deployment for one in awaited_by(ports, prod)] == [dev]
    assert awaited_by(ports, dev) == ()


def test_of_very_many_that_a_deployment_waits_for_not_all_are_read(ports):
    made = [member("dev", number, root=any_root(name=f"r{number:03}")) for number in range(READ_AWAITED + 5)]
    last = member("prod", 1000, State.GATED, waits=Waits(plan_after=("dev",)))
    change(ports, *made, last)
    assert len(awaited_by(ports, last)) == READ_AWAITED


def test_a_deployment_waits_for_roots_of_its_own_stack(ports):
    first = member("dev", root=any_root(name="vpc"))
    change(ports, first, member("dev", 2, State.GATED, waits=Waits(roots=("vpc",))))
    assert [one.deployment for one in awaited_by(ports, ports.deployments.get("dev-2"))] == [first]


@pytest.mark.parametrize("fields", [{"change_set": ""}, {"state": State.REJECTED}])
def test_what_is_alone_or_has_ended_waits_for_nothing_and_nothing_is_read(fields):
    one = amended(member("prod", 2, State.GATED, waits=Waits(plan_after=("dev",))), **fields)
    assert awaited_by(NOTHING_READ, one) == ()


def test_a_change_tells_what_was_deployed_in_the_place_of_its_members(ports):
    newer = amended(member("dev", 9, State.APPLIED), change_set="c-2")
    ports.deployments.add(newer)
    failed, _ = change(ports, member("dev", 1, State.PLAN_FAILED, contained_by=newer.id), member("prod", 2))
    assert get_change(ports, "c-1").replacements == {failed.id: newer}
    assert replacement_of(ports, failed) == newer
    assert replacement_of(ports, newer) is None


def test_of_a_list_it_is_told_what_a_newer_revision_replaced(ports):
    failed, rejected, going_on, _ = listed = change(
        ports,
        member("dev", 1, State.PLAN_FAILED, contained_by="dev-9"),
        member("dev", 2, State.REJECTED),
        member("dev", 3, State.PLANNING),
        member("dev", 9, State.APPLIED),
    )
    assert replaced_by(ports, map(summary_of, listed)) == {failed.id: failed}
    assert replaced_by(ports, [summary_of(rejected)]) == {}
    assert replaced_by(NOTHING_READ, [summary_of(going_on)]) == {}


def test_what_replaced_a_member_and_is_not_known_any_more_is_left_out(ports):
    (failed,) = change(ports, member("dev", 1, State.PLAN_FAILED, contained_by="forgotten"))
    assert get_change(ports, "c-1").replacements == {}
    assert replacement_of(ports, failed) is None
