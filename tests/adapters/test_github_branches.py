"""Config repositories on GitHub: what is asked, and what answers mean that the stand-in does not give."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import REPOSITORY, TOKENS, repo
from tidegate.ports import Moved
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable
from tidegate.vcs.github.branches import COMMITS_PER_QUERY
from tidegate.vcs.rules.check_report import CheckReport, Source

GRAPHQL, OLD, NEW = "/graphql", "a" * 40, "b" * 40
PLACE = {"id": "R_1", "defaultBranchRef": {"name": "main"}, "ref": {"target": {"oid": OLD}}}
DONE = {"updateRefs": {"clientMutationId": None}}


def data(**parts):
    return 200, {"data": {"repository": parts}}


def refused(kind=None, message="No."):
    return 200, {"data": None, "errors": [{"type": kind, "message": message}]}


def run(number, **fields):
    known = {"name": "build", "status": "COMPLETED", "conclusion": "SUCCESS", "startedAt": None}
    return {"__typename": "CheckRun", "databaseId": number, **known, "checkSuite": {"app": {"slug": "ci"}}, **fields}


def rollup(*nodes, after=None):
    page = {"hasNextPage": after is not None, "endCursor": after}
    return {"statusCheckRollup": {"contexts": {"nodes": [*nodes], "pageInfo": page}}}


def test_heads_of_branches_are_one_query(forge, github):
    github.on("POST", GRAPHQL, data(b0={"target": {"oid": OLD}}, b1=None))
    assert forge.branch_heads(REPOSITORY, ["main", "auto"]) == {"main": OLD}
    (asked,) = github.asked("POST", GRAPHQL)
    assert {"b0": "refs/heads/main", "b1": "refs/heads/auto"}.items() <= asked.body["variables"].items()
    assert "refs/heads" not in asked.body["query"]


def test_checks_of_many_commits_are_a_query_for_each_fifty(forge, github):
    commits = [f"{number:040x}" for number in range(COMMITS_PER_QUERY + 1)]
    full = data(**{f"c{number}": rollup(run(7)) for number in range(COMMITS_PER_QUERY)})
    github.on("POST", GRAPHQL, full, data(c0=None))
    reports = forge.check_reports(REPOSITORY, "auto", commits)
    assert len(github.asked("POST", GRAPHQL)) == 2
    assert [len(reports[each]) for each in commits] == [1] * COMMITS_PER_QUERY + [0]
    assert github.asked("POST", TOKENS)[0].body["permissions"] == {
        "checks": "read",
        "contents": "read",
        "metadata": "read",
        "statuses": "read",
    }


def test_more_reports_than_a_page_has_are_read_to_their_end(forge, github):
    github.on("POST", GRAPHQL, data(c0=rollup(run(1), after="x"), c1=rollup()), data(c0=rollup(run(2))))
    reports = forge.check_reports(REPOSITORY, "auto", [OLD, NEW])
    assert [each.number for each in reports[OLD]] == [1, 2]
    assert reports[NEW] == []
    assert github.asked("POST", GRAPHQL)[1].body["variables"]["a0"] == "x"


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, "success"),
        ({"conclusion": "TIMED_OUT"}, "timed_out"),
        ({"conclusion": None, "status": "IN_PROGRESS"}, "in_progress"),
        ({"conclusion": None, "status": "WAITING"}, "waiting"),
    ],
)
def test_results_are_in_the_words_of_rest(forge, github, fields, result):
    github.on("POST", GRAPHQL, data(c0=rollup(run(1, **fields))))
    assert [each.result for each in forge.check_reports(REPOSITORY, "auto", [OLD])[OLD]] == [result]


@pytest.mark.parametrize(
    ("creator", "app"),
    [
        ({"__typename": "Bot", "login": "ci"}, "ci"),
        ({"__typename": "Bot", "login": "ci[bot]"}, "ci"),
        ({"__typename": "User", "login": "Octo-Cat"}, "@octo-cat"),
        (None, ""),
    ],
)
def test_a_status_is_of_who_set_it(forge, github, creator, app):
    told = {"context": "build", "state": "SUCCESS", "createdAt": "2026-03-02T08:00:00Z", "creator": creator}
    github.on("POST", GRAPHQL, data(c0=rollup({"__typename": "StatusContext", **told})))
    (report,) = forge.check_reports(REPOSITORY, "auto", [OLD])[OLD]
    assert (report.app, report.source, report.number) == (app, Source.STATUS, 1_772_438_400_000_000)


def test_a_check_run_of_a_deleted_app_is_of_none(forge, github):
    github.on("POST", GRAPHQL, data(c0=rollup(run(1, checkSuite={"app": None}))))
    assert [each.app for each in forge.check_reports(REPOSITORY, "auto", [OLD])[OLD]] == [""]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused("RATE_LIMITED"), ForgeUnavailable),
        (refused("FORBIDDEN", "Resource not accessible by integration"), ForgeRefused),
        ((502, {"message": "Bad gateway"}), ForgeUnavailable),
        ((200, {"data": {"repository": None}}), ForgeRefused),
    ],
)
def test_an_answer_with_an_error_is_no_answer(forge, github, answer, error):
    github.on("POST", GRAPHQL, answer)
    with pytest.raises(error):
        forge.check_reports(REPOSITORY, "auto", [OLD])


class TestRequesting:
    def test_a_job_of_github_actions_runs_again(self, forge, github):
        github.on("POST", repo("actions/jobs/7/rerun"), (201, {}))
        report = CheckReport(Source.CHECK_RUN, "build", "github-actions", "timed_out", 7)
        assert forge.request_check(REPOSITORY, report) is True
        assert github.asked("POST", TOKENS)[0].body["permissions"] == {"actions": "write", "metadata": "read"}

    @pytest.mark.parametrize("status", [201, 403, 404, 422])
    def test_a_check_run_is_requested_of_its_app_as_far_as_github_lets(self, forge, github, status):
        github.on("POST", repo("check-runs/7/rerequest"), (status, {"message": "no"}))
        report = CheckReport(Source.CHECK_RUN, "build", "ci", "timed_out", 7)
        assert forge.request_check(REPOSITORY, report) is (status == 201)

    def test_what_does_not_answer_is_tried_again_later(self, forge, github):
        github.on("POST", repo("check-runs/7/rerequest"), (502, {"message": "no"}))
        with pytest.raises(ForgeUnavailable):
            forge.request_check(REPOSITORY, CheckReport(Source.CHECK_RUN, "build", "ci", "timed_out", 7))


class TestMoving:
    def test_the_default_branch_moves_from_the_expected_commit_without_force(self, forge, github):
        github.on("GET", repo(f"compare/{OLD}...{NEW}"), (200, {"status": "ahead"}))
        github.on("POST", GRAPHQL, data(**PLACE), (200, {"data": DONE}))
        assert forge.move_branch(REPOSITORY, "main", OLD, NEW) == Moved(done=True, at=NEW)
        move = github.asked("POST", GRAPHQL)[1].body["variables"]
        assert move == {"repository": "R_1", "ref": "refs/heads/main", "old": OLD, "new": NEW, "force": False}

    def test_a_branch_that_must_not_exist_is_expected_at_zeros(self, forge, github):
        github.on("POST", GRAPHQL, data(**PLACE | {"ref": None}), (200, {"data": DONE}))
        assert forge.move_branch(REPOSITORY, "auto", "", NEW).done
        move = github.asked("POST", GRAPHQL)[1].body["variables"]
        assert (move["old"], move["force"]) == ("0" * 40, True)

    @pytest.mark.parametrize("status", ["diverged", "behind"])
    def test_the_default_branch_is_not_asked_to_move_elsewhere(self, forge, github, status):
        github.on("GET", repo(f"compare/{OLD}...{NEW}"), (200, {"status": status}))
        github.on("POST", GRAPHQL, data(**PLACE))
        assert "only moves forward" in forge.move_branch(REPOSITORY, "main", OLD, NEW).reason
        assert len(github.asked("POST", GRAPHQL)) == 1

    @pytest.mark.parametrize("answer", [refused(), (502, {"message": "no"}), (403, {"message": "no"})])
    @pytest.mark.parametrize(("at", "done"), [(NEW, True), ("c" * 40, False)])
    def test_after_any_error_the_branch_itself_says_where_it_is(self, forge, github, answer, at, done):
        github.on("POST", GRAPHQL, data(**PLACE), answer, data(b0={"target": {"oid": at}}))
        assert forge.move_branch(REPOSITORY, "auto", OLD, NEW) == Moved(done=done, at=at)

    def test_a_refusal_is_told_in_githubs_words(self, forge, github):
        said = refused("UNPROCESSABLE", "Cannot update this\nprotected ref.")
        github.on("POST", GRAPHQL, data(**PLACE), said, data(b0={"target": {"oid": OLD}}))
        told = Moved(done=False, at=OLD, reason="Cannot update this protected ref.")
        assert forge.move_branch(REPOSITORY, "auto", OLD, NEW) == told

    def test_a_branch_that_has_not_moved_after_no_answer_is_tried_again(self, forge, github):
        github.on("POST", GRAPHQL, data(**PLACE), (502, {"message": "no"}), data(b0={"target": {"oid": OLD}}))
        with pytest.raises(ForgeUnavailable):
            forge.move_branch(REPOSITORY, "auto", OLD, NEW)


def test_a_token_that_writes_is_for_contents_of_one_repository(forge, github):
    assert forge.write_token(REPOSITORY) == "token-1"
    (asked,) = github.asked("POST", TOKENS)
    assert asked.body == {"repositories": ["infrastructure"], "permissions": {"contents": "write", "metadata": "read"}}


def test_an_app_that_may_not_write_says_which_permission_it_lacks(forge, github):
    github.on("POST", TOKENS, (422, {"message": "not granted"}))
    github.on("GET", TOKENS.removesuffix("/access_tokens"), (200, {"permissions": {"contents": "read"}}))
    with pytest.raises(AppLacksPermission, match="contents: write"):
        forge.write_token(REPOSITORY)
