"""The checker can fail: for each rule a recorded history that breaks it is found, and a good one is not."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import soak.cases
import soak.checker
import soak.gate_rules
import soak.history
import soak.modules
import soak.plan_rules
import soak.pull_rules
import soak.stacks
import soak.violation
from soak.checker import (
    RULES,
    check,
    decisions_are_audited,
    forced_off_is_not_applied,
    lock_is_respected,
    never_backwards,
)
from soak.gate_rules import gates_hold
from soak.history import Act, Commit, Effect, Push
from tests.soak.histories import (
    BESIDE,
    BROKEN,
    DEV_BROKEN,
    DEV_CORRECTED,
    DEV_FAILED,
    DEV_UNTOUCHED,
    EMPTY,
    FIRST,
    GOOD,
    PROMOTED,
    ROOT,
    SECOND,
    UNAPPROVED,
    UNKNOWN,
    by_two,
    ended,
    history,
    promoted,
    pulled,
    running,
    shown,
)


def test_a_history_that_keeps_the_rules_has_no_violation():
    assert check(GOOD) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found_when(name):
    rule, broken = BROKEN[name]
    found = {violation.rule for violation in check(broken)}
    assert any(one.startswith(rule) for one in found), f"{name}: {found or 'nothing'}"


def test_each_rule_has_a_history_that_breaks_it():
    broken = {rule.__name__ for rule in RULES for _, one in BROKEN.values() if list(rule(one))}
    assert broken == {rule.__name__ for rule in RULES}


def test_an_apply_that_could_not_be_audited_and_never_began_may_be_audited_as_failed():
    failed = replace(FIRST[0][1], state="FAILURE", event="d1-apply-1:FAILURE", started=None)
    told = history(
        audits=(failed, *SECOND[0]), checks=(shown(1, "failure"), shown(2)), effects=SECOND[1], states=SECOND[2]
    )
    assert check(told) == []


def test_an_apply_that_the_topic_heard_of_without_an_answer_and_that_never_began_may_have_no_end():
    checks = (replace(shown(1, "failure"), title="Internal error"), shown(2))
    told = history(audits=(FIRST[0][0], *SECOND[0]), checks=checks, effects=SECOND[1], states=SECOND[2])
    assert check(told) == []


def test_what_never_began_to_be_applied_is_no_revision_to_diverge_from():
    failed = replace(FIRST[0][1], state="FAILURE", event="d1-apply-1:FAILURE", started=None)
    beside = replace(SECOND[0][0], approved_by=None)
    told = history(commits=BESIDE, audits=(FIRST[0][0], failed, beside, SECOND[0][1]))
    assert list(never_backwards(replace(told, audits=(FIRST[0][0], beside))))
    assert not list(never_backwards(told))


def test_an_apply_whose_runner_was_silent_before_it_took_it_is_a_failure_that_timed_out():
    failed = replace(FIRST[0][1], state="FAILURE", event="d1-apply-1:FAILURE")
    checks = (replace(shown(1), conclusion="timed_out"), shown(2))
    audits = (FIRST[0][0], failed, *SECOND[0])
    rules = {each.rule for each in check(replace(GOOD, audits=audits, checks=checks))}
    assert "7 audited exactly once" not in rules


def test_a_revision_beside_the_last_that_had_nothing_to_change_carries_the_line_on():
    told = history(commits=BESIDE, audits=UNAPPROVED, checks=(*GOOD.checks, EMPTY))
    assert not list(never_backwards(told))


def test_a_change_that_goes_from_stack_to_stack_keeps_the_rules():
    assert check(PROMOTED) == []


def test_prod_may_be_applied_when_dev_had_nothing_to_change():
    assert check(DEV_UNTOUCHED) == []


def test_what_the_commit_does_not_change_is_not_waited_for():
    whole = PROMOTED.commits["c1"]
    later = replace(whole, sha="c2", parents=("c1",), marks={"dev-1": "d", "prod-1": "q"})
    again = {"root": "prod-1", "revision": "c2"}
    found = check(
        promoted(
            commits={"c1": whole, "c2": later},
            pushes=(*PROMOTED.pushes, Push(6.0, "c1", "c2")),
            checks=(PROMOTED.checks[0], replace(shown(2), root="prod-1", sha="c2")),
            audits=(*DEV_FAILED, running(2, 20, **again), ended(2, 22, **again)),
            effects=(PROMOTED.effects[0], replace(PROMOTED.effects[1], mark="q")),
            states=(PROMOTED.states[0], replace(PROMOTED.states[1], mark="q")),
        )
    )
    assert not [one for one in found if one.rule.startswith("gates")]


def test_what_is_deployed_by_hand_or_run_again_after_that_is_a_change_of_its_own():
    by_hand = tuple(replace(one, trigger="manual") for one in PROMOTED.audits[2:])
    again = tuple(replace(one, trigger="rerun") for one in PROMOTED.audits[2:])
    asked = Act(4.0, "reviewer", "Deploy", "prod-1", "")
    for audits in (by_hand, again):
        told = replace(DEV_BROKEN, audits=(*DEV_FAILED, *audits), acts=(*DEV_BROKEN.acts, asked))
        assert not [one for one in check(told) if one.rule.startswith("gates")]


def test_an_unlock_while_a_manual_deploy_waits_for_its_review_counts():
    by_hand = tuple(replace(one, trigger="manual") for one in FIRST[0])
    let_in, started = by_hand[0].started - 3.0, by_hand[0].started
    checks = tuple(replace(run, begun=let_in) if run.deployment == "d1" else run for run in GOOD.checks)
    unlocked = Act(started - 1.0, "reviewer", "Unlock", ROOT, "d1")
    told = history(audits=(*by_hand, *SECOND[0]), checks=checks, acts=(*GOOD.acts, unlocked))
    assert check(told) == []
    too_early = replace(unlocked, at=let_in - 1.0)
    assert [one.rule for one in check(replace(told, acts=(*GOOD.acts, too_early)))] == ["5 the lock holds"]


def test_an_unlock_by_somebody_who_may_lets_merges_go_on():
    unlocked = history(
        audits=(FIRST[0][0], UNKNOWN, *SECOND[0]),
        acts=(*GOOD.acts, Act(15.0, "reviewer", "Unlock", ROOT, "d1")),
        checks=(shown(1, "failure"), shown(2)),
    )
    assert check(unlocked) == []
    by_a_visitor = (*GOOD.acts, Act(15.0, "visitor", "Unlock", ROOT, "d1", allowed=False))
    assert [one.rule for one in check(replace(unlocked, acts=by_a_visitor))] == ["5 the lock holds"]


def test_a_revision_that_is_contained_in_a_later_one_that_ended_is_not_lost():
    assert check(history(checks=(shown(2),), audits=SECOND[0], effects=SECOND[1], states=SECOND[2])) == []


def test_an_engine_that_fails_at_once_and_is_tried_with_another_deployment_is_no_retry():
    again = (running(3, 30, revision="c1"), ended(3, 32, revision="c1"))
    failed = (FIRST[0][0], replace(FIRST[0][1], state="FAILURE", event="d1-apply-1:FAILURE"))
    found = check(
        history(
            pushes=GOOD.pushes[:1],
            checks=(shown(1, "failure"), replace(shown(3), sha="c1")),
            audits=(*failed, *again),
            acts=(GOOD.acts[0], Act(28.0, "reviewer", "Approve", ROOT, "d3")),
            effects=(*FIRST[1], Effect(ROOT, "m1", "begin", 30.5), Effect(ROOT, "m1", "end", 31.5)),
            states=FIRST[2],
        )
    )
    assert found == []


def test_the_checker_imports_nothing_of_the_product():
    for module in (
        soak.cases,
        soak.checker,
        soak.gate_rules,
        soak.history,
        soak.modules,
        soak.plan_rules,
        soak.pull_rules,
        soak.stacks,
        soak.violation,
    ):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
        imported |= {name.name for one in ast.walk(tree) if isinstance(one, ast.Import) for name in one.names}
        assert not [
            name
            for name in imported
            if name.partition(".")[0] in {"tidegate", "tidegate_local", "tidegate_cli", "runner"}
        ]


def test_two_others_may_approve_what_two_must():
    assert check(by_two("reviewer", "maintainer")) == []


def test_a_refused_pull_request_that_is_red_keeps_the_rules():
    assert check(pulled("tidegate/plan", "failure", denied=(ROOT,), broken=(ROOT,))) == []


def test_a_commit_that_is_put_back_while_it_begins_may_be_applied():
    away = (*GOOD.pushes, Push(15.0, "c2", "c3"), Push(21.0, "c3", "c2"))
    commits = {**GOOD.commits, "c3": Commit("c3", ("c1",), {ROOT: "m1"})}
    assert not list(forced_off_is_not_applied(history(commits=commits, pushes=away)))
    assert list(forced_off_is_not_applied(history(commits=commits, pushes=away[:-1])))


def test_tidegate_may_reject_a_commit_that_a_forced_push_took_away():
    commits = {**GOOD.commits, "c3": Commit("c3", ("c1",), {ROOT: "m1"})}
    rejected = ended(2, 20, state="REJECTED", approved_by=None, started=None)
    kept = history(audits=(*GOOD.audits[:2], rejected))
    away = replace(kept, commits=commits, pushes=(*GOOD.pushes, Push(15.0, "c2", "c3")))
    assert not list(decisions_are_audited(away))
    assert list(decisions_are_audited(kept))


def test_an_apply_that_never_began_neither_locks_nor_needs_an_unlock():
    unknown = ended(1, 12, state="UNKNOWN")
    never = replace(shown(2, "failure"), title="Internal error")
    told = history(audits=(GOOD.audits[0], unknown, GOOD.audits[2]), checks=(shown(1, "failure"), never))
    assert not list(lock_is_respected(told))
    assert list(lock_is_respected(replace(told, checks=(shown(1, "failure"), shown(2)))))


def test_a_commit_that_is_pushed_again_is_another_change():
    again = (*PROMOTED.pushes, Push(6.0, "c1", "c0"), Push(7.0, "c0", "c1"))
    commits = {**PROMOTED.commits, "c0": replace(PROMOTED.commits["c1"], sha="c0")}
    assert not list(gates_hold(replace(DEV_BROKEN, pushes=again, commits=commits)))


def test_what_a_newer_commit_corrected_before_is_done():
    assert not list(gates_hold(DEV_CORRECTED))
    assert list(gates_hold(DEV_BROKEN))
