"""What counts as a case of a rule: the situation in which a broken product would have been seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soak.cases import cases
from soak.history import Act, Commit, Push, Runner
from soak.violation import OUTAGES
from tests.soak.histories import (
    DIVERGED,
    FIRST,
    GOOD,
    PLAN,
    PROMOTED,
    ROOT,
    SECOND,
    UNKNOWN,
    by_two,
    history,
    pulled,
    with_second,
)

ON_LAMBDA = Runner(PLAN, "lambda", 7.0)
#: What is counted → a history with one such case.
ONE = {
    "an apply had to wait for another one of its root": GOOD,
    "a change reached an idle queue": history(
        checks=tuple(replace(run, begun=at, ended=at + 1.0) for run, at in zip(GOOD.checks, (5.5, 7.5), strict=True)),
        pushes=(GOOD.pushes[0], replace(GOOD.pushes[1], at=7.0)),
    ),
    "a deployment was behind or diverged from the applied revision": history(
        commits=DIVERGED, checks=(GOOD.checks[0], replace(GOOD.checks[1], begun=15.0))
    ),
    "a force push removed a revision in progress": history(
        commits={**GOOD.commits, "c3": Commit("c3", ("c1",), {ROOT: "m1"})},
        pushes=(*GOOD.pushes, Push(15.0, "c2", "c3")),
        checks=(GOOD.checks[0], replace(GOOD.checks[1], begun=10.0, ended=20.0)),
    ),
    "the outcome of an apply was unknown": history(audits=(FIRST[0][0], UNKNOWN)),
    "a merge had to wait for an unlock after that": history(audits=(FIRST[0][0], UNKNOWN, *SECOND[0])),
    "a plan that needs two approvals was applied": by_two("reviewer", "maintainer"),
    "somebody without permission approved": history(acts=(Act(1.0, "visitor", "Approve", ROOT, "d1", allowed=False),)),
    "a merge could not be planned": history(commits=with_second(broken=(ROOT,))),
    "a pull request could not be planned, or was refused by a policy": pulled("tidegate/plan", denied=(ROOT,)),
    "an apply depended on others of its change": PROMOTED,
    "an apply tried to start while the audit topic was down": history(struck={OUTAGES: 1}),
    "Lambda was invoked several times for a job": history(runners=(ON_LAMBDA, ON_LAMBDA)),
    "a plan started on Lambda": history(runners=(ON_LAMBDA,)),
    "a plan on Lambda was lost with its function": history(runners=(replace(ON_LAMBDA, error="Unhandled"),)),
    "a plan moved from Lambda to Fargate": history(runners=(ON_LAMBDA, Runner("d1-plan-2", "fargate", 8.0))),
    "the clock jumped": history(struck={"clock jumps": 1}),
}


@pytest.mark.parametrize("what", ONE)
def test_a_case_is_counted_when(what):
    assert [case.count for case in cases([ONE[what]], "lambda") if case.what == what] == [1]


def test_cases_of_lambda_are_asked_for_where_plans_begin_on_it():
    assert not [case for case in cases([GOOD], "fargate") if "Lambda" in case.what]
    assert {case.rule for case in cases([GOOD], "auto") if "Lambda" in case.what} == {"1", "2"}


def test_a_plan_that_fargate_had_before_did_not_move_from_lambda():
    told = history(runners=(Runner(PLAN, "fargate", 6.0), ON_LAMBDA))
    assert [case.count for case in cases([told], "lambda") if "moved from Lambda" in case.what] == [0]


def test_a_history_in_which_nothing_happens_has_no_case_of_any_rule():
    empty = replace(GOOD, pushes=(), checks=(), acts=(), audits=(), effects=(), states=())
    assert {case.rule for case in cases([empty])} >= set("12345679")
    assert not any(case.count for case in cases([empty]))


def test_cases_of_several_repositories_add_up_and_troubles_that_strike_all_count_once():
    counted = {case.what: case.count for case in cases([replace(GOOD, struck={"clock jumps": 1})] * 2)}
    assert counted["an apply was audited"] == 2 * len(GOOD.pushes)
    assert counted["the clock jumped"] == 1
