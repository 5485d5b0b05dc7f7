"""What GitLab's answers mean: limits, refusals, and what it tells in some versions only."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import NOW
from tests.instants import utc
from tidegate.ports import Pushed
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable, NotFound
from tidegate.rules.permission import Permission
from tidegate.vcs.adapters.accounts import GitLabAccounts, OAuthClient
from tidegate.vcs.gitlab.forge import GitLabCredentials, GitLabDeliveries, GitLabForge
from tidegate.vcs.rules.authors import UNKNOWN, Authors

REPOSITORY, HEAD, OLDER = "acme/platform/infra", "c" * 40, "b" * 40
PROJECT = "/projects/acme%2Fplatform%2Finfra"
REQUEST = f"{PROJECT}/merge_requests/5"


@pytest.fixture
def gitlab(github):
    return github


@pytest.fixture
def forge(gitlab):
    tokens = GitLabCredentials("api-token", "clone-token")
    return GitLabForge(lambda: tokens, url="https://gitlab.example/", api_url=gitlab.url, now=lambda: NOW)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ((429, "Retry later\n", {"Retry-After": "17", "Content-Type": "text/plain"}), 17),
        ((429, {"message": "too many"}, {"RateLimit-Reset": str(int(NOW) + 30)}), 31),
        ((429, {"message": "too many"}, {}), 60),
        ((502, "<html>Bad Gateway</html>", {}), None),
        ((503, {}, {"Retry-After": "5"}), 5),
    ],
)
def test_what_gitlab_does_not_take_for_now_is_tried_later(gitlab, forge, answer, seconds):
    gitlab.on("GET", PROJECT, answer)
    with pytest.raises(ForgeUnavailable) as refused:
        forge.default_branch(REPOSITORY)
    assert refused.value.retry_after == seconds


def test_a_server_that_is_not_there_is_tried_later():
    tokens = GitLabCredentials("api-token", "clone-token")
    forge = GitLabForge(lambda: tokens, url="https://gitlab.example", api_url="http://127.0.0.1:9")
    with pytest.raises(ForgeUnavailable):
        forge.default_branch(REPOSITORY)


@pytest.mark.parametrize("content", ["<html>", ""])
def test_an_answer_that_is_none_is_tried_later(gitlab, forge, content):
    gitlab.on("GET", "/user", (200, content))
    with pytest.raises(ForgeUnavailable):
        forge.our_comments(REPOSITORY, 5, "x")


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (401, {"message": "401 Unauthorized"}, "401 Unauthorized"),
        (403, {"message": "403 Forbidden"}, "403 Forbidden"),
        (404, {"message": "404 Project Not Found"}, "Project Not Found"),
        (400, {"error": "note is missing"}, "note is missing"),
        (400, {"message": {"note": ["can't be blank"]}}, "be blank"),
        (301, "", "no reason given"),
    ],
)
def test_a_refusal_has_gitlabs_words(gitlab, forge, status, said, words):
    gitlab.on("GET", PROJECT, (status, said))
    with pytest.raises(ForgeRefused, match=words):
        forge.default_branch(REPOSITORY)


def test_a_token_without_the_scope_lacks_a_permission(gitlab, forge):
    gitlab.on("GET", PROJECT, (403, {"error": "insufficient_scope", "error_description": "…", "scope": "api"}))
    with pytest.raises(AppLacksPermission, match="scope api"):
        forge.default_branch(REPOSITORY)


def test_tokens_are_never_shown():
    shown = repr(GitLabCredentials("api-token", "clone-token"))
    assert "api-token" not in shown
    assert "clone-token" not in shown


def test_runners_get_the_token_that_only_reads(forge):
    assert forge.clone_token(REPOSITORY) == "clone-token"


VERSIONS = [
    {"id": 1, "head_commit_sha": OLDER, "created_at": "2026-03-02T09:00:00.000Z"},
    {"id": 2, "head_commit_sha": HEAD, "created_at": "2026-03-02T10:00:00.000Z"},
]


def approved(at=None, user_id=11):
    return {"user": {"id": user_id, "username": f"user-{user_id}"}, **({"approved_at": at} if at else {})}


@pytest.mark.parametrize(
    ("at", "sha"),
    [("2026-03-02T09:30:00.000Z", OLDER), ("2026-03-02T11:30:00.000+01:00", HEAD), ("2026-03-02T08:00:00.000Z", "")],
)
def test_an_approval_is_of_the_head_at_its_time(gitlab, forge, at, sha):
    gitlab.on("GET", f"{REQUEST}/approvals", (200, {"approved_by": [approved(at)]}))
    gitlab.on("GET", f"{REQUEST}/versions", (200, VERSIONS))
    (review,) = forge.reviews(REPOSITORY, 5)
    assert (review.by, review.sha) == ("user-11", sha)


def test_older_versions_tell_of_approvals_in_notes_of_their_own(gitlab, forge):
    def note(at, body="approved this merge request", user_id=11, *, system=True):
        return {"id": 1, "body": body, "system": system, "created_at": at, "author": {"id": user_id}}

    notes = [
        note("2026-03-02T09:30:00.000Z"),
        note("2026-03-02T09:40:00.000Z", "unapproved this merge request"),
        note("2026-03-02T10:30:00.000Z"),
        note("2026-03-02T10:40:00.000Z", user_id=12, system=False),
    ]
    given = [approved(), approved(user_id=12)]
    gitlab.on("GET", f"{REQUEST}/approvals", (200, {"approved_by": given}))
    gitlab.on("GET", f"{REQUEST}/versions", (200, VERSIONS))
    gitlab.on("GET", f"{REQUEST}/notes", (200, notes))
    assert {review.by: review.sha for review in forge.reviews(REPOSITORY, 5)} == {"user-11": HEAD, "user-12": ""}


@pytest.mark.parametrize(
    ("addresses", "found", "authors"),
    [
        (["9-dev.eloper@users.noreply.gitlab.example"], [], Authors(("dev.eloper",))),
        (["developer@example.com"], [{"username": "developer"}], Authors(("developer",))),
        (["developer@example.com"], [], UNKNOWN),
        (["developer@example.com"], [{"username": "one"}, {"username": "two"}], UNKNOWN),
        ([f"somebody-{number}@example.com" for number in range(11)], [{"username": "one"}], UNKNOWN),
    ],
)
def test_authors_are_known_as_far_as_gitlab_tells(gitlab, forge, addresses, found, authors):
    gitlab.on("GET", f"{PROJECT}/repository/merge_base", (200, {"id": OLDER}))
    commits = [{"id": HEAD, "author_email": address} for address in addresses]
    gitlab.on("GET", f"{PROJECT}/repository/compare", (200, {"commits": commits}))
    gitlab.on("GET", "/users", (200, found))
    assert forge.change(REPOSITORY, "main", HEAD).authors == authors


def test_who_committed_is_known_as_far_as_gitlab_tells(gitlab, forge):
    gitlab.on("GET", f"{PROJECT}/repository/merge_base", (200, {"id": OLDER}))
    private = "9-developer@users.noreply.gitlab.example"
    both = (private, "else@example.com")
    commits = [{"id": HEAD, "author_email": private, "committer_email": each} for each in both]
    gitlab.on("GET", f"{PROJECT}/repository/compare", (200, {"commits": commits}))
    gitlab.on("GET", "/users", (200, []))
    assert forge.change(REPOSITORY, "main", HEAD).committers == Authors(("developer",), known=False)
    assert len(gitlab.asked("GET", "/users")) == 1


def test_whom_a_message_names_besides_is_an_author_too(gitlab, forge):
    gitlab.on("GET", f"{PROJECT}/repository/merge_base", (200, {"id": OLDER}))
    address = "9-{}@users.noreply.gitlab.example"
    message = f"Grow\n\nCo-authored-by: Ann <{address.format('ann')}>"
    commits = [{"id": HEAD, "author_email": address.format("ben"), "message": message}]
    gitlab.on("GET", f"{PROJECT}/repository/compare", (200, {"commits": commits}))
    assert set(forge.change(REPOSITORY, "main", HEAD).authors.logins) == {"ann", "ben"}


@pytest.mark.parametrize(
    ("member", "permission"),
    [
        ({"access_level": 10, "state": "active"}, Permission.NONE),
        ({"access_level": 15, "state": "active"}, Permission.NONE),
        ({"access_level": 20, "state": "active"}, Permission.READ),
        ({"access_level": 30, "state": "active"}, Permission.WRITE),
        ({"access_level": 40, "state": "active", "membership_state": "active"}, Permission.MAINTAIN),
        ({"access_level": 50, "state": "active"}, Permission.ADMIN),
        ({"access_level": 50, "state": "blocked"}, Permission.NONE),
        ({"access_level": 50, "state": "active", "membership_state": "awaiting"}, Permission.NONE),
    ],
)
def test_access_levels_are_permissions(gitlab, forge, member, permission):
    gitlab.on("GET", "/users", (200, [{"id": 11, "username": "Developer"}]))
    gitlab.on("GET", f"{PROJECT}/members/all/11", (200, member))
    gitlab.on("GET", PROJECT, (200, {"visibility": "internal"}))
    assert forge.permission(REPOSITORY, "developer") is permission


def test_everybody_reads_what_is_public(gitlab, forge):
    gitlab.on("GET", "/users", (200, []))
    gitlab.on("GET", PROJECT, (200, {"visibility": "public"}))
    assert forge.permission(REPOSITORY, "stranger") is Permission.READ


def test_checks_of_others_hold_up_unless_they_may_fail(gitlab, forge):
    request = {
        "iid": 5,
        "sha": HEAD,
        "source_branch": "feature",
        "target_branch": "main",
        "state": "opened",
        "author": None,
        "source_project_id": 7,
        "target_project_id": 7,
        "merge_status": "checking",
        "references": {"full": "acme/platform/infra!5"},
    }
    ours, others = {"id": 1}, {"id": 2}
    statuses = [
        {"name": "tidegate/plan", "status": "running", "author": ours},
        {"name": "tidegate/forged", "status": "failed", "author": others},
        {"name": "test", "status": "running", "author": others},
        {"name": "lint", "status": "failed", "author": others, "allow_failure": True},
        {"name": "deploy", "status": "manual", "author": others},
        {"name": "build", "status": "success", "author": others},
    ]
    gitlab.on("GET", REQUEST, (200, request))
    gitlab.on("GET", "/user", (200, {"id": 1, "username": "tidegate-bot"}))
    gitlab.on("GET", f"{PROJECT}/repository/commits/{HEAD}/statuses", (200, statuses))
    read = forge.pull_request(REPOSITORY, 5)
    assert read.failing_checks == ("test", "tidegate/forged")
    assert (read.mergeable, read.author) == (None, "ghost")


@pytest.mark.parametrize(
    ("pushes", "by"),
    [
        ([("branch", "main", HEAD)], "user-0"),
        ([("branch", "main", OLDER), ("branch", "main", HEAD), ("branch", "main", HEAD)], "user-1"),
        ([("tag", "main", HEAD), ("branch", "feature", HEAD), ("branch", None, None)], None),
        ([], None),
    ],
)
def test_who_pushed_is_told_by_the_newest_push_of_the_commit_to_the_branch(gitlab, forge, pushes, by):
    gitlab.on("GET", PROJECT, (200, {"id": 7, "path_with_namespace": REPOSITORY, "default_branch": "main"}))
    gitlab.on("GET", f"{PROJECT}/repository/merge_base", (200, {"id": HEAD}))
    events = [
        {
            "author_username": f"user-{number}",
            "push_data": {"ref_type": kind, "ref": ref, "commit_from": OLDER, "commit_to": commit},
        }
        for number, (kind, ref, commit) in enumerate(pushes)
    ]
    gitlab.on("GET", f"{PROJECT}/events", (200, [*events, {"author_username": "another", "push_data": None}]))
    assert forge.pushed(7, REPOSITORY, "main", HEAD) == Pushed(by, OLDER if by else None)


@pytest.mark.parametrize(
    ("status", "detailed", "words"),
    [
        (405, "not_approved", "approvals are missing"),
        (405, "security_policy_violations", "security policy violations"),
        (405, None, "405 Method Not Allowed"),
        (422, "conflict", "the branches conflict"),
        (401, "mergeable", "may not merge into this branch"),
        (409, "mergeable", "SHA does not match"),
    ],
)
def test_a_merge_that_is_refused_says_what_is_in_the_way(gitlab, forge, status, detailed, words):
    said = {401: "401 Unauthorized", 405: "405 Method Not Allowed", 409: "SHA does not match HEAD of source branch"}
    gitlab.on("PUT", f"{REQUEST}/merge", (status, {"message": said.get(status, "Branch cannot be merged")}))
    gitlab.on(
        "GET", REQUEST, (200, {"references": {"full": "acme/platform/infra!5"}, "detailed_merge_status": detailed})
    )
    with pytest.raises(ForgeRefused, match=words) as refused:
        forge.merge_pull_request(REPOSITORY, 5, HEAD, "merge")
    assert refused.value.status == status


def test_a_project_under_another_name_has_no_such_merge_request(gitlab, forge):
    gitlab.on("GET", REQUEST, (200, {"iid": 5, "references": {"full": "Acme/platform/infra!5"}}))
    with pytest.raises(NotFound):
        forge.seen_pull_request(REPOSITORY, 5)


def test_no_delivery_is_asked_for_again():
    deliveries = GitLabDeliveries()
    assert deliveries.failed(utc("2026-03-02T09:00")) == ()
    deliveries.redeliver(1)


@pytest.fixture
def accounts(gitlab):
    return GitLabAccounts(lambda: OAuthClient("an id", "a secret"), url=gitlab.url, api_url=gitlab.url)


def test_people_are_who_their_token_says(gitlab, accounts):
    gitlab.on("GET", "/user", (200, {"username": "developer"}), (401, {"message": "401 Unauthorized"}), (200, []))
    assert [accounts.login_of("token") for _ in range(3)] == ["developer", None, None]
    assert accounts.login_of("no token\r\nX: y") is None


def test_people_let_tidegate_know_who_they_are_and_nothing_else(gitlab, accounts):
    address = accounts.authorize_url("a state", "https://web.example/login/callback")
    assert address.startswith(f"{gitlab.url}/oauth/authorize?client_id=an+id&redirect_uri=https%3A%2F%2Fweb.example")
    assert "scope=read_user" in address
