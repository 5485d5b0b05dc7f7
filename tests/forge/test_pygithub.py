"""PyGithub, which the product may use, works against the local forge as against a GitHub Enterprise server."""

from __future__ import annotations

import github
import pytest

from tidegate_local.forge.faults import Fault


@pytest.fixture
def repository(forge, sha):
    auth = github.Auth.AppAuth(str(forge.settings.app_id), forge.app_private_key)
    integration = github.GithubIntegration(auth=auth, base_url=forge.api_url)
    installation = integration.get_repo_installation("acme", "infra")
    with installation.get_github_for_installation() as client:
        yield client.get_repo("acme/infra")


def test_a_check_run_is_made_completed_and_found(repository, sha):
    run = repository.create_check_run("tidegate/deploy: network", sha, external_id="d-1", status="in_progress")
    button = {"label": "Confirm", "description": "Apply this plan", "identifier": "Confirm"}
    output = {"title": "1 to add", "summary": "A plan"}
    run.edit(status="completed", conclusion="action_required", output=output, actions=[button])
    (found,) = repository.get_commit(sha).get_check_runs(check_name="tidegate/deploy: network")
    assert (found.id, found.conclusion, found.external_id) == (run.id, "action_required", "d-1")
    assert (found.output.title, found.head_sha, found.app.slug) == ("1 to add", sha, "tidegate-local")


def test_commits_are_compared(repository, maintainer, sha):
    head = maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second")
    comparison = repository.compare(sha, head)
    assert (comparison.status, comparison.ahead_by) == ("ahead", 1)
    assert comparison.merge_base_commit.sha == sha
    assert repository.compare(head, sha).status == "behind"


def test_permissions_of_people_are_read(repository):
    assert repository.get_collaborator_permission("maintainer") == "admin"
    assert repository.get_collaborator_permission("visitor") == "read"
    with pytest.raises(github.GithubException, match="404"):
        repository.get_collaborator_permission("stranger")


def test_a_secondary_limit_is_told_with_the_time_to_wait(forge, repository, sha):
    forge.inject(Fault("secondary_limit", "POST", seconds=7))
    with pytest.raises(github.RateLimitExceededException) as refused:
        repository.create_check_run("x", sha)
    assert {name.lower(): value for name, value in refused.value.headers.items()}["retry-after"] == "7"
