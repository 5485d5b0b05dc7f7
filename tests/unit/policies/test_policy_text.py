"""What the forge shows of policy sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_layer, any_plan, sha
from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.texts.policies import render_policy, verdict_lines
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.vcs.rules.approvals import Disregarded
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT, MAXIMUM_TITLE, MOST_ANNOTATIONS, Conclusion, Level

HEAD = sha(3)
SRE = PolicySetStatus("network", owners=("team:sre", "role:write"))
DENIED = PolicyFinding(Severity.DENY, "main.deny", "a is public", "aws_s3_bucket.a")
WARNED = PolicyFinding(Severity.WARN, "main.warn", "no owner")
EXEMPT = PolicyFinding(Severity.VIOLATION, "main.violation_x", "let go", exempted_by="main.exception")


def layer(root="network", **fields):
    return any_layer(root, plan=any_plan(), **fields)


def standing(state, *verdicts, held=SRE, **fields):
    judged = tuple((layer(f"root{number}"), verdict) for number, verdict in enumerate(verdicts))
    return Standing(held, state, HEAD, **{"judged": judged, **fields})


def shown(found):
    return render_policy(found, "execution/policy/network", "https://tidegate.example/pull")


def refusing(**fields):
    return standing(SetState.FAILED, PolicyVerdict("network", (DENIED, WARNED, EXEMPT)), **fields)


def test_a_set_that_refuses_says_what_it_refuses_and_who_may_approve():
    check = shown(refusing())
    assert (check.name, check.sha, check.external_id) == ("tidegate/policy: network", HEAD, "execution/policy/network")
    assert (check.status, check.conclusion) == ("completed", Conclusion.FAILURE)
    assert check.title == "Blocks 1 plan: 1 approval needed"
    assert "blocks the plan of `root0`" in check.summary
    assert (
        f"1 approval of the current head `{HEAD[:7]}` by `team:sre` or role:write (or higher) is needed."
        in check.summary
    )
    denied, warned, exempt = [line for line in check.text.splitlines() if line.startswith("- ")]
    assert denied == "- **Denied** `aws_s3_bucket.a`: a is public (`main.deny`)"
    assert warned == "- **Warning**: no owner (`main.warn`)"
    assert "exempted by `main.exception`)" in exempt


def test_several_approvals_are_by_different_people_and_those_there_are_named():
    held = PolicySetStatus("network", owners=("team:sre",), approvals=2)
    check = shown(refusing(held=held, approved_by=("ann",), disregarded=(Disregarded("bob", "approved *x*"),)))
    assert check.title == "Blocks 1 plan: 1 approval needed"
    assert "2 approvals of the current head" in check.summary
    assert "by different people among `team:sre` are needed. `ann` approved." in check.summary
    assert "- `bob` approved \\*x\\*" in check.summary


def test_more_than_a_handful_of_names_are_counted():
    many = tuple(Disregarded(f"user{number}", "is not an owner of it") for number in range(13))
    verdicts = [PolicyVerdict("network", (DENIED,))] * 12
    check = shown(standing(SetState.FAILED, *verdicts, disregarded=many))
    assert "blocks the plans of " in check.summary
    assert "and 2 more." in check.summary
    assert check.summary.endswith("- 3 more")


def test_a_set_without_owners_says_that_nobody_can_let_it_pass():
    check = shown(refusing(held=PolicySetStatus("network")))
    assert check.title == "Blocks 1 plan"
    assert "It has no owners who can" in check.summary


@pytest.mark.parametrize(
    ("found", "status", "conclusion", "title"),
    [
        (standing(SetState.PASSED, PolicyVerdict("network")), "completed", Conclusion.SUCCESS, "Passed"),
        (
            standing(SetState.WARNED, PolicyVerdict("network", (WARNED,))),
            "completed",
            Conclusion.NEUTRAL,
            "Passed, with 1 warning",
        ),
        (refusing(), "completed", Conclusion.FAILURE, "Blocks 1 plan: 1 approval needed"),
        (
            standing(SetState.APPROVED, PolicyVerdict("network", (DENIED,)), approved_by=("ann", "bob")),
            "completed",
            Conclusion.SUCCESS,
            "Approved by ann, bob",
        ),
        (standing(SetState.WAITING, missing=(any_layer(),)), "in_progress", None, "Waiting for plans"),
        (
            standing(SetState.UNKNOWN, missing=(any_layer(stack="prod"), any_layer("dns"))),
            "completed",
            Conclusion.FAILURE,
            "No verdict on 2 roots",
        ),
    ],
)
def test_each_state_has_its_conclusion_and_title(found, status, conclusion, title):
    check = shown(found)
    assert (check.status, check.conclusion, check.title) == (status, conclusion, title)
    assert check.summary


def test_an_approved_set_says_by_whom_and_passed_ones_how_many_plans():
    approved = standing(SetState.APPROVED, PolicyVerdict("network", (DENIED,)), approved_by=("ann",))
    assert "Its owners approved it: `ann` approved." in shown(approved).summary
    assert "blocks none of 2 plans" in shown(standing(SetState.PASSED, *[PolicyVerdict("network")] * 2)).summary


def test_plans_that_are_missing_are_named():
    waiting = shown(standing(SetState.WAITING, missing=(any_layer("dns", stack="prod"),))).summary
    assert "Plans not evaluated yet: `dns` of stack `prod`." in waiting
    failed = any_layer("dns", state=LayerState.FAILED)
    looked = any_layer("web", state=LayerState.PLANNED, options=("-target=a.b",))
    unjudged = any_layer("app", state=LayerState.NO_CHANGES)
    lines = shown(standing(SetState.UNKNOWN, missing=(failed, looked, unjudged))).summary
    assert "No verdict on `dns`: there is no plan to evaluate." in lines
    assert "No verdict on `web`" in lines
    assert "No verdict on `app`" in lines


def test_errors_are_told_with_their_places_and_noted_there():
    broken = PolicyVerdict("network", error="Invalid *operator*", file="policies/a.rego", line=4)
    check = shown(standing(SetState.FAILED, broken))
    assert "Correct the policies on the default" in check.summary
    assert "Change the code" not in check.summary
    assert "- **Error** in `policies/a.rego:4`: Invalid \\*operator\\*" in check.text
    (note,) = check.annotations
    assert (note.path, note.line, note.level, note.message) == (
        "policies/a.rego",
        4,
        Level.FAILURE,
        "root0: Invalid *operator*",
    )
    assert "in `data`: " in shown(standing(SetState.FAILED, PolicyVerdict("x", error="no", file="data"))).text


def test_findings_are_noted_where_policies_name_a_line_of_the_repository():
    places = [("main.tf", 3), ("", 3), ("main.tf", 0), ("/etc/passwd", 1), ("../x", 1), ("a\nb", 1)]
    found = [PolicyFinding(Severity.DENY, "main.deny", "no", file=file, line=line) for file, line in places]
    found += [PolicyFinding(Severity.WARN, "main.warn", "hm", file="main.tf", line=5)]
    found += [PolicyFinding(Severity.DENY, "main.deny", "ok", exempted_by="e", file="main.tf", line=7)]
    check = render_policy(
        Standing(SRE, SetState.FAILED, HEAD, ((layer(stack="prod"), PolicyVerdict("network", tuple(found))),)), "x"
    )
    assert [(each.path, each.line, each.level, each.message) for each in check.annotations] == [
        ("main.tf", 3, Level.FAILURE, "network (prod): no"),
        ("main.tf", 5, Level.WARNING, "network (prod): hm"),
    ]


def test_what_does_not_fit_is_counted():
    much = PolicyFinding(Severity.DENY, "main.deny", "x" * 600, file="a.tf", line=1)
    check = shown(standing(SetState.FAILED, *[PolicyVerdict("network", (much,) * 60, omitted=7)] * 5))
    assert len(check.text.encode()) <= MAXIMUM_TEXT
    assert "more lines are not shown" in check.text
    assert "- 7 more are not shown." in shown(standing(SetState.FAILED, PolicyVerdict("x", (DENIED,), omitted=7))).text
    assert len(check.annotations) == MOST_ANNOTATIONS


@given(st.text(max_size=300), st.text(min_size=1, max_size=60))
def test_nothing_that_policies_say_is_read_as_markup(message, address):
    finding = PolicyFinding(Severity.DENY, "main.deny", f"{message} @everyone <img> [x](y) ![a](b)", address)
    check = shown(standing(SetState.FAILED, PolicyVerdict("network", (finding,), error=message)))
    assert "@everyone" not in check.text
    assert "<img>" not in check.text
    assert "](y)" not in check.text
    assert len(check.title) <= MAXIMUM_TITLE


def test_comments_list_what_blocks_first_and_what_passed_in_one_line():
    lines = verdict_lines(
        [
            PolicyVerdict("quiet"),
            PolicyVerdict("soft", (WARNED,)),
            PolicyVerdict("network", (EXEMPT, DENIED)),
            PolicyVerdict("calm"),
        ]
    )
    assert lines == (
        "- **Denied** (`network`) `aws_s3_bucket.a`: a is public (`main.deny`)",
        "- ~~Violation~~ (`network`): let go (`main.violation_x`, exempted by `main.exception`)",
        "- **Warning** (`soft`): no owner (`main.warn`)",
        "- Passed: `quiet`, `calm`",
    )
    assert verdict_lines([PolicyVerdict("soft", (WARNED,))]) == ("- **Warning** (`soft`): no owner (`main.warn`)",)


def test_a_set_whose_rules_change_says_what_changes_and_who_may_approve_it():
    check = shown(standing(SetState.FAILED, PolicyVerdict("network"), rules=("workflows", "hooks")))
    assert (check.title, check.conclusion) == ("Changes the rules: 1 approval needed", Conclusion.FAILURE)
    assert "`workflows`, `hooks`" in check.summary
    assert "Ask for a review: 1 approval" in check.summary
    both = shown(refusing(rules=("workflows",)))
    assert both.title == "Blocks 1 plan: 1 approval needed"
    assert "`workflows`" in both.summary
