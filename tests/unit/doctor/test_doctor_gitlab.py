"""What the doctor finds on a GitLab: each thing that is wrong there has a line that says what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.deadlines import eventually
from tests.gitlab.conftest import HookReceiver
from tidegate_cli.doctor.gitlab import GitLabChecks
from tidegate_local.gitlab.client import GitLabClient
from tidegate_local.gitlab.server import GitLab

PROJECT = "acme/live/infra"
TRIGGERS = {"push_events": True, "note_events": True, "merge_requests_events": True}


@pytest.fixture
def gitlab(tmp_path):
    with GitLab(tmp_path / "gitlab") as gitlab:
        yield gitlab


@pytest.fixture
def person(gitlab):
    person = GitLabClient(gitlab.url, "maintainer")
    person.push(PROJECT, {"network/main.tf": "# one\n"}, "Begin")
    return person


@pytest.fixture
def hook(person):
    """Add a webhook to a project, with other fields than it should have, and return its number."""

    def add(url="https://tidegate.example/webhooks/gitlab", project=PROJECT, **fields):
        where = f"/projects/{project.replace('/', '%2F')}/hooks"
        return person.call("POST", where, {"url": url, "token": "secret", **TRIGGERS, **fields})["id"]

    return add


def given(gitlab, *scopes, user="tidegate-bot", expires_at=None):
    """Return a fresh token."""
    fields = {"purpose": "personal", "user": user, "scopes": list(scopes), "expires_at": expires_at}
    return gitlab.hosting.identities.give("glpat-", **fields)[0]


def _storing(command, options):
    return f"tidegate secret {command} {options}"


def run_checks(gitlab, token="", clone_token=""):
    tokens = token or gitlab.bot_token, clone_token or gitlab.clone_token
    return {finding.check: finding for finding in GitLabChecks(gitlab.api_url, *tokens, _storing).results()}


def test_what_is_set_up_as_the_guide_says_has_nothing_wrong(gitlab, person, hook):
    hook()
    person.call("PUT", f"/projects/{PROJECT.replace('/', '%2F')}", {"only_allow_merge_if_pipeline_succeeds": True})
    found = run_checks(gitlab)
    assert {finding.verdict for finding in found.values()} == {"ok"}
    assert [*found] == ["GitLab token", "GitLab", "GitLab clone token", "GitLab projects", "GitLab webhooks"]
    assert found["GitLab"].found.startswith("Version 17.")
    assert PROJECT in found["GitLab webhooks"].found


def test_tokens_are_never_shown(gitlab, person, hook):
    hook()
    shown = str(run_checks(gitlab))
    assert gitlab.bot_token not in shown
    assert gitlab.clone_token not in shown


def test_a_token_that_gitlab_does_not_know_ends_the_examination(gitlab):
    found = run_checks(gitlab, token="guess")
    assert [*found] == ["GitLab token"]
    assert found["GitLab token"].verdict == "fail"
    assert "--token-file" in found["GitLab token"].do


def test_a_token_without_the_scope_of_the_api_fails(gitlab):
    finding = run_checks(gitlab, token=given(gitlab, "read_api"))["GitLab token"]
    assert (finding.verdict, finding.found) == ("fail", "Its scopes are read_api. It needs api.")


def test_a_token_that_ends_soon_is_a_warning(gitlab, person):
    for days, verdict in ((20, "warn"), (200, "ok")):
        end = f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}"
        token = given(gitlab, "api", expires_at=f"{end}T00:00:00.000Z")
        finding = run_checks(gitlab, token=token)["GitLab token"]
        assert (finding.verdict, end in finding.found) == (verdict, True)


@pytest.mark.parametrize(
    ("scopes", "words"),
    [
        (("api",), "plans run the code of others"),
        (("read_repository", "write_repository"), "plans run the code of others"),
        (("read_api",), "It needs read_repository"),
    ],
)
def test_a_clone_token_reads_repositories_and_may_no_more(gitlab, person, scopes, words):
    finding = run_checks(gitlab, clone_token=given(gitlab, *scopes))["GitLab clone token"]
    assert (finding.verdict, words in finding.found) == ("fail", True)
    assert "--clone-token-file" in finding.do


def test_a_clone_token_that_gitlab_does_not_know_fails(gitlab, person):
    assert run_checks(gitlab, clone_token="guess")["GitLab clone token"].verdict == "fail"


def test_whoever_maintains_no_project_is_told_so(gitlab, person):
    found = run_checks(gitlab, token=given(gitlab, "api", user="outsider"))
    assert (found["GitLab projects"].verdict, "no project" in found["GitLab projects"].found) == ("fail", True)
    less = run_checks(gitlab, token=given(gitlab, "api", user="developer"))
    assert f"only a member of {PROJECT}" in less["GitLab projects"].found
    assert "GitLab webhooks" not in less


def test_projects_where_it_is_no_maintainer_are_named(gitlab, person):
    for name in ("a", "b", "c", "d"):
        gitlab.create_project(f"else/{name}")
        gitlab.hosting.identities.set_level(f"else/{name}", "tidegate-bot", 30)
    gitlab.hosting.identities.set_level("else", "tidegate-bot", 0)
    found = run_checks(gitlab)
    assert found["GitLab projects"].verdict == "ok"
    assert "and 1 more" in found["GitLab projects, others"].found


def test_a_project_without_a_webhook_is_a_warning_as_its_group_may_have_one(gitlab, person, hook):
    hook("https://other.example/hooks")
    finding = run_checks(gitlab)["GitLab webhooks"]
    assert (finding.verdict, PROJECT in finding.found) == ("warn", True)
    assert "WebhookUrl" in finding.do


def test_a_webhook_that_lacks_triggers_fails(gitlab, person, hook):
    hook(note_events=False, merge_requests_events=False)
    finding = run_checks(gitlab)[f"GitLab webhooks, {PROJECT}"]
    assert (finding.verdict, finding.found) == ("fail", "It lacks the triggers Comments, Merge request events.")


@pytest.fixture
def answering(hook):
    """Return a receiver of a webhook's deliveries, whose answer can be chosen."""
    receiver = HookReceiver()
    hook(receiver.url.replace("/webhook", "/webhooks/gitlab"))
    yield receiver
    receiver.close()


def test_a_webhook_with_another_secret_fails_once_something_was_delivered(gitlab, person, answering):
    answering.answer = 401
    person.push(PROJECT, {"network/main.tf": "# two\n"}, "Go on")
    finding = eventually(
        lambda: run_checks(gitlab).get(f"GitLab webhooks, {PROJECT}, deliveries"), what="the answer 401"
    )
    assert (finding.verdict, "(401)" in finding.found) == ("fail", True)
    assert "tidegate secret webhook --rotate" in finding.do


def test_a_webhook_that_gitlab_has_disabled_is_a_warning(gitlab, person, answering):
    answering.answer = 500
    for number in range(4):
        person.push(PROJECT, {"network/main.tf": f"# {number}\n"}, "Go on")
    finding = eventually(
        lambda: run_checks(gitlab).get(f"GitLab webhooks, {PROJECT}, deliveries"), what="its disabling"
    )
    assert (finding.verdict, "until" in finding.found) == ("warn", True)


def test_where_merges_do_not_wait_is_a_warning(gitlab, person):
    finding = run_checks(gitlab)["GitLab merges"]
    assert (finding.verdict, PROJECT in finding.found) == ("warn", True)
    assert "Pipelines must succeed" in finding.do
