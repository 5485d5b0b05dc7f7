"""Which fields of which webhook events are used, whatever stands in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.vcs.webhook_payloads import (
    AFTER,
    BEFORE,
    COMMENT,
    ENDED,
    EVENTS,
    GROUP,
    PRESS,
    PULL,
    PUSH,
    QUEUED,
    RESULT,
    REVIEW,
    STATUS,
    SUITE,
    WHERE,
    changed,
)
from tidegate.rules.errors import InvalidWebhook
from tidegate.vcs.rules.authors import MAXIMUM_AUTHORS
from tidegate.vcs.rules.decision import Accepted, Ignored, Refused
from tidegate.vcs.rules.events import read_event


def test_a_push_to_the_default_branch_is_accepted_with_the_few_fields_that_are_used():
    fields = {
        "repository": "acme/infra",
        "before": BEFORE,
        "after": AFTER,
        "branch": "main",
        "sender": "octocat",
        "forced": False,
        "authors": ["octocat"],
    }
    assert read_event("push", PUSH) == Accepted("push", fields)


def test_a_forced_push_and_a_new_branch_are_accepted():
    assert read_event("push", changed(PUSH, "forced", True)).fields["forced"] is True
    assert read_event("push", changed(PUSH, "before", "0" * 40)).fields["before"] == "0" * 40


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("ping", {}),
        ("", {}),
        ("installation", {"action": "created"}),
        ("push", changed(PUSH, "ref", "refs/heads/feature")),
        ("push", changed(PUSH, "ref", "refs/heads/$(x)\nmain")),
        ("push", changed(PUSH, "ref", "refs/tags/main")),
        ("push", changed(PUSH, "ref", "main")),
        ("push", changed(PUSH, "deleted", True)),
        ("push", changed(PUSH, "after", "0" * 40)),
        ("check_run", changed(PRESS, "action", "created")),
        ("check_run", changed(PRESS, "action", "something")),
        ("check_run", changed(RESULT, "check_run.name", "tidegate/config-update")),
        ("check_run", changed(RESULT, "check_run.conclusion", None)),
        ("check_suite", changed(SUITE, "action", "requested")),
        ("check_suite", changed(ENDED, "sender.login", "github-actions[bot]")),
        ("status", changed(STATUS, "state", "pending")),
        ("issue_comment", changed(COMMENT, "action", "edited")),
        ("issue_comment", changed(COMMENT, "issue.pull_request", ...)),
        ("issue_comment", changed(COMMENT, "sender.type", "Bot")),
        ("issue_comment", changed(COMMENT, "sender.login", "robot[bot]")),
        ("issue_comment", changed(COMMENT, "comment.body", "")),
        ("issue_comment", changed(COMMENT, "comment.body", "please tidegate deploy")),
        ("issue_comment", changed(COMMENT, "comment.body", "tidegate deploy\nplease")),
        ("issue_comment", changed(COMMENT, "comment.body", "tidegatedeploy")),
        ("issue_comment", changed(COMMENT, "comment.body", "> tidegate deploy")),
        ("issue_comment", changed(COMMENT, "comment.body", "tidegate \u202edeploy")),
        ("issue_comment", changed(COMMENT, "comment.body", "tidegate \ud800")),
        ("issue_comment", changed(COMMENT, "comment.body", "tidegate " + "a" * 1000)),
        ("check_run", changed(PRESS, "check_run.name", "build")),
        *(("pull_request", changed(PULL, "action", action)) for action in ("labeled", "assigned", None, 5, ["opened"])),
        ("pull_request", changed(PULL, "action", "edited")),
        ("pull_request", {**PULL, "action": "edited", "changes": {"title": {"from": "before"}}}),
        ("pull_request", {**PULL, "action": "edited", "changes": "base"}),
        ("pull_request_review", changed(REVIEW, "action", "edited")),
        ("pull_request_review", changed(REVIEW, "action", ["submitted"])),
        ("merge_group", changed(GROUP, "action", "destroyed")),
        ("merge_group", changed(GROUP, "merge_group.head_ref", "refs/heads/main")),
        ("merge_group", changed(GROUP, "merge_group.head_ref", QUEUED.replace("pr-5", "pr-0"))),
    ],
)
def test_what_nothing_follows_from_is_ignored_with_a_reason(event, payload):
    decision = read_event(event, payload)
    assert isinstance(decision, Ignored)
    assert decision.reason


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        *(
            ("push", changed(PUSH, "repository.full_name", name))
            for name in (
                "infra",
                "../..",
                "acme/a&&id",
                "acme/$(x)",
                "acme/in fra",
                "acme/\n",
                "acme/🚀",
                "a/" + "b" * 300,
            )
        ),
        *(
            ("push", changed(PUSH, key, text))
            for key in ("before", "after")
            for text in ("main", "-chdir=x", "b" * 39, "B" * 40, "$(x)", "b" * 40 + "\n")
        ),
        *(("push", changed(PUSH, "sender.login", text)) for text in ("a b", "@here", "x\ny", "é")),
        ("check_run", changed(PRESS, "check_run.external_id", "../..")),
        ("check_run", changed(PRESS, "check_run.head_sha", "HEAD")),
        ("check_run", changed(PRESS, "check_run.name", "tidegate/deploy: a\nb")),
        ("check_run", changed(PRESS, "check_run.name", "tidegate/deploy: " + "a" * 300)),
        ("check_run", changed(PRESS, "requested_action.identifier", "x" * 300)),
        ("check_suite", changed(SUITE, "check_suite.head_sha", "HEAD")),
        ("issue_comment", changed(COMMENT, "repository.full_name", "acme/$(x)")),
        ("pull_request", changed(PULL, "repository.full_name", "acme/$(x)")),
        ("pull_request_review", changed(REVIEW, "sender.login", "a b")),
        ("merge_group", changed(GROUP, "merge_group.head_sha", "HEAD")),
    ],
)
def test_a_hostile_name_is_refused_with_a_reason_in_plain_ascii(event, payload):
    decision = read_event(event, payload)
    assert isinstance(decision, Refused)
    assert "\n" not in decision.reason


def on_default_branch(name: str) -> dict:
    return changed(changed(PUSH, "ref", f"refs/heads/{name}"), "repository.default_branch", name)


@pytest.mark.parametrize("name", ["a&&id", "$(x)", "-chdir=x", "release/🚀", "b" * 300, "ma;in", "a'b\"c"])
def test_a_strange_branch_that_git_allows_is_data_like_any_other(name):
    assert read_event("push", on_default_branch(name)).fields["branch"] == name


@pytest.mark.parametrize(
    "name", ["../..", "a\nb", "a b", "a..b", "a~1", "a^", "a:b", "a?", "[a", "a\\b", "\ud800", "b" * 2000]
)
def test_a_branch_that_git_does_not_allow_is_refused(name):
    assert isinstance(read_event("push", on_default_branch(name)), Refused)


@pytest.mark.parametrize("path", ["ref", "before", "after", "repository", "repository.full_name", "sender"])
@pytest.mark.parametrize("value", [..., None, 7, [], {}])
def test_a_push_without_what_pushes_have_is_refused_as_invalid(path, value):
    with pytest.raises(InvalidWebhook):
        read_event("push", changed(PUSH, path, value))


@pytest.mark.parametrize("value", [True, 0, -1, 1 << 70, "42", None])
def test_an_id_that_is_no_positive_number_is_refused_as_invalid(value):
    with pytest.raises(InvalidWebhook):
        read_event("check_run", changed(PRESS, "check_run.id", value))


def test_a_press_of_our_button_is_accepted_with_the_few_fields_that_are_used():
    fields = {
        "repository": "acme/infra",
        "id": 128620228,
        "external_id": "network-bbbbbbb-0123456789ab",
        "name": "tidegate/deploy: network",
        "head_sha": AFTER,
        "identifier": "Approve",
        "sender": "octocat",
    }
    assert read_event("check_run", PRESS) == Accepted("check_run", fields)


def test_a_check_run_that_is_to_run_again_is_accepted_on_its_own():
    fields = {
        "repository": "acme/infra",
        "id": 128620228,
        "external_id": "network-bbbbbbb-0123456789ab",
        "name": "tidegate/deploy: network",
        "head_sha": AFTER,
        "sender": "octocat",
    }
    again = changed(changed(PRESS, "action", "rerequested"), "requested_action", ...)
    assert read_event("check_run", again) == Accepted("rerun", fields)


def test_all_checks_of_a_commit_that_are_to_run_again_are_one_event():
    fields = {"repository": "acme/infra", "head_sha": AFTER, "sender": "octocat"}
    assert read_event("check_suite", SUITE) == Accepted("check_suite", {**fields, "pull_requests": []})
    of_pulls = changed(SUITE, "check_suite.pull_requests", [{"number": 5}, {"number": 6}, "not one"])
    assert read_event("check_suite", of_pulls) == Accepted("check_suite", {**fields, "pull_requests": [5, 6]})


@pytest.mark.parametrize("base", [{"repo": {"id": 1}}, {"repo": {"id": "odd"}}, {"repo": None}, None])
def test_pull_requests_of_a_fork_to_another_repository_are_none_of_it(base):
    pulls = [{"number": 5, "base": base}, {"number": 6, "base": {"repo": {"id": 2}}}]
    of_pulls = changed(changed(SUITE, "check_suite.pull_requests", pulls), "repository.id", 1)
    assert read_event("check_suite", of_pulls).fields["pull_requests"] == [5]


@pytest.mark.parametrize("number", [{}, [], "1", None])
def test_a_repository_without_a_number_has_no_pull_requests_that_go_to_one(number):
    pulls = [{"number": 5, "base": {"repo": {"id": 1}}}, {"number": 6}]
    of_pulls = changed(changed(SUITE, "check_suite.pull_requests", pulls), "repository.id", number)
    assert read_event("check_suite", of_pulls).fields["pull_requests"] == [6]


@pytest.mark.parametrize("name", ["tidegate/plan", "tidegate/plan: network (dev)", "tidegate/policy: size"])
def test_a_check_of_a_pull_request_that_is_to_run_again_has_it_planned_again(name):
    check_run = {"name": name, "head_sha": AFTER, "external_id": "of whatever form", "pull_requests": [{"number": 5}]}
    fields = {"repository": "acme/infra", "head_sha": AFTER, "sender": "octocat"}
    again = {**WHERE, "action": "rerequested", "check_run": check_run}
    assert read_event("check_run", again) == Accepted("replan", {**fields, "pull_requests": [5]})


def test_a_check_of_drift_that_is_to_run_again_has_its_schedule_look_again():
    check_run = {"name": "tidegate/drift: nightly", "head_sha": AFTER, "external_id": "acme/infra~nightly@1"}
    fields = {"repository": "acme/infra", "head_sha": AFTER, "sender": "octocat"}
    again = {**WHERE, "action": "rerequested", "check_run": check_run}
    wanted = {**fields, "pull_requests": [], "schedule": "nightly"}
    assert read_event("check_run", again) == Accepted("detect_drift", wanted)


def test_no_more_than_ten_pull_requests_of_one_head_are_planned_again():
    many = changed(SUITE, "check_suite.pull_requests", [{"number": number} for number in range(1, 30)])
    assert read_event("check_suite", many).fields["pull_requests"] == [*range(1, 11)]


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("status", STATUS),
        ("status", changed(STATUS, "state", "error")),
        ("check_run", RESULT),
        ("check_run", changed(RESULT, "action", "created")),
        ("check_suite", ENDED),
        ("check_suite", changed(ENDED, "check_suite.app", None)),
    ],
)
def test_what_ci_reports_of_a_commit_is_accepted_as_no_more_than_that(event, payload):
    assert read_event(event, payload) == Accepted("checks", {"repository": "acme/infra", "sha": AFTER})


def test_case_29_a_status_counts_whatever_branches_its_webhook_lists():
    listed = changed(STATUS, "branches", [{"name": f"other-{number}"} for number in range(10)])
    assert read_event("status", listed) == read_event("status", STATUS)


def test_a_command_on_a_pull_request_is_accepted_as_it_was_written():
    fields = {
        "repository": "acme/infra",
        "pull_request": 5,
        "comment": 77,
        "text": "tidegate deploy -p network",
        "sender": "octocat",
        "written_at": "2026-03-02T08:00:00.000000+00:00",
    }
    assert read_event("issue_comment", COMMENT) == Accepted("issue_comment", fields)


@pytest.mark.parametrize("told", [..., None, 5, "yesterday", "2026-03-02T08:00:00"])
def test_a_comment_of_which_nobody_says_when_it_was_written_is_of_an_unknown_time(told):
    comment = changed(COMMENT, "comment.created_at", told)
    assert read_event("issue_comment", comment).fields["written_at"] == ""


@pytest.mark.parametrize("body", ["Tidegate help", "  tidegate\tdeploy \r\n", "tidegate\xa0deploy", "tidegate"])
def test_a_command_may_be_written_as_people_and_their_phones_do(body):
    assert isinstance(read_event("issue_comment", changed(COMMENT, "comment.body", body)), Accepted)


def test_commands_begin_with_the_words_that_are_configured():
    other = changed(COMMENT, "comment.body", "atlantis apply")
    assert isinstance(read_event("issue_comment", other), Ignored)
    assert isinstance(read_event("issue_comment", other, ("tidegate", "Atlantis")), Accepted)


ACTIONS = ["opened", "reopened", "synchronize", "ready_for_review", "converted_to_draft", "closed"]


@pytest.mark.parametrize("action", ACTIONS)
def test_what_changes_what_a_pull_request_would_do_is_accepted(action):
    heads = {"opened": {"before": "", "after": AFTER}, "synchronize": {"before": BEFORE, "after": AFTER}}
    fields = {
        "repository": "acme/infra",
        "pull_request": 5,
        "action": action,
        "sender": "octocat",
        **heads.get(action, {}),
    }
    told = {**PULL, "action": action, "before": BEFORE, "after": AFTER}
    assert read_event("pull_request", told) == Accepted("pull_request", fields)


@pytest.mark.parametrize(
    "told",
    [
        {"action": "synchronize", "before": BEFORE},
        {"action": "synchronize", "after": AFTER},
        {"action": "synchronize", "before": "x", "after": AFTER},
        {"action": "opened", "pull_request": {"number": 5}},
        {"action": "opened", "pull_request": {"number": 5, "head": {"sha": 7}}},
    ],
)
def test_of_a_head_of_which_the_event_does_not_tell_nobody_is_its_pusher(told):
    fields = read_event("pull_request", {**PULL, **told}).fields
    assert not fields.keys() & {"before", "after"}


def test_another_base_branch_changes_what_a_pull_request_would_do():
    edited = {**PULL, "action": "edited", "changes": {"base": {"ref": {"from": "other"}}}}
    assert read_event("pull_request", edited).fields["action"] == "edited"


@pytest.mark.parametrize("action", ["submitted", "dismissed"])
def test_a_review_that_says_something_else_is_accepted(action):
    fields = {"repository": "acme/infra", "pull_request": 5, "sender": "octocat"}
    assert read_event("pull_request_review", changed(REVIEW, "action", action)) == Accepted(
        "pull_request_review", fields
    )


@pytest.mark.parametrize("base", ["main", "release/pr-7-1", "ü"])
def test_a_merge_queue_asks_for_the_verdict_of_the_pull_request_that_its_branch_names(base):
    fields = {"repository": "acme/infra", "pull_request": 5, "sha": AFTER, "sender": "octocat"}
    group = changed(GROUP, "merge_group.head_ref", QUEUED.replace("main", base))
    assert read_event("merge_group", group) == Accepted("merge_group", fields)


def test_a_longest_command_is_taken():
    body = "tidegate " + "a" * 991
    assert read_event("issue_comment", changed(COMMENT, "comment.body", body)).fields["text"] == body


@pytest.mark.parametrize("commits", [[None], [{"author": None}], [{"author": {"username": "a b"}}]])
def test_who_made_a_commit_may_not_be_known_to_the_forge(commits):
    assert read_event("push", changed(PUSH, "commits", commits)).fields["authors"] is None


def test_a_push_does_not_tell_who_made_a_commit_besides_its_author():
    commit = {"author": {"username": "ann"}, "message": "Grow\n\nCo-authored-by: Ben <ben@example.com>"}
    assert read_event("push", changed(PUSH, "commits", [commit])).fields["authors"] is None


def pushed_by(names):
    return changed(PUSH, "commits", [{"author": {"username": name}} for name in names])


def test_authors_of_a_push_are_told_once():
    names = ["b", "a", "b", *(f"person-{number}" for number in range(30))]
    authors = read_event("push", pushed_by(names)).fields["authors"]
    assert (authors[:3], len(authors)) == (["b", "a", "person-0"], 32)


@pytest.mark.parametrize("commits", [..., None, {}, []])
def test_a_push_that_does_not_list_its_commits_does_not_tell_who_made_them(commits):
    assert read_event("push", changed(PUSH, "commits", commits)).fields["authors"] is None


@pytest.mark.parametrize("names", [["a"] * 2048, [f"person-{number}" for number in range(MAXIMUM_AUTHORS + 1)]])
def test_a_push_whose_list_may_be_cut_does_not_tell_who_made_it(names):
    assert read_event("push", pushed_by(names)).fields["authors"] is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
leaves = st.sampled_from(
    [f"push:{path}" for path in ("ref", "before", "after", "deleted", "forced", "repository.full_name", "sender.login")]
    + [f"check_run:{path}" for path in ("action", "check_run", "check_run.name", "requested_action", "check_run.id")]
    + [f"check_suite:{path}" for path in ("action", "check_suite", "check_suite.head_sha")]
    + [f"issue_comment:{path}" for path in ("issue", "issue.pull_request", "comment.id", "comment.body", "sender.type")]
    + [f"pull_request:{path}" for path in ("action", "pull_request", "pull_request.number", "installation")]
    + [f"merge_group:{path}" for path in ("action", "merge_group", "merge_group.head_ref", "merge_group.head_sha")]
    + [f"status:{path}" for path in ("sha", "state", "repository.full_name", "installation")]
    + ["push:commits", "pull_request_review:action", "pull_request_review:pull_request"]
)


@given(leaves, json_values)
def test_whatever_stands_in_an_event_it_is_decided_about(leaf, value):
    event, _, path = leaf.partition(":")
    payload = changed(EVENTS[event], path, value)
    try:
        decision = read_event(event, payload)
    except InvalidWebhook:
        return
    assert json.dumps(decision.fields if isinstance(decision, Accepted) else decision.reason)


@pytest.mark.parametrize("action", ["renamed", "transferred"])
def test_a_repository_that_gets_another_name_is_another_repository(action):
    assert read_event("repository", {"action": action}) == Ignored(
        "The repository was renamed. Tidegate treats it as another repository under the new name."
    )
