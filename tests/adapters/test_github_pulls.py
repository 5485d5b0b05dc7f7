"""Pull requests, people, branches and the App's deliveries, as the GitHub adapter reads them."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import NOW, REPOSITORY, TOKENS, repo
from tests.builders import sha
from tests.instants import utc
from tidegate.ports import Change, FailedDelivery
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable, NotFound
from tidegate.rules.permission import Permission
from tidegate.vcs.github.deliveries import GitHubDeliveries
from tidegate.vcs.github.forge import AppCredentials
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict

BASE, HEAD = "a" * 40, "b" * 40
PULL = {
    "number": 5,
    "state": "open",
    "mergeable": True,
    "user": {"login": "author"},
    "head": {"sha": HEAD, "ref": "feature/x", "repo": {"full_name": REPOSITORY}},
    "base": {"sha": BASE, "ref": "main", "repo": {"full_name": REPOSITORY}},
}
NO_CHECKS = (200, {"total_count": 0, "check_runs": []})
NO_STATUSES = (200, {"state": "pending", "statuses": [], "total_count": 0})
UNPROTECTED = (200, {"protection": {"enabled": False}})


@pytest.fixture
def pull(github):
    """Return what makes GitHub show a pull request."""

    def show(checks=NO_CHECKS, statuses=NO_STATUSES, base=UNPROTECTED, **fields):
        github.on("GET", repo("pulls/5"), (200, {**PULL, **fields}))
        github.on("GET", repo(f"commits/{HEAD}/check-runs"), checks)
        github.on("GET", repo(f"commits/{HEAD}/status"), *([statuses] if isinstance(statuses, tuple) else statuses))
        github.on("GET", repo("branches/main"), base)

    return show


def test_a_pull_request_is_read_as_it_is_now(forge, pull):
    pull()
    assert forge.pull_request(REPOSITORY, 5) == PullRequest(
        5, HEAD, "feature/x", "main", "author", True, False, True, ()
    )


def test_the_token_for_a_pull_request_may_read_only(forge, github, pull):
    pull()
    forge.pull_request(REPOSITORY, 5)
    for asked in github.asked("POST", TOKENS):
        assert asked.body["repositories"] == ["infrastructure"]
        assert set(asked.body["permissions"].values()) == {"read"}


def test_a_permission_that_the_app_was_not_given_is_named(forge, github):
    github.on("POST", TOKENS, (422, {"message": "The permissions requested are not granted to this installation."}))
    given = {"metadata": "read", "pull_requests": "read", "checks": "write"}
    github.on("GET", TOKENS.rpartition("/")[0], (200, {"permissions": given}))
    with pytest.raises(AppLacksPermission) as reading:
        forge.pull_request(REPOSITORY, 5)
    assert reading.value.permissions == ("statuses: read",)
    with pytest.raises(AppLacksPermission, match="pull_requests: write"):
        forge.comment(REPOSITORY, 5, "Hello")


def test_a_token_that_is_refused_for_another_reason_is_refused_as_ever(forge, github):
    github.on("POST", TOKENS, (422, {"message": "There is at least one repository that does not exist."}))
    github.on("GET", TOKENS.rpartition("/")[0], (200, {"permissions": {"metadata": "read", "contents": "read"}}))
    with pytest.raises(ForgeRefused, match="does not exist"):
        forge.branch_head(REPOSITORY, "main")


@pytest.mark.parametrize("head", [{"full_name": "stranger/infrastructure"}, None])
def test_a_head_in_another_repository_or_in_none_any_more_is_a_fork(forge, pull, head):
    pull(head={**PULL["head"], "repo": head})
    assert forge.pull_request(REPOSITORY, 5).from_fork


def test_what_github_does_not_know_yet_is_not_known(forge, pull):
    pull(mergeable=None, user=None, state="closed")
    read = forge.pull_request(REPOSITORY, 5)
    assert (read.mergeable, read.author, read.is_open) == (None, "ghost", False)


def test_failed_and_running_checks_of_others_hold_up(forge, pull):
    runs = [
        {"id": 1, "name": "build", "status": "completed", "conclusion": "failure", "app": {"id": 9}},
        {"id": 2, "name": "test", "status": "in_progress", "conclusion": None, "app": {"id": 9}},
        {"id": 3, "name": "lint", "status": "completed", "conclusion": "skipped", "app": {"id": 9}},
        {"id": 4, "name": "tidegate/deploy: a", "status": "completed", "conclusion": "failure", "app": {"id": 123}},
        {"id": 5, "name": "tidegate/forged", "status": "completed", "conclusion": "failure", "app": {"id": 9}},
    ]
    statuses = [{"context": "ci/old", "state": "pending"}, {"context": "ci/good", "state": "success"}]
    pull((200, {"total_count": 5, "check_runs": runs}), (200, {"statuses": statuses, "total_count": 2}))
    assert forge.pull_request(REPOSITORY, 5).failing_checks == ("build", "ci/old", "test", "tidegate/forged")


def test_statuses_of_all_pages_hold_up(forge, pull):
    good = [{"context": f"ci/{number}", "state": "success"} for number in range(100)]
    pages = [(200, {"statuses": page, "total_count": 101}) for page in (good, [{"context": "late", "state": "error"}])]
    pull(statuses=pages)
    assert forge.pull_request(REPOSITORY, 5).failing_checks == ("late",)


def test_more_statuses_than_are_read_hold_up(forge, pull):
    pull(statuses=(200, {"statuses": [], "total_count": 1001}))
    assert forge.pull_request(REPOSITORY, 5).failing_checks == ("more statuses than Tidegate reads",)


def test_a_check_that_the_branch_requires_holds_up_before_it_has_begun(forge, pull):
    required = {"contexts": ["build", "ci/unit", "lint", "tidegate/deploy: a"]}
    build = {"id": 1, "name": "build", "status": "completed", "conclusion": "success", "app": {"id": 9}}
    pull(
        checks=(200, {"total_count": 1, "check_runs": [build]}),
        statuses=(200, {"statuses": [{"context": "lint", "state": "success"}], "total_count": 1}),
        base=(200, {"protection": {"required_status_checks": required}}),
    )
    assert forge.pull_request(REPOSITORY, 5).failing_checks == ("ci/unit",)


def test_a_branch_that_is_gone_requires_no_checks(forge, pull):
    pull(base=(404, {"message": "Branch not found"}))
    assert forge.pull_request(REPOSITORY, 5).failing_checks == ()


def test_a_branch_that_may_not_be_read_lets_nothing_pass(forge, pull):
    pull(base=(403, {"message": "no"}))
    with pytest.raises(ForgeRefused):
        forge.pull_request(REPOSITORY, 5)


def test_a_pull_request_that_is_none_is_not_found(forge, github):
    github.on("GET", repo("pulls/5"), (404, {"message": "Not Found"}))
    with pytest.raises(NotFound):
        forge.pull_request(REPOSITORY, 5)
    github.on("GET", repo("pulls/5"), (403, {"message": "Resource not accessible by integration"}))
    with pytest.raises(ForgeRefused):
        forge.pull_request(REPOSITORY, 5)


def test_reviews_are_read_without_those_that_were_not_sent(forge, github):
    review = {"id": 1, "user": {"login": "reviewer"}, "commit_id": HEAD, "submitted_at": "2026-03-02T10:00:00+01:00"}
    states = ["APPROVED", "PENDING", "CHANGES_REQUESTED"]
    github.on("GET", repo("pulls/5/reviews"), (200, [{**review, "state": state} for state in states]))
    approved, changes = forge.reviews(REPOSITORY, 5)
    at = utc("2026-03-02T09:00")
    assert approved == PullRequestReview("reviewer", ReviewVerdict.APPROVED, HEAD, at, 1)
    assert changes.verdict is ReviewVerdict.CHANGES_REQUESTED


def test_a_comment_and_a_reaction_are_one_request_each(forge, github):
    github.on("POST", repo("issues/5/comments"), (201, {"id": 1}))
    github.on("POST", repo("issues/comments/77/reactions"), (200, {"id": 2}))
    forge.comment(REPOSITORY, 5, "text")
    forge.react(REPOSITORY, 5, 77, "rocket")
    assert [request.body for request in github.received[2:]] == [{"body": "text"}, {"content": "rocket"}]
    assert github.received[1].body["permissions"] == {"pull_requests": "write", "metadata": "read"}


@pytest.mark.parametrize(
    ("word", "permission"),
    [("admin", Permission.ADMIN), ("write", Permission.WRITE), ("read", Permission.READ), ("none", Permission.NONE)],
)
def test_githubs_word_is_a_permission(forge, github, word, permission):
    github.on("GET", repo("collaborators/octocat/permission"), (200, {"permission": word}))
    assert forge.permission(REPOSITORY, "octocat") is permission


def test_somebody_who_does_not_exist_may_do_nothing(forge, github):
    github.on("GET", repo("collaborators/nobody/permission"), (404, {"message": "nobody is not a user"}))
    assert forge.permission(REPOSITORY, "nobody") is Permission.NONE
    github.on("GET", repo("collaborators/nobody/permission"), (403, {"message": "no"}))
    with pytest.raises(ForgeRefused):
        forge.permission(REPOSITORY, "nobody")


MEMBERSHIP = "/orgs/acme/teams/operators/memberships/octocat"


@pytest.mark.parametrize(("state", "member"), [("active", True), ("pending", False)])
def test_only_active_members_are_in_a_team(forge, github, state, member):
    github.on("GET", MEMBERSHIP, (200, {"state": state, "role": "member"}))
    assert forge.is_team_member(REPOSITORY, "operators", "octocat") is member
    (asked,) = github.asked("POST", TOKENS)
    assert asked.body == {"permissions": {"members": "read"}}


def test_who_is_not_in_a_team_is_not_found_there(forge, github):
    github.on("GET", MEMBERSHIP, (404, {"message": "Not Found"}))
    assert forge.is_team_member(REPOSITORY, "operators", "octocat") is False
    github.on("GET", MEMBERSHIP, (500, {"message": "oops"}))
    with pytest.raises(ForgeUnavailable):
        forge.is_team_member(REPOSITORY, "operators", "octocat")


@pytest.mark.parametrize(("branch", "path"), [("main", "heads%2Fmain"), ("feature/x#1", "heads%2Ffeature%2Fx%231")])
def test_a_branchs_head_is_asked_for_by_its_full_name(forge, github, branch, path):
    github.on("GET", repo(f"commits/{path}"), (200, {"sha": HEAD}))
    assert forge.branch_head(REPOSITORY, branch) == HEAD


@pytest.mark.parametrize("status", [404, 422])
def test_a_branch_that_is_none_is_not_found(forge, github, status):
    github.on("GET", repo("commits/heads%2Fgone"), (status, {"message": "No commit found"}))
    with pytest.raises(NotFound):
        forge.branch_head(REPOSITORY, "gone")


def test_a_branch_that_may_not_be_read_is_refused(forge, github):
    github.on("GET", repo("commits/heads%2Fmain"), (403, {"message": "no"}))
    with pytest.raises(ForgeRefused):
        forge.branch_head(REPOSITORY, "main")


def test_the_default_branch_is_the_repositorys(forge, github):
    github.on("GET", f"/repos/{REPOSITORY}", (200, {"full_name": REPOSITORY, "default_branch": "trunk"}))
    assert forge.default_branch(REPOSITORY) == "trunk"


def made_by(author, committer=None, *, sha=HEAD, parents=(), verified=False, **commit):
    """Return a commit as GitHub tells it, by somebody whom it knows, or whom it knows not if they have no name."""
    people = {"author": author, "committer": author if committer is None else committer}
    return {
        "sha": sha,
        "parents": [{"sha": each} for each in parents],
        **{role: {"login": login} if login else None for role, login in people.items()},
        "commit": {
            "message": "Grow",
            "verification": {"verified": verified},
            **{role: {"email": f"{login or 'unknown'}@example.com"} for role, login in people.items()},
            **commit,
        },
    }


def change_of(forge, github, *commits):
    answer = {
        "status": "ahead",
        "merge_base_commit": {"sha": BASE},
        "commits": commits,
        "total_commits": len(commits),
    }
    github.on("GET", repo(f"compare/main...{HEAD}"), (200, answer))
    return forge.change(REPOSITORY, "main", HEAD)


def test_what_a_branch_changes_comes_after_what_it_has_in_common_and_has_authors(forge, github):
    compare = repo(f"compare/main...{HEAD}")
    commits = [made_by(author, parents=[sha(9)]) for author in ("b", "a", "b", "b")]
    answer = {"status": "diverged", "merge_base_commit": {"sha": BASE}, "commits": commits, "total_commits": 4}
    github.on("GET", compare, (200, answer))
    assert forge.change(REPOSITORY, "main", HEAD) == Change(
        BASE, Authors(("b", "a")), Authors(("b", "a")), commits=(HEAD,) * 4
    )
    github.on("GET", compare, (404, {"message": "No common ancestor"}))
    with pytest.raises(NotFound):
        forge.change(REPOSITORY, "main", HEAD)
    github.on("GET", compare, (500, {"message": "oops"}))
    with pytest.raises(ForgeUnavailable):
        forge.change(REPOSITORY, "main", HEAD)


def test_who_committed_a_change_is_told_but_not_that_github_itself_did(forge, github):
    change = change_of(forge, github, made_by("a", "b"), made_by("a", "web-flow", verified=True))
    assert (change.authors, change.committers) == (Authors(("a",)), Authors(("b",)))


def test_whoever_writes_githubs_own_address_into_a_commit_is_somebody(forge, github):
    assert not change_of(forge, github, made_by("a", "")).committers.known
    change = change_of(forge, github, made_by("a", "web-flow"))
    assert change.committers == Authors(("web-flow",))
    assert change.authors.known


def test_of_an_address_of_which_github_knows_nobody_the_author_is_not_known(forge, github):
    change = change_of(forge, github, made_by("a"), made_by("", "a"))
    assert (change.authors, change.committers) == (Authors(("a",), known=False), Authors(("a",)))


@pytest.mark.parametrize(
    ("address", "authors"),
    [
        ("7+Ann@users.noreply.github.com", Authors(("a", "ann"))),
        ("ann@users.noreply.github.com", Authors(("a", "ann"))),
        ("B@example.com", Authors(("a", "b"))),
        ("else@example.com", Authors(("a",), known=False)),
        ("", Authors(("a",), known=False)),
    ],
)
def test_whom_a_message_names_besides_is_an_author_too(forge, github, address, authors):
    message = f"Grow\n\nText.\nCO-authored-by: Somebody <{address}>\n"
    assert change_of(forge, github, made_by("a", "b", message=message)).authors == authors


@pytest.mark.parametrize(
    ("status", "commits", "total", "forks_once"),
    [
        ("ahead", {HEAD: [BASE, sha(9)]}, 1, True),
        ("behind", {}, 0, True),
        ("identical", {}, 0, True),
        ("diverged", {sha(5): [BASE], HEAD: [sha(5)]}, 2, True),
        ("diverged", {sha(5): [BASE], sha(6): [BASE], HEAD: [sha(5), sha(6)]}, 3, True),
        # Its branch was merged with an older commit of the base, or with one of a third branch.
        ("diverged", {sha(5): [sha(9)], HEAD: [sha(5), BASE]}, 2, False),
        # Not all commits are told.
        ("diverged", {HEAD: [BASE]}, 2, False),
    ],
)
def test_two_branches_are_known_to_fork_once_where_no_commit_comes_after_another_one(
    forge, github, status, commits, total, forks_once
):
    listed = [made_by("a", sha=one, parents=parents) for one, parents in commits.items()]
    answer = {"status": status, "merge_base_commit": {"sha": BASE}, "commits": listed, "total_commits": total}
    github.on("GET", repo(f"compare/main...{HEAD}"), (200, answer), (200, {"commits": []}))
    change = forge.change(REPOSITORY, "main", HEAD)
    assert (change.after, change.forks_once) == (BASE, forks_once)
    assert change.fork_sha == (BASE if forks_once else "")


def test_authors_are_those_of_all_pages_of_a_change(forge, github):
    compare = repo(f"compare/main...{HEAD}")
    pages = [made_by("a", sha=BASE)] * 100, [made_by("b")] * 50
    compared = {"status": "ahead", "merge_base_commit": {"sha": BASE}}
    more = [(200, {**compared, "commits": page, "total_commits": 150}) for page in pages]
    github.on("GET", compare, *more)
    assert forge.change(REPOSITORY, "main", HEAD).authors == Authors(("a", "b"))
    assert [request.path.partition("?")[2] for request in github.asked("GET", compare)] == [
        "per_page=100",
        "page=2&per_page=100",
    ]


def test_of_a_change_of_more_commits_than_are_read_not_all_authors_are_known(forge, github):
    commits = [made_by("a")] * 100
    answer = {"status": "ahead", "merge_base_commit": {"sha": BASE}, "commits": commits, "total_commits": 1001}
    github.on("GET", repo(f"compare/main...{HEAD}"), (200, answer))
    assert forge.change(REPOSITORY, "main", HEAD).authors == Authors(("a",), known=False)


LISTED = {
    **PULL,
    "head": {**PULL["head"], "repo": {"id": 1}},
    "base": {**PULL["base"], "sha": BASE, "repo": {"id": 1}},
    "title": "Grow",
    "created_at": "2026-03-02T08:00:00Z",
    "merged_at": "2026-03-02T09:00:00Z",
}


def test_the_pull_requests_that_a_commit_came_with_are_told(forge, github):
    pulls = repo(f"commits/{HEAD}/pulls")
    github.on("GET", pulls, (200, [LISTED]))
    (found,) = forge.pull_requests_of(REPOSITORY, HEAD)
    assert found.spec.number == 5
    for status in (404, 422):
        github.on("GET", pulls, (status, {"message": "No commit found"}))
        with pytest.raises(NotFound):
            forge.pull_requests_of(REPOSITORY, HEAD)
    github.on("GET", pulls, (403, {"message": "no"}))
    with pytest.raises(ForgeRefused):
        forge.pull_requests_of(REPOSITORY, HEAD)


def test_check_runs_of_a_commit_are_our_own(forge, github):
    runs = [{"id": 5, "external_id": "a-1", "app": {"id": 123}}, {"id": 6, "external_id": "x", "app": {"id": 666}}]
    github.on("GET", repo(f"commits/{HEAD}/check-runs"), (200, {"total_count": 2, "check_runs": runs}))
    assert forge.commit_check_runs(REPOSITORY, HEAD) == {5: "a-1"}


DELIVERIES = "/app/hook/deliveries"
SINCE = utc("2026-03-02T09:00")


def attempt(number, guid, code, at="2026-03-02T09:30:00Z", **fields):
    return {"id": number, "guid": guid, "status_code": code, "delivered_at": at, "event": "push", **fields}


@pytest.fixture
def deliveries(github, private_key):
    app = AppCredentials("123", private_key[0])
    return GitHubDeliveries(lambda: app, api_url=github.url, now=lambda: NOW)


def test_deliveries_of_which_no_attempt_succeeded_have_failed(deliveries, github):
    page = [
        attempt(9, "again", 202, redelivery=True),
        attempt(8, "twice", 500, redelivery=True),
        attempt(7, "twice", 502),
        attempt(6, "again", 500),
        attempt(5, "lost", 0),
        attempt(4, "good", 200),
        attempt(3, "old", 500, at="2026-03-02T08:59:59Z"),
    ]
    github.on("GET", DELIVERIES, (200, page))
    at = utc("2026-03-02T09:30")
    assert deliveries.failed(SINCE) == [
        FailedDelivery(5, "lost", "push", at),
        FailedDelivery(8, "twice", "push", at),
    ]
    assert github.received[0].authorization.startswith("Bearer ey")


def test_deliveries_are_read_page_by_page(deliveries, github):
    link = {"Link": f'<{github.url}{DELIVERIES}?per_page=100&cursor=v1_25>; rel="next"'}
    github.on("GET", DELIVERIES, (200, [attempt(2, "b", 500)], link), (200, [attempt(1, "a", 500)]))
    assert [each.guid for each in deliveries.failed(SINCE)] == ["a", "b"]
    assert "cursor=v1_25" in github.received[1].path


def test_no_more_pages_are_read_than_the_limit(deliveries, github):
    link = {"Link": f'<{github.url}{DELIVERIES}?per_page=100&cursor=v1_25>; rel="next"'}
    github.on("GET", DELIVERIES, (200, [attempt(2, "b", 500)], link))
    assert len(deliveries.failed(SINCE)) == 1
    assert len(github.received) == 20


def test_a_delivery_is_sent_again_by_its_number(deliveries, github):
    github.on("POST", f"{DELIVERIES}/8/attempts", (202, {}))
    deliveries.redeliver(8)
    github.on("POST", f"{DELIVERIES}/8/attempts", (404, {"message": "Not Found"}))
    with pytest.raises(ForgeRefused):
        deliveries.redeliver(8)


def test_deliveries_that_cannot_be_listed_now_are_a_refusal_like_any_other(deliveries, github):
    github.on("GET", DELIVERIES, (500, {"message": "oops"}))
    with pytest.raises(ForgeUnavailable):
        deliveries.failed(SINCE)
