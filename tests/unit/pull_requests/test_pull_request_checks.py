"""The check runs of a pull request: what each says, how it ends, and that it fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_layer, any_pull_request_record
from tests.chance import examples
from tests.pull_request_layers import PLAN, failed, planned, unchanged
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.cost import PlanCost, ResourceCost
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, RuleChanges, Severity
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.checks import render_layer, render_stopped, render_whole, verdict_kind
from tidegate.pull_requests.rules.record import VerdictKind
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT, MAXIMUM_TITLE, Conclusion, Level

CHECKS = "https://forge.example/pull/5/checks"
REVISION = any_pull_request_record().spec.revision


def record_of(*views, **fields):
    found = any_pull_request_record(discovered=REVISION, layers=tuple(each.layer.id for each in views))
    return replace(found, **fields)


def whole(*views, blocking=(), fault="", **fields):
    return render_whole(record_of(*views, **fields), views, CHECKS, blocking, fault)


def in_state(root, state, **fields):
    return LayerView(any_layer(root, state=state, **fields))


def test_before_anything_is_known_it_says_that_planning_begins():
    found = whole(discovered="")
    assert (found.name, found.status, found.title) == ("tidegate/plan", "in_progress", "Planning starts")
    assert found.external_id == any_pull_request_record().execution


def test_while_layers_are_planned_it_counts_and_links_their_logs():
    running = replace(in_state("db", LayerState.PLANNING), log_url="https://tidegate.example/jobs/db")
    found = whole(planned("app"), running, in_state("logs", LayerState.WAITING))
    assert (found.status, found.title, found.conclusion) == ("in_progress", "Planning… 1 of 3 done", None)
    assert "| `db` | is being planned | [Log](https://tidegate.example/jobs/db) |" in found.summary


def test_once_all_have_ended_it_says_the_counts():
    found = whole(planned("app", changes=PlannedChanges(add=2, destroy=1, destroyed=("a.b",))), unchanged("db"))
    assert (found.status, found.conclusion) == ("completed", Conclusion.SUCCESS)
    assert found.title == "1 with changes (2 to add, 1 to destroy), 1 unchanged"
    assert "This destroys 1 resource" in found.summary


@pytest.mark.parametrize(
    "view",
    [failed("db"), in_state("db", LayerState.REFUSED), in_state("db", LayerState.CANCELLED)],
    ids=["failed", "refused", "cancelled"],
)
def test_it_fails_when_one_has_no_plan(view):
    assert whole(planned("app"), view).conclusion is Conclusion.FAILURE


@pytest.mark.parametrize(
    ("sets", "words"), [(["cost"], "policy set `cost`"), (["cost", "sre"], "policy sets `cost` and `sre`")]
)
def test_it_fails_as_long_as_a_policy_set_holds_it_up(sets, words):
    found = whole(planned(), blocking=sets)
    assert found.conclusion is Conclusion.FAILURE
    assert "blocked by" in found.title
    assert f"Blocked by {words}." in found.summary


def test_without_roots_it_is_green():
    found = whole()
    assert (found.conclusion, found.title) == (Conclusion.SUCCESS, "No root would change")


@pytest.mark.parametrize(
    ("fields", "conclusion"),
    [
        ({"skipped": True}, Conclusion.NEUTRAL),
        ({"skipped": True, "guarded": True}, Conclusion.ACTION_REQUIRED),
        ({}, Conclusion.FAILURE),
    ],
)
def test_what_is_not_planned_says_why(fields, conclusion):
    found = whole(notice="It is <b>.", **fields)
    assert (found.title, found.conclusion) == ("Not planned", conclusion)
    assert "&lt;b&gt;" in found.summary


def test_a_fork_is_neutral_unless_policy_sets_would_judge_it():
    spec = replace(any_pull_request_record().spec, from_fork=True)
    assert whole(notice="It comes from a fork.", spec=spec).conclusion is Conclusion.NEUTRAL
    assert whole(notice="It comes from a fork.", spec=spec, guarded=True).conclusion is Conclusion.ACTION_REQUIRED


@pytest.mark.parametrize("views", [(), (planned(),)])
def test_a_fault_of_tidegate_is_said_with_what_is_known(views):
    found = whole(*views, fault="It ran out of memory.")
    assert (found.title, found.conclusion) == ("Internal error", Conclusion.FAILURE)
    assert ("| `network` |" in found.summary) is bool(views)


def test_what_is_overtaken_says_by_what():
    found = render_stopped(any_pull_request_record(), "Superseded by abc1234.", CHECKS)
    assert (found.title, found.conclusion) == ("Superseded by abc1234.", Conclusion.CANCELLED)


@pytest.mark.parametrize(
    ("view", "title", "conclusion"),
    [
        (planned(), "1 to change", Conclusion.SUCCESS),
        (in_state("network", LayerState.PLANNED), "Planned", Conclusion.SUCCESS),
        (unchanged(), "Nothing to change", Conclusion.SUCCESS),
        (failed(), "The plan failed", Conclusion.FAILURE),
        (in_state("network", LayerState.REFUSED), "Not planned: it was refused", Conclusion.FAILURE),
        (failed(conflict=True), "Not planned: merge conflict", Conclusion.FAILURE),
    ],
)
def test_each_layer_says_how_it_ended(view, title, conclusion):
    found = render_layer(view)
    assert (found.name, found.status) == ("tidegate/plan: network", "completed")
    assert (found.title, found.conclusion, found.external_id) == (title, conclusion, view.layer.id)


def test_a_root_in_several_stacks_names_its_stack():
    found = render_layer(planned(stack="prod", shared=True))
    assert found.name == "tidegate/plan: network (prod)"
    assert "of stack `prod`" in found.summary


def test_a_plan_states_its_cost():
    found = render_layer(planned(cost=PlanCost("USD", 34510, 1230)))
    assert found.title == "1 to change; +12.30 USD a month"
    assert "345.10 USD in all" in found.summary


def test_a_plan_is_the_text_and_a_failure_its_last_lines():
    assert render_layer(planned()).text.startswith("```diff\n")
    shown = render_layer(failed())
    assert "Error: no such resource" in shown.text
    assert "The configuration is wrong" in shown.summary
    assert shown.details_url == "https://tidegate.example/jobs/network"


@examples(20)
@given(st.integers(1, 150), st.text(max_size=300), st.integers(0, 1500))
def test_they_always_fit(roots, text, times):
    changes = PlannedChanges(destroy=60, destroyed=(text,) * 50)
    views = [planned(f"root-{number}", plan=PLAN * times + text, changes=changes, why=text) for number in range(roots)]
    cost = PlanCost("USD", 1, 1, tuple(ResourceCost(text, -(10**14)) for _ in range(20)), 10**9, 10**9)
    one = planned(plan=(PLAN * times + text * 100)[:300_000], changes=changes, reason=text, cost=cost)
    for found in (whole(*views), render_layer(one), render_layer(failed(text, text, text * times))):
        assert len(found.summary.encode()) <= MAXIMUM_TEXT
        assert len(found.text.encode()) <= MAXIMUM_TEXT
        assert len(found.title) <= MAXIMUM_TITLE
        assert found.text.count("\n```") in {0, 1, 2}


def test_what_is_left_out_on_purpose_is_said_and_holds_up_nothing():
    found = whole(notes="db: It changed, and no merge deploys it (autoplan: false).")
    assert (found.title, found.conclusion) == ("Nothing is planned automatically", Conclusion.SUCCESS)
    assert "autoplan: false" in found.summary
    found = whole(planned("app"), notes="db: It changed.")
    assert (found.title, found.conclusion) == ("1 with changes (1 to change)", Conclusion.SUCCESS)
    assert "### Not planned\n\n* db: It changed" in found.summary


def test_what_cannot_be_planned_beside_others_holds_up_the_merge_and_hides_none_of_them():
    found = whole(planned("app"), notice="live/my app: its name cannot be used.")
    assert (found.title, found.conclusion) == (
        "1 with changes (1 to change); some roots could not be planned",
        Conclusion.FAILURE,
    )
    assert "its name cannot be used" in found.summary
    assert "| `app` |" in found.summary


def test_a_merge_conflict_is_said_once_and_nothing_else():
    why = {"reason": "Both change `a.tf`. Rebase it.", "last_lines": "", "conflict": True}
    both = [failed(root, **why) for root in ("app", "db")]
    found = whole(*both, blocking=["size"])
    assert (found.title, found.conclusion) == ("Conflicts with main", Conclusion.FAILURE)
    assert found.summary == "Both change \\`a\\.tf\\`\\. Rebase it\\."
    assert "### Not planned\n\n* Not db" in whole(*both, notice="Not db").summary
    assert whole(*both, in_state("web", LayerState.PLANNING)).title == "Planning… 2 of 3 done"


def test_plans_with_options_are_no_verdict():
    found = whole(planned("app", options=("-target=a.b",)), planned("db"))
    assert found.conclusion is Conclusion.ACTION_REQUIRED
    assert found.title.endswith("; planned with options")
    assert "`app` with `-target=a.b`" in found.summary
    assert "Comment `tidegate plan`" in found.summary


def test_plans_that_are_older_than_their_base_say_so_and_keep_their_verdict():
    found = whole(planned("app"), overtaken=("app",), base_now="f" * 40)
    assert found.conclusion is Conclusion.SUCCESS
    assert found.title.endswith("; older than main")
    assert "`main` has moved on to fffffff" in found.summary
    assert "Comment `tidegate plan`" in found.summary


REFUSING = (PolicyVerdict("size", (PolicyFinding(Severity.DENY, "main.deny", "Too large."),)),)


@pytest.mark.parametrize(
    ("views", "fields", "blocking", "fault", "kind"),
    [
        ([planned("app")], {}, (), "", VerdictKind.PASSED),
        ([], {}, (), "", VerdictKind.PASSED),
        ([planned("app", options=("-x",))], {}, (), "", VerdictKind.WITH_OPTIONS),
        ([planned("app")], {"notice": "Not db."}, (), "", VerdictKind.INCOMPLETE),
        ([in_state("app", LayerState.CANCELLED)], {}, (), "", VerdictKind.INCOMPLETE),
        ([], {"notice": "It is a draft."}, (), "", VerdictKind.NOT_PLANNED),
        ([planned("app", verdicts=REFUSING)], {"notice": "Not db."}, ("size",), "", VerdictKind.HELD_UP),
        ([planned("app", options=("-x",))], {}, ("size",), "", VerdictKind.WITH_OPTIONS),
        ([planned("app", verdicts=REFUSING)], {}, (), "", VerdictKind.PASSED),
        ([planned("app")], {}, ("size",), "", VerdictKind.HELD_UP),
        ([in_state("app", LayerState.REFUSED)], {}, ("size",), "", VerdictKind.REFUSED),
        ([in_state("db", LayerState.REFUSED), failed("app")], {}, (), "", VerdictKind.FAILED),
        ([], {}, (), "Out of memory", VerdictKind.FAILED),
        ([failed("db"), failed("app", conflict=True)], {}, ("size",), "", VerdictKind.CONFLICT),
        ([failed("app", conflict=True)], {}, (), "Out of memory", VerdictKind.FAILED),
    ],
)
def test_a_verdict_tells_what_is_worst_of_it(views, fields, blocking, fault, kind):
    record = replace(any_pull_request_record(), **fields)
    assert verdict_kind(record, [each.layer for each in views], blocking, fault) is kind


def test_roots_of_several_stacks_say_of_which_they_are():
    found = whole(planned("app", stack="dev"), planned("app", stack="prod"))
    assert "| Root | Stack | Plan | |\n|---|---|---|---|\n| `app` | `dev` | 1 to change" in found.summary
    assert "| Root | Plan | |\n|---|---|---|\n| `app` | 1 to change" in whole(planned("app", stack="dev")).summary


def test_several_reasons_for_a_refusal_are_a_list():
    both = in_state("app", LayerState.REFUSED, reason="It runs a program.\nIt reads a file outside.")
    summary = render_layer(both).summary
    assert summary.startswith("* It runs a program\\.\n* It reads a file outside\\.\n\nRoot")
    led = in_state("app", LayerState.REFUSED, reason="This is not planned:\nIt runs a program.")
    assert render_layer(led).summary.startswith("This is not planned:\n\n* It runs a program\\.\n\nRoot")
    one = in_state("app", LayerState.REFUSED, reason="It runs a program.")
    assert render_layer(one).summary.startswith("It runs a program\\.\n\nRoot `app`")


@pytest.mark.parametrize("notes", ["", "live/db: it is planned by nobody"])
def test_other_rules_are_told_also_where_no_root_changes(notes):
    changes = RuleChanges(("access_control",))
    found = whole(rule_changes=changes, notes=notes)
    assert "`access_control`" in found.summary
    assert found.conclusion is Conclusion.SUCCESS
    held_up = whole(rule_changes=changes, notes=notes, blocking=["base"])
    assert held_up.conclusion is Conclusion.FAILURE
    assert "Blocked by policy set `base`" in held_up.summary
    assert "`access_control`" in whole(planned("app"), rule_changes=changes).summary


ERROR = "Error: Unsupported argument\n\n  on main.tf line 2, in resource:\n   2:   inptu = 1\n\nNot expected here.\n"


def test_errors_of_a_failed_plan_are_at_their_lines():
    (note,) = render_layer(failed("app", last_lines=ERROR)).annotations
    assert (note.path, note.line, note.level) == ("roots/app/main.tf", 2, Level.FAILURE)
    assert (note.title, note.message) == ("app: Unsupported argument", "Not expected here.")


def test_a_plan_that_did_not_fail_has_no_errors_at_lines():
    assert render_layer(planned()).annotations == ()
