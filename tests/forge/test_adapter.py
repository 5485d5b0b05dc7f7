"""The product's own GitHub adapter on the local forge: what it sends is what GitHub's description takes."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.builders import deployment_in
from tests.e2e.deadlines import eventually
from tests.forge.published import operation_of, validate
from tests.instants import utc
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.text import render
from tidegate.roots.rules.root import Revision
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound, RepositoriesUnreadable
from tidegate.rules.permission import Permission
from tidegate.vcs.github.checks import shown
from tidegate.vcs.github.deliveries import GitHubDeliveries
from tidegate.vcs.github.forge import AppCredentials, GitHubForge
from tidegate.vcs.rules.check_run import MAXIMUM_TEXT
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.pull_request import PullRequestSpec, ReviewVerdict
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.faults import Fault

REPOSITORY = "acme/infra"


@pytest.fixture
def adapter(forge):
    app = AppCredentials(str(forge.settings.app_id), forge.app_private_key)
    return GitHubForge(lambda: app, url=forge.url, api_url=forge.api_url)


def drawn(state, sha, **view):
    plan = "  + resource\n" * 20_000
    shown = View(plan_text=plan, plan_size=len(plan), bucket="artifacts", locks=True, **view)
    return render(deployment_in(state, revision=Revision(sha, "main"), last_lines="Error: no\n"), shown)


@pytest.mark.parametrize("state", State)
def test_every_state_is_a_check_run_as_github_describes_it(state):
    check_run = drawn(state, "a" * 40)
    body = json.loads(json.dumps({**shown(check_run), "head_sha": check_run.sha}, default=datetime.isoformat))
    validate(operation_of("POST", f"/repos/{REPOSITORY}/check-runs")["request"], body)
    assert len(body["output"]["text"]) <= MAXIMUM_TEXT


def test_a_check_run_goes_through_all_states(adapter, sha):
    for state in State:
        identifier = adapter.create_check_run(REPOSITORY, drawn(State.QUEUED, sha))
        adapter.update_check_run(REPOSITORY, identifier, drawn(state, sha))
        found = adapter.find_check_run(REPOSITORY, sha, drawn(state, sha).external_id)
        assert found == identifier


def test_a_check_run_that_does_not_exist_is_not_found(adapter, sha):
    assert adapter.find_check_run(REPOSITORY, sha, "none") is None
    with pytest.raises(ForgeRefused):
        adapter.update_check_run(REPOSITORY, 10**9, drawn(State.QUEUED, sha))


def test_commits_are_compared_and_missing_ones_told_apart(adapter, maintainer, sha):
    head = maintainer.push(REPOSITORY, {"b.tf": "# b\n"}, "Second")
    missing = "d" * 40
    assert adapter.compare(REPOSITORY, sha, head) is Comparison.AHEAD
    assert adapter.compare(REPOSITORY, head, sha) is Comparison.BEHIND
    assert adapter.compare(REPOSITORY, head, head) is Comparison.IDENTICAL
    assert adapter.compare(REPOSITORY, missing, head) is Comparison.BASE_MISSING
    assert adapter.compare(REPOSITORY, head, missing) is Comparison.HEAD_MISSING


def test_people_have_the_permission_that_the_forge_gives_them(adapter, sha):
    people = ("maintainer", "reviewer", "visitor", "stranger")
    given = [adapter.permission(REPOSITORY, user) for user in people]
    assert given == [Permission.ADMIN, Permission.WRITE, Permission.READ, Permission.NONE]


def test_a_clone_token_reads_the_repository_and_writes_nothing(adapter, api, sha):
    token = adapter.clone_token(REPOSITORY)
    status, _, _ = api.ask("GET", f"/repos/{REPOSITORY}/commits/{sha}", token=token)
    assert status == 200
    body = {"name": "x", "head_sha": sha}
    status, _, _ = api.ask("POST", f"/repos/{REPOSITORY}/check-runs", body, token=token)
    assert status in {403, 404}


def test_a_clone_token_reads_the_listed_repositories_too_and_no_others(forge, adapter, api, maintainer, sha):
    for name in ("acme/modules", "acme/secret"):
        maintainer.push(name, {"main.tf": ""}, "Begin")
    token = adapter.clone_token(REPOSITORY, ["acme/modules"])
    read = {
        name: api.ask("GET", f"/repos/{name}/branches/main", token=token)[0] for name in ("acme/modules", "acme/secret")
    }
    assert read == {"acme/modules": 200, "acme/secret": 404}


def test_listed_repositories_that_the_app_cannot_see_are_named(adapter, sha):
    with pytest.raises(RepositoriesUnreadable, match="acme/none"):
        adapter.clone_token(REPOSITORY, ["acme/none"])


def test_a_repository_that_the_app_cannot_see_is_refused(adapter):
    with pytest.raises(ForgeRefused):
        adapter.clone_token("acme/none")


def test_a_secondary_limit_says_how_long_to_wait(forge, adapter, sha):
    forge.inject(Fault("secondary_limit", "POST", seconds=1))
    with pytest.raises(ForgeUnavailable) as refusal:
        adapter.create_check_run(REPOSITORY, drawn(State.QUEUED, sha))
    assert refusal.value.retry_after


@pytest.fixture
def pull_request(maintainer, sha):
    """Return number and head of a pull request of a branch with a change."""
    head = maintainer.push(REPOSITORY, {"c.tf": "# c\n"}, "Change", branch="feature", base="main")
    return maintainer.open_pull_request(REPOSITORY, "feature", title="A change"), head


def test_a_pull_request_is_read_with_its_reviews_and_what_holds_it_up(adapter, forge, pull_request):
    number, head = pull_request
    ForgeClient(forge.url, "reviewer").review(REPOSITORY, number, "APPROVE")
    read = adapter.pull_request(REPOSITORY, number)
    assert (read.head_sha, read.head_branch, read.base_branch, read.is_open) == (head, "feature", "main", True)
    assert (read.author, read.from_fork, read.failing_checks) == ("maintainer", False, ())
    (review,) = adapter.reviews(REPOSITORY, number)
    assert (review.by, review.verdict, review.sha) == ("reviewer", ReviewVerdict.APPROVED, head)


def test_a_pull_request_is_seen_as_its_record_holds_it(adapter, maintainer, sha, pull_request):
    number, head = pull_request
    found = adapter.seen_pull_request(REPOSITORY, number)
    spec = PullRequestSpec(REPOSITORY, number, "feature", "main", head, sha, "maintainer", "A change", False, False)
    assert (found.spec, found.is_open, found.merged) == (spec, True, False)
    assert list(adapter.open_pull_requests(REPOSITORY)) == [found]
    maintainer.make_draft(REPOSITORY, number)
    assert adapter.seen_pull_request(REPOSITORY, number).spec.is_draft
    maintainer.make_ready(REPOSITORY, number)
    maintainer.merge_pull_request(REPOSITORY, number)
    merged = adapter.seen_pull_request(REPOSITORY, number)
    assert (merged.is_open, merged.merged) == (False, True)
    assert list(adapter.open_pull_requests(REPOSITORY)) == []
    with pytest.raises(NotFound):
        adapter.seen_pull_request(REPOSITORY, 99)


def test_what_a_branch_changes_and_where_branches_are(adapter, sha, pull_request):
    _, head = pull_request
    assert adapter.change(REPOSITORY, "main", head).after == sha
    assert adapter.branch_head(REPOSITORY, "feature") == head
    assert adapter.default_branch(REPOSITORY) == "main"
    with pytest.raises(NotFound):
        adapter.branch_head(REPOSITORY, "none")


def test_a_comment_is_answered_with_a_reaction_and_a_reply(adapter, maintainer, pull_request):
    number, _ = pull_request
    comment = maintainer.comment(REPOSITORY, number, "tidegate help")
    adapter.react(REPOSITORY, number, comment, "rocket")
    adapter.comment(REPOSITORY, number, "an answer")
    assert [each["body"] for each in maintainer.comments(REPOSITORY, number)] == ["tidegate help", "an answer"]


def test_what_people_may_do_is_told(adapter, sha):
    assert adapter.permission(REPOSITORY, "maintainer") >= Permission.WRITE
    assert adapter.permission(REPOSITORY, "stranger") is Permission.NONE
    assert adapter.is_team_member(REPOSITORY, "operators", "stranger") is False


def test_check_runs_of_a_commit_are_listed_by_what_they_show(adapter, sha):
    number = adapter.create_check_run(REPOSITORY, drawn(State.QUEUED, sha))
    assert adapter.commit_check_runs(REPOSITORY, sha)[number] == drawn(State.QUEUED, sha).external_id


def test_deliveries_that_reached_nobody_are_listed_and_sent_again(forge, maintainer, sha):
    maintainer.point_webhook_at("http://127.0.0.1:9/", "secret")
    maintainer.push(REPOSITORY, {"d.tf": "# d\n"}, "Lost")
    app = AppCredentials(str(forge.settings.app_id), forge.app_private_key)
    deliveries = GitHubDeliveries(lambda: app, api_url=forge.api_url)
    failed = eventually(lambda: [each for each in deliveries.failed(utc("2020-01-01")) if each.event == "push"])
    deliveries.redeliver(failed[-1].id)
