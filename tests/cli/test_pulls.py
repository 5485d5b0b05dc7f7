"""``tidegate pulls``: what people and scripts see of pull requests."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import NOW, SHA

CHANGES = {"add": 3, "destroy": 2}
BRIEF = {
    "repository": "acme/live",
    "number": 5,
    "title": "Grow [red]the network",
    "author": "developer",
    "branch": "more",
    "base": "main",
    "revision": SHA,
    "state": "Idle",
    "opened_at": NOW,
}
LAYER = {
    "id": "network-1",
    "root": "network",
    "stack": "prod",
    "state": "planned",
    "changes": CHANGES,
    "policies": [
        {
            "policy_set": "security",
            "failed": True,
            "findings": [{"severity": "deny", "message": "Too open.", "address": "aws_sqs_queue.a"}],
        },
        {"policy_set": "costs", "failed": True, "error": "costs.rego, line 3: what is this?"},
        {
            "policy_set": "names",
            "failed": False,
            "findings": [{"severity": "warn", "message": "Odd.", "exempted_by": "old"}],
        },
    ],
    "job": {"id": "j", "kind": "speculate", "attempt": 1, "url": "https://tidegate.example/jobs/j"},
}
FAILED = {
    "id": "app-1",
    "root": "app",
    "state": "failed",
    "reason": "The plan failed.\nIt says why.",
    "last_lines": "\n".join(
        ["the first line", *(f"line {number}" for number in range(11)), "Error: \x1b[31mno such thing"]
    ),
}
PULL = {
    **BRIEF,
    "base_revision": "f" * 40,
    "notice": "Two roots are left out.",
    "layers": [LAYER, FAILED],
    "conditions": [{"type": "IsCommentUpToDate", "status": "True", "lastTransitionTime": NOW}],
}


def test_open_pull_requests_are_listed_one_a_line(api, tidegate):
    other = {**BRIEF, "number": 6, "title": "Less", "state": "Planning", "draft": True}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [BRIEF, other]}
    lines = tidegate("pulls", "acme/live").stdout.splitlines()
    assert lines[1].startswith("#5 ")
    assert lines[1].endswith("Grow [red]the network")
    assert "– no roots" in lines[1]
    assert "0123456" in lines[1]
    assert "(draft)" in lines[2]
    assert "planning" in lines[2]
    assert api.asked[-1].query == {"repository": "acme/live"}


def test_plans_that_are_older_than_the_base_branch_say_so_in_the_list_as_well(api, tidegate, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    verdict = {"conclusion": "success", "kind": "passed", "title": "1 to add; older than main"}
    older = {**BRIEF, "verdict": verdict, "outdated": True}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [older, {**BRIEF, "number": 6, "verdict": verdict}]}
    first, second = tidegate("pulls", "acme/live").stdout.splitlines()[1:]
    assert "✔ passed, out of date" in first
    assert "✔ passed" in second
    assert "out of date" not in second
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, **older}
    assert "✔ passed: 1 to add; older than main\n" in tidegate("pulls", "acme/live", "5").stdout


def test_they_are_searched_and_shown_with_their_stacks(api, tidegate):
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [{**BRIEF, "stacks": ["prod"]}]}
    assert "prod" in tidegate("pulls", "--query", "stack_name:prod").stdout
    assert api.asked[-1].query == {"query": "stack_name:prod"}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [], "hint": "There is none."}
    assert "matches. There is none." in tidegate("pulls", "--query", "stack_name:qa").stdout
    assert tidegate("pulls", "acme/live", "5", "--query", "a").exit_code == 2


def test_what_is_not_planned_on_purpose_says_so(api, tidegate):
    draft = {**BRIEF, "draft": True, "notice": "The pull request is a draft."}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [draft]}
    assert "↷ not planned" in tidegate("pulls", "acme/live").stdout


def test_without_a_repository_all_are_listed_with_their_repositories(api, tidegate):
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [BRIEF]}
    assert "acme/live#5" in tidegate("pulls").stdout
    assert api.asked[-1].query == {}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": []}
    assert tidegate("pulls").stdout == "No pull or merge request is open.\n"


def test_a_pull_request_shows_what_a_merge_would_do(api, tidegate):
    api.answers["GET /api/v1/pulls/acme/live/5"] = PULL
    shown = tidegate("pulls", "acme/live", "5").stdout
    for words in (
        "acme/live#5  Grow [red]the network",
        "0123456 of more, by developer",
        "fffffff of main",
        "Two roots are left out.",
        "network (prod)",
        "3 to add, 2 to destroy",
        "policy security fails",
        "deny: Too open. (aws_sqs_queue.a)",
        "policy costs fails\n    costs.rego, line 3: what is this?",
        "policy names passes\n    warn: Odd., exempted by old",
        "https://tidegate.example/jobs/j",
        "✘ plan failed",
        "  The plan failed.\n  It says why.\n    line 0\n",
        "    Error: no such thing\n",
    ):
        assert words in shown
    assert "the first line" not in shown


def test_a_root_that_is_gone_says_what_stays_behind(api, tidegate):
    layer = {**LAYER, "state": "no_changes", "changes": None, "gone": True, "left": 12, "why": "It is taken away."}
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "layers": [layer]}
    shown = tidegate("pulls", "acme/live", "5").stdout
    for part in ("gone: 12 resources remain", "It is taken away.", "tidegate destroy acme/live network"):
        assert part in shown


@pytest.mark.parametrize(
    ("closed", "shown"),
    [
        ({}, {"tidegate destroy", "once this is merged"}),
        ({"closed_at": NOW, "merged": True}, {"tidegate destroy"}),
        ({"closed_at": NOW}, set()),
    ],
)
def test_what_stays_behind_is_destroyed_after_the_merge(api, tidegate, closed, shown):
    layer = {**LAYER, "state": "no_changes", "changes": None, "gone": True, "left": 12}
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, **closed, "layers": [layer]}
    told = " ".join(tidegate("pulls", "acme/live", "5").stdout.split())
    assert {words for words in ("tidegate destroy", "once this is merged") if words in told} == shown


def test_all_roots_that_stay_behind_are_named_as_many_in_a_command_as_a_request_takes(api, tidegate):
    gone = {**LAYER, "state": "no_changes", "changes": None, "gone": True, "left": None}
    layers = [{**gone, "root": f"root-{number}"} for number in range(70)]
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "layers": layers}
    lines = tidegate("pulls", "acme/live", "5").stdout.splitlines()
    named = [line.split()[3:] for line in lines if "tidegate destroy" in line]
    assert [len(roots) for roots in named] == [50, 20]
    assert {root for roots in named for root in roots} == {each["root"] for each in layers}


def test_changed_rules_are_told(api, tidegate):
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "rule_changes": ["access_control", "workflows.apply"]}
    assert "or what runs: access_control, workflows.apply." in tidegate("pulls", "acme/live", "5").stdout


def test_a_merge_conflict_is_said_once(api, tidegate):
    both = [{**FAILED, "root": root, "conflict": True, "reason": "Both change a.tf."} for root in ("app", "db")]
    verdict = {"conclusion": "failure", "kind": "conflict", "title": "Conflicts with main"}
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "layers": both, "verdict": verdict}
    shown = tidegate("pulls", "acme/live", "5").stdout
    assert "✘ merge conflict: Conflicts with main" in shown
    assert shown.count("Both change a.tf.") == 1
    assert "app  ↷ not planned\n" in shown
    assert "Error: no such thing" not in shown


def test_a_verdict_that_only_says_the_state_is_said_once(api, tidegate):
    verdict = {"conclusion": "failure", "kind": "not_planned", "title": "Not planned"}
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "verdict": verdict}
    shown = tidegate("pulls", "acme/live", "5").stdout
    assert "↷ not planned\n" in shown
    assert "Not planned" not in shown


def test_a_long_title_folds_and_takes_nothing_from_the_other_columns(api, tidegate):
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [{**BRIEF, "title": "word " * 60}]}
    lines = tidegate("pulls", "acme/live").stdout.splitlines()
    assert lines[0].split() == ["PULL", "REQUEST", "STATE", "HEAD", "BY", "OPENED", "TITLE"]
    assert lines[1].split()[:5] == ["#5", "–", "no", "roots", "0123456"]
    assert "".join(lines).count("word") == 60


@pytest.mark.parametrize(("columns", "words"), [("80", ["network,", "too"]), ("60", ["later"])])
def test_titles_stay_readable_beside_the_longest_state(api, tidegate, monkeypatch, columns, words):
    monkeypatch.setenv("COLUMNS", columns)
    verdict = {"conclusion": "failure", "kind": "conflict", "title": "Conflicts with main"}
    long = {**BRIEF, "title": "A later change of the network, too", "verdict": verdict, "outdated": True}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [long, {**BRIEF, "number": 6, "verdict": verdict}]}
    for asked in (("acme/live",), ()):
        shown = tidegate("pulls", *asked).stdout
        assert set(words) <= set(shown.split())
        assert all(len(line) <= int(columns) for line in shown.splitlines())
    assert "acme/live#5" in shown.split()


def test_of_a_failed_plan_the_first_of_many_errors_is_shown(api, tidegate):
    errors = "\n".join(f"Error: number {number}" for number in range(40))
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "layers": [{**FAILED, "last_lines": errors}]}
    shown = tidegate("pulls", "acme/live", "5").stdout
    assert "Error: number 0\n" in shown
    assert "Error: number 39" not in shown


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_state_is_never_broken(api, tidegate, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    verdict = {"conclusion": "failure", "kind": "held_up", "title": "Blocked by policy"}
    long = {**BRIEF, "title": "A later change of the network, too", "verdict": verdict, "stacks": ["dev", "prod"]}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [long]}
    assert "■ blocked" in tidegate("pulls").stdout


def test_what_cannot_be_a_number_is_told_in_words_of_ours(tidegate):
    for number in ("x", "0", "1e3", "²", "9" * 20):
        refused = tidegate("pulls", "acme/live", number)
        assert refused.exit_code == 2
        assert "it is the number of a pull request, such as 12" in " ".join(refused.stderr.replace("│", " ").split())


def test_a_pull_request_that_is_none_is_named(api, tidegate):
    api.answers["GET /api/v1/repositories"] = {"repositories": [{"name": "acme/live"}], "unchecked": 0}
    api.answers["GET /api/roots"] = {"roots": []}
    refused = tidegate("pulls", "acme/live", "77")
    assert refused.exit_code == 3
    assert "acme/live has no pull or merge request 77 here" in refused.stderr
    assert "tidegate pulls acme/live lists the open ones" in refused.stderr


def test_a_closed_pull_request_says_how(api, tidegate):
    for merged, word in ((True, "merged"), (False, "closed")):
        api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "closed_at": NOW, "merged": merged}
        assert word in tidegate("pulls", "acme/live", "5").stdout


def test_a_state_of_a_newer_server_is_shown_as_it_is(api, tidegate):
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [{**BRIEF, "state": "Dreaming"}]}
    assert "Dreaming" in tidegate("pulls", "acme/live").stdout


def test_pull_requests_as_json_are_one_document(api, tidegate):
    api.answers["GET /api/v1/pulls/acme/live/5"] = PULL
    document = json.loads(tidegate("pulls", "acme/live", "5", "--json").stdout)
    assert document["layers"][0]["root"] == "network"
    assert document["conditions"][0]["lastTransitionTime"] == NOW


def test_a_pull_request_that_is_none_is_told_so(api, tidegate):
    api.answers["GET /api/v1/repositories"] = {"repositories": [{"name": "acme/live"}]}
    result = tidegate("pulls", "acme/live", "9")
    assert result.exit_code != 0


def test_the_verdict_stands_in_the_list_and_above_the_plans(api, tidegate):
    verdict = {"conclusion": "failure", "kind": "failed", "title": "1 failed [red]", "blocking": ["costs"]}
    failed = {**BRIEF, "verdict": verdict}
    newer = {**BRIEF, "number": 6, "verdict": {**verdict, "kind": "dreamed"}}
    refused = {**BRIEF, "number": 7, "verdict": {**verdict, "kind": "refused"}}
    held = {**BRIEF, "number": 8, "verdict": {**verdict, "kind": "held_up"}}
    api.answers["GET /api/v1/pulls"] = {"pull_requests": [failed, newer, refused, held]}
    lines = tidegate("pulls", "acme/live").stdout.splitlines()
    assert lines[1].split()[:3] == ["#5", "✘", "failed"]
    assert lines[2].split()[:4] == ["#6", "–", "no", "roots"]
    assert lines[3].split()[:3] == ["#7", "✘", "refused"]
    assert lines[4].split()[:3] == ["#8", "■", "blocked"]
    sets = [
        {"name": "costs", "owners": ["team:finance"], "approvals": 2, "blocking": True},
        {"name": "names", "owners": [], "approvals": 1, "blocking": True},
        {"name": "old", "owners": [], "approvals": 1, "blocking": False},
    ]
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, **failed, "policy_sets": sets}
    shown = " ".join(tidegate("pulls", "acme/live", "5").stdout.split())
    assert "State ✘ failed: 1 failed [red]" in shown
    assert "Policy set costs blocks the merge. Change the plan, or get approvals from 2 of its owners: team:f" in shown
    assert shown.endswith("Policy set names blocks the merge. Change the plan.")
    assert "Policy set old" not in shown


def test_a_policy_set_that_its_owners_let_pass_says_who_approved(api, tidegate):
    sets = [
        {"name": "security", "owners": ["user:ann"], "blocking": False, "approved_by": ["ann", "ben"]},
        {"name": "costs", "owners": ["team:finance"], "blocking": False},
    ]
    api.answers["GET /api/v1/pulls/acme/live/5"] = {**PULL, "policy_sets": sets}
    shown = tidegate("pulls", "acme/live", "5").stdout
    assert "policy security fails, approved by ann, ben\n" in shown
    assert "policy costs fails, approved by its owners\n" in shown
