"""What is said to be done about a deployment that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import deployment_in
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.advice import advice, advice_on

FAILED = {State.PLAN_FAILED, State.APPLY_FAILED, State.ENGINE_FAULT}


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
