"""When members of a wave may begin their applies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW
from tidegate.changes.rules.wave import (
    Admission,
    Wave,
    WaveDecision,
    WaveFailure,
    WaveRules,
    admission,
    begun,
    continued,
    ended,
    released,
    stopped,
)

WAVE = Wave("change", "prod")
RULES = WaveRules(max_concurrent=2, stop_on_failures=2)
FULL = replace(WAVE, running=("a-1", "b-1"))
FAILED = replace(WAVE, failed=(WaveFailure("a", "a-1"), WaveFailure("b", "b-1")))
OPERATOR = WaveDecision("operator", NOW, "known")


def may(wave: Wave, rules: WaveRules = RULES, root: str = "c") -> Admission:
    return admission(rules, wave, root, f"{root}-1").admission


@pytest.mark.parametrize(
    ("rules", "any_"),
    [(WaveRules(), False), (WaveRules(max_concurrent=1), True), (WaveRules(stop_on_failures=1), True)],
)
def test_a_stack_without_rules_has_no_wave(rules, any_):
    assert rules.any is any_


@pytest.mark.parametrize(
    ("wave", "answer"),
    [
        (WAVE, Admission.BEGIN),
        (begun(WAVE, "a-1"), Admission.BEGIN),
        (FULL, Admission.WAIT),
        (released(FULL, "a-1"), Admission.BEGIN),
        (replace(WAVE, failed=FAILED.failed[:1]), Admission.BEGIN),
        (FAILED, Admission.FAILURES),
        (continued(FAILED, OPERATOR), Admission.BEGIN),
        (stopped(WAVE, OPERATOR), Admission.STOPPED),
        (stopped(continued(FAILED, OPERATOR), OPERATOR), Admission.STOPPED),
    ],
)
def test_a_member_begins_where_there_is_room_and_not_too_much_has_failed(wave, answer):
    verdict = admission(RULES, wave, "c", "c-1")
    assert verdict.admission is answer
    assert verdict.begins == (answer is Admission.BEGIN) == (not verdict.reason)


def test_who_has_a_place_keeps_it_unless_it_is_stopped_or_too_much_failed():
    assert may(FULL, root="a") is Admission.BEGIN
    assert may(replace(FAILED, running=("x-1",)), root="x") is Admission.FAILURES
    assert may(stopped(FULL, OPERATOR), root="a") is Admission.STOPPED


def test_what_failed_may_run_again_and_takes_its_place():
    assert may(FAILED, root="a") is Admission.BEGIN
    assert may(replace(FAILED, running=FULL.running), root="b2") is Admission.FAILURES
    assert admission(RULES, replace(FAILED, running=("x", "y")), "a", "a-2").admission is Admission.WAIT


def test_failures_after_a_person_continued_are_counted_anew():
    wave = continued(FAILED, OPERATOR)
    for root in "cd":
        assert may(wave, root="e") is Admission.BEGIN
        wave = ended(RULES, wave, root, f"{root}-1", is_done=False, has_failed=True)
    assert may(wave, root="e") is Admission.FAILURES


def test_a_failure_counts_until_its_root_is_done():
    other = ended(RULES, FAILED, "a", "a-2", is_done=False, has_failed=False)
    assert other == FAILED
    again = ended(RULES, FAILED, "a", "a-2", is_done=False, has_failed=True)
    assert {each.deployment for each in again.failed} == {"a-2", "b-1"}
    assert ended(RULES, again, "a", "a-3", is_done=True, has_failed=False).failed == (WaveFailure("b", "b-1"),)


def test_failures_are_written_down_only_where_they_count():
    rules = WaveRules(max_concurrent=2)
    assert ended(rules, FULL, "a", "a-1", is_done=False, has_failed=True) == replace(FULL, running=("b-1",))
    assert may(FAILED, rules) is Admission.BEGIN


def test_many_failures_are_counted_and_some_named():
    many = replace(WAVE, failed=tuple(WaveFailure(f"root-{each}", f"{each}") for each in range(9)))
    reason = admission(RULES, many, "c", "c-1").reason
    assert "9" in reason
    assert "root-0" in reason
    assert "root-8" not in reason
    one = replace(WAVE, failed=FAILED.failed[:1])
    assert "1 failure:" in admission(WaveRules(stop_on_failures=1), one, "c", "c-1").reason


def test_the_first_to_stop_it_counts():
    assert stopped(stopped(WAVE, OPERATOR), WaveDecision("another", NOW)).stopped == OPERATOR


def test_a_member_begins_once():
    assert begun(begun(WAVE, "a-1"), "a-1").running == ("a-1",)
