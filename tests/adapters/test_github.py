"""The GitHub adapter against a real HTTP server that answers as GitHub does, refusals above all."""

from __future__ import annotations

import jwt
import pytest

from tests.adapters.github_stub import INSTALLED, NOW, REPOSITORY, TOKENS, repo
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.rules.permission import Permission
from tidegate.vcs.github.forge import AppCredentials, GitHubForge
from tidegate.vcs.rules.check_run import Action, Button, CheckRun, Conclusion
from tidegate.vcs.rules.comparison import Comparison

BASE, HEAD = "a" * 40, "b" * 40
CHECK_RUN = CheckRun(
    name="tidegate/deploy: network",
    sha=HEAD,
    external_id="network-1",
    status="completed",
    title="Review the plan",
    summary="summary",
    text="text",
    conclusion=Conclusion.ACTION_REQUIRED,
    actions=(Action(Button.APPROVE, "Apply"), Action(Button.REJECT, "Do not")),
)


COMPARE = repo(f"compare/{BASE}...{HEAD}")


def compare(forge):
    return forge.compare(REPOSITORY, BASE, HEAD)


@pytest.mark.parametrize("status", ["ahead", "identical", "behind", "diverged"])
def test_compare_gives_the_forges_word(forge, github, status):
    github.on("GET", COMPARE, (200, {"status": status}))
    assert compare(forge) is Comparison(status)


@pytest.mark.parametrize("status", [404, 422])
def test_a_missing_head_is_told_from_a_missing_base(forge, github, status):
    github.on("GET", COMPARE, (404, {"message": "Not Found"}))
    commit = repo(f"commits/{HEAD}")
    github.on("GET", commit, (status, {"message": "No commit found"}))
    assert compare(forge) is Comparison.HEAD_MISSING
    github.on("GET", commit, (200, {"sha": HEAD}))
    assert compare(forge) is Comparison.BASE_MISSING


def test_a_missing_head_is_not_concluded_from_another_refusal(forge, github):
    github.on("GET", COMPARE, (404, {"message": "Not Found"}))
    github.on("GET", repo(f"commits/{HEAD}"), (500, {"message": "oops"}))
    with pytest.raises(ForgeUnavailable):
        compare(forge)


def test_the_token_is_limited_to_the_repository_and_to_what_the_call_needs(forge, github):
    github.on("GET", COMPARE, (200, {"status": "ahead"}))
    compare(forge)
    forge.clone_token(REPOSITORY)
    (asked,) = github.asked("POST", TOKENS)
    assert asked.body == {"repositories": ["infrastructure"], "permissions": {"contents": "read", "metadata": "read"}}
    assert github.asked("GET", COMPARE)[0].authorization == "token token-1"


def test_the_apps_own_token_is_backdated_by_a_minute(forge, github, private_key):
    forge.clone_token(REPOSITORY)
    (asked,) = github.asked("POST", TOKENS)
    claims = jwt.decode(asked.authorization.removeprefix("Bearer "), private_key[1], algorithms=["RS256"])
    assert claims["iss"] == "123"
    assert claims["exp"] - claims["iat"] == 360


def test_a_token_is_used_again_until_shortly_before_its_end(forge, github, now):
    github.on("GET", COMPARE, (200, {"status": "ahead"}))
    ends = 1_800_003_600.0  # 2027-01-15T09:00:00Z
    compare(forge)
    now[0] = ends - 301
    compare(forge)
    assert github.tokens == 1
    now[0] = ends - 299
    compare(forge)
    assert github.tokens == 2


def test_a_clone_token_is_good_for_half_an_hour_at_least(forge, github, now):
    assert forge.clone_token(REPOSITORY) == "token-1"
    now[0] = 1_800_003_600.0 - 1799
    assert forge.clone_token(REPOSITORY) == "token-2"


def test_permissions_and_repositories_do_not_share_a_token(forge, github):
    github.on("GET", COMPARE, (200, {"status": "ahead"}))
    compare(forge)
    github.on("GET", repo("collaborators/octocat/permission"), (200, {"permission": "write"}))
    forge.permission(REPOSITORY, "octocat")
    forge.clone_token("acme/other")
    assert [request.body["repositories"] for request in github.asked("POST", TOKENS)] == [
        ["infrastructure"],
        ["infrastructure"],
        ["other"],
    ]


def test_repositories_of_an_account_share_the_number_of_its_installation(forge, github):
    forge.clone_token(REPOSITORY)
    forge.clone_token("acme/other")
    assert [request.path for request in github.received] == [INSTALLED, TOKENS, TOKENS]


@pytest.mark.parametrize("status", [401, 404])
def test_an_app_that_was_installed_anew_is_found_by_its_new_number(forge, github, status):
    forge.clone_token(REPOSITORY)
    github.on("POST", TOKENS, (status, {"message": "Not Found"}))
    github.on("GET", "/repos/acme/other/installation", (200, {"id": 8, "account": {"login": "acme"}}))
    github.on(
        "POST", "/app/installations/8/access_tokens", (201, {"token": "new", "expires_at": "2027-01-15T09:00:00Z"})
    )
    assert forge.clone_token("acme/other") == "new"
    assert forge.clone_token("acme/third") == "new"
    assert len(github.asked("POST", TOKENS)) == 2


def test_an_app_that_is_not_installed_any_more_is_refused_with_one_call(forge, github):
    forge.clone_token(REPOSITORY)
    github.on("POST", TOKENS, (404, {"message": "Not Found"}))
    github.on("GET", "/repos/acme/other/installation", (404, {"message": "Not Found"}))
    for _ in range(2):
        with pytest.raises(ForgeRefused, match="404"):
            forge.clone_token("acme/other")
    assert len(github.asked("POST", TOKENS)) == 2


def test_what_another_account_has_by_now_is_refused(forge, github):
    github.on("GET", INSTALLED, (200, {"id": 9, "account": {"login": "mallory"}}))
    with pytest.raises(ForgeRefused, match="acme does not have the repository any more"):
        forge.clone_token(REPOSITORY)


def test_an_account_is_the_same_in_other_letters(forge, github):
    github.on("GET", INSTALLED, (200, {"id": 7, "account": {"login": "Acme"}}))
    assert forge.clone_token(REPOSITORY) == "token-1"


@pytest.mark.parametrize(
    ("permission", "role", "meant"),
    [
        ("admin", "admin", Permission.ADMIN),
        ("write", "maintain", Permission.MAINTAIN),
        ("write", "write", Permission.WRITE),
        ("write", "release-captain", Permission.WRITE),
        ("read", "triage", Permission.TRIAGE),
        ("read", "read", Permission.READ),
        ("none", "none", Permission.NONE),
        ("none", "", Permission.NONE),
    ],
)
def test_a_persons_role_is_the_forges_or_the_one_that_it_is_made_from(forge, github, permission, role, meant):
    answer = {"permission": permission, "role_name": role}
    github.on("GET", repo("collaborators/octocat/permission"), (200, answer))
    assert forge.permission(REPOSITORY, "octocat") is meant


def test_a_stranger_may_nothing(forge, github):
    github.on("GET", repo("collaborators/octo%5Bbot%5D/permission"), (404, {"message": "Not Found"}))
    assert forge.permission(REPOSITORY, "octo[bot]") is Permission.NONE


def test_a_check_run_is_created_with_its_buttons_in_one_request(forge, github):
    github.on("POST", repo("check-runs"), (201, {"id": 42}))
    assert forge.create_check_run(REPOSITORY, CHECK_RUN) == 42
    assert [request.method for request in github.received] == ["GET", "POST", "POST"]
    assert github.received[2].body == {
        "name": "tidegate/deploy: network",
        "head_sha": HEAD,
        "external_id": "network-1",
        "status": "completed",
        "conclusion": "action_required",
        "output": {"title": "Review the plan", "summary": "summary", "text": "text"},
        "actions": [
            {"label": "Approve", "description": "Apply", "identifier": "Approve"},
            {"label": "Reject", "description": "Do not", "identifier": "Reject"},
        ],
    }


def test_a_check_run_is_updated_without_being_read_first(forge, github):
    github.on("PATCH", repo("check-runs/42"), (200, {"id": 42}))
    running = CheckRun("n", HEAD, "network-1", "in_progress", "t", "s", details_url="https://x.example")
    forge.update_check_run(REPOSITORY, 42, running)
    assert [request.method for request in github.received] == ["GET", "POST", "PATCH"]
    assert github.received[2].body["actions"] == []
    assert github.received[2].body["details_url"] == "https://x.example"
    assert "conclusion" not in github.received[2].body


def test_the_newest_check_run_of_our_own_is_found(forge, github):
    runs = [
        {"id": 5, "external_id": "network-1", "app": {"id": 123}},
        {"id": 9, "external_id": "network-1", "app": {"id": 123}},
        {"id": 11, "external_id": "network-1", "app": {"id": 666}},
        {"id": 12, "external_id": "dns-1", "app": {"id": 123}},
    ]
    github.on("GET", repo(f"commits/{HEAD}/check-runs"), (200, {"total_count": 4, "check_runs": runs}))
    assert forge.find_check_run(REPOSITORY, HEAD, "network-1") == 9
    assert forge.find_check_run(REPOSITORY, HEAD, "app-1") is None
    assert [request.method for request in github.received] == ["GET", "POST", "GET", "GET"]


LIMITS = [
    pytest.param(403, {"message": "You have exceeded a secondary rate limit"}, {"Retry-After": "17"}, 17, id="named"),
    pytest.param(403, {"message": "You have exceeded a secondary rate limit"}, {}, 60, id="secondary"),
    pytest.param(429, {"message": "slow down"}, {"Retry-After": "3"}, 3, id="429"),
    pytest.param(429, {"message": "slow down"}, {}, None, id="429 without time"),
    pytest.param(
        403,
        {"message": "API rate limit exceeded"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 100)},
        101,
        id="primary",
    ),
    pytest.param(500, {"message": "oops"}, {}, None, id="500"),
    pytest.param(502, "<html>Bad Gateway</html>", {"Content-Type": "text/html"}, None, id="502"),
    pytest.param(503, {"message": "maintenance"}, {"Retry-After": "120"}, 120, id="503"),
]


@pytest.mark.parametrize(("status", "body", "headers", "wait"), LIMITS)
def test_what_passes_by_itself_says_how_long_to_wait(forge, github, status, body, headers, wait):
    github.on("GET", COMPARE, (status, body, headers))
    with pytest.raises(ForgeUnavailable) as refusal:
        compare(forge)
    assert refusal.value.retry_after == wait
    assert len(github.asked("GET", COMPARE)) == 1


@pytest.mark.parametrize("status", [403, 404, 410, 422])
def test_what_does_not_pass_is_refused_with_the_forges_words(forge, github, status):
    github.on("POST", repo("check-runs"), (status, {"message": "Resource not accessible by integration"}))
    with pytest.raises(ForgeRefused, match="Resource not accessible") as refusal:
        forge.create_check_run(REPOSITORY, CHECK_RUN)
    assert refusal.value.status == status


def test_a_token_that_is_not_known_any_more_is_replaced_once(forge, github):
    github.on("GET", COMPARE, (401, {"message": "Bad credentials"}), (200, {"status": "ahead"}))
    assert compare(forge) is Comparison.AHEAD
    assert [request.authorization for request in github.asked("GET", COMPARE)] == ["token token-1", "token token-2"]


def test_a_second_refusal_of_the_token_is_final(forge, github):
    github.on("GET", COMPARE, (401, {"message": "Bad credentials"}))
    with pytest.raises(ForgeRefused, match="401"):
        compare(forge)
    assert len(github.asked("GET", COMPARE)) == 2


@pytest.mark.parametrize(("status", "kind"), [(401, ForgeRefused), (404, ForgeRefused), (500, ForgeUnavailable)])
def test_a_token_that_is_not_given_is_a_refusal_like_any_other(forge, github, status, kind):
    github.on("POST", TOKENS, (status, {"message": "no"}))
    with pytest.raises(kind):
        forge.clone_token(REPOSITORY)
    with pytest.raises(kind):
        compare(forge)


def test_a_forge_that_does_not_answer_is_unavailable(private_key):
    app = AppCredentials("123", private_key[0])
    forge = GitHubForge(lambda: app, url="https://forge.example", api_url="http://127.0.0.1:1")
    with pytest.raises(ForgeUnavailable, match="no answer"):
        forge.permission(REPOSITORY, "octocat")
    with pytest.raises(ForgeUnavailable, match="no answer"):
        forge.clone_token(REPOSITORY)


def test_addresses_are_the_forges(forge):
    assert forge.clone_url(REPOSITORY) == "https://forge.example/acme/infrastructure.git"
    assert forge.check_run_url(REPOSITORY, 42) == "https://forge.example/acme/infrastructure/runs/42"


def test_secrets_do_not_show_in_what_is_printed(private_key):
    assert "PRIVATE KEY" not in repr(AppCredentials("123", private_key[0]))
