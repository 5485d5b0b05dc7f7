"""What is said to be done about a deployment that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, deployment_in
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.advice import advice, advice_on
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.states import presentation_of

FAILED = {
    State.PLAN_FAILED,
    State.APPLY_FAILED,
    State.ENGINE_FAULT,
    State.REVIEW_EXPIRED,
    State.GATE_EXPIRED,
}


@pytest.mark.parametrize("state", State)
def test_advice_is_given_where_a_deployment_failed_and_nowhere_else(state):
    assert bool(advice(state, "")) is (state in FAILED)


def test_what_policies_refuse_is_told_by_those_who_know_the_owners():
    assert advice(State.PLAN_FAILED, POLICIES_REFUSED) == ""


def test_the_check_is_named_as_it_is_seen_from_where_it_is_told():
    assert "re-run this check" in advice(State.APPLY_FAILED, "", "this check")
    assert "Re-run its check" in advice(State.ENGINE_FAULT, "")


def test_nothing_is_to_be_done_once_a_newer_revision_brought_it():
    failed = deployment_in(State.PLAN_FAILED)
    assert advice_on(failed) == advice(State.PLAN_FAILED, "")
    assert advice_on(replace(failed, lineage=replace(failed.lineage, contained_by="newer"))) == ""


HEAD = {"trigger": Trigger.MANUAL, "pull_request": 5}


@pytest.mark.parametrize("state", sorted(FAILED))
@pytest.mark.parametrize(("base", "command"), [("", "`tidegate deploy`"), ("b" * 40, "`tidegate apply`")])
def test_the_head_of_a_pull_request_is_deployed_again_by_its_command_only(state, base, command):
    told = advice_on(amended(deployment_in(state), base_sha=base, **HEAD), "this check")
    assert f"omment {command} again" in told
    assert "re-run" not in told.lower()
    assert "merge" not in told


@pytest.mark.parametrize("state", [State.REVIEW_EXPIRED, State.GATE_EXPIRED, State.CANCELLED])
def test_what_ended_without_an_apply_names_what_repeats_it(state):
    merged, head = deployment_in(state), amended(deployment_in(state), **HEAD)
    for one, expected in ((merged, "Re-run this check"), (head, "Comment `tidegate deploy` again")):
        assert expected in " ".join(presentation_of(one, View()).paragraphs)
    assert "Re-run" not in " ".join(presentation_of(head, View()).paragraphs)
