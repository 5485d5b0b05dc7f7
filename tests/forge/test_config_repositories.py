"""What config repositories need of the forge: GraphQL, check runs of CI, statuses, protected branches, jobs' tokens."""

from __future__ import annotations

import json
import urllib.request

import graphql
import jwt
import pytest

from tests.forge.published import hold_against_github
from tidegate.vcs.github import branches
from tidegate_local.forge.client import ForgeAnswered
from tidegate_local.forge.graphql import _schema

IN, CONFIG, ZEROS = "/repos/acme/infra", "acme/infra", "0" * 40
#: The queries of the product, as it asks them.
QUERIES = (
    branches._FILE,
    branches._PLACE,
    branches._MOVE,
    branches._query("BranchHeads", {"b0": "String!"}, "b0: ref(qualifiedName: $b0) { target { oid } }"),
)


@pytest.fixture
def ask(forge, api, sha):
    """Ask a query with a token of the App, or another one, and return data and errors."""

    def ask(query, token=None, **variables):
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{forge.url}/api/graphql", data=body)
        request.add_header("Authorization", f"Bearer {token or api.installation_token()}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            told = json.loads(answer.read())
        return told["data"], [each.get("type") or each["message"] for each in told.get("errors", ())]

    return ask


def move(ask, forge, old, new, *, branch="main", force=False, token=None):
    node = forge.hosting.node_id(forge.hosting.repository(CONFIG))
    values = {"repository": node, "ref": f"refs/heads/{branch}", "old": old, "new": new, "force": force}
    return ask(branches._MOVE, token, **values)[1]


@pytest.mark.parametrize("query", QUERIES)
def test_what_the_product_asks_is_valid_in_githubs_schema(query):
    assert graphql.validate(_schema(), graphql.parse(query)) == []


class TestMoving:
    def test_a_move_is_told_as_a_push_by_the_app(self, ask, forge, maintainer, receiver, sha):
        newer = maintainer.push(CONFIG, {"a": "a"}, "Second", branch="auto", base="main")
        receiver.wait_for("push", ref="refs/heads/auto")
        assert move(ask, forge, sha, newer) == []
        came = receiver.wait_for("push", ref="refs/heads/main", after=newer)[-1]
        hold_against_github(came, "push")
        assert came["payload"]["sender"]["login"] == "tidegate-local[bot]"

    def test_only_from_the_expected_commit_and_only_forward_without_force(self, ask, forge, maintainer, sha):
        newer = maintainer.push(CONFIG, {"a": "a"}, "Second")
        assert move(ask, forge, sha, newer) == ["UNPROCESSABLE"]
        assert move(ask, forge, newer, sha) == ["UNPROCESSABLE"]
        assert move(ask, forge, newer, "d" * 40) == ["UNPROCESSABLE"]
        assert move(ask, forge, sha, newer, branch="auto") == ["UNPROCESSABLE"]
        assert move(ask, forge, newer, sha, force=True) == []
        assert move(ask, forge, ZEROS, sha, branch="auto") == []
        assert move(ask, forge, sha, ZEROS, branch="auto", force=True) == ["UNPROCESSABLE"]

    def test_a_token_without_the_permission_moves_and_reads_nothing(self, ask, api, forge, sha):
        reading = api.installation_token(permissions={"metadata": "read"})
        assert move(ask, forge, sha, sha, token=reading) == ["FORBIDDEN"]
        place = {"owner": "acme", "name": "infra", "ref": "refs/heads/main"}
        assert ask(branches._PLACE, reading, **place)[1] == ["FORBIDDEN"]
        assert ask(branches._PLACE, **{**place, "name": "none"}) == ({"repository": None}, ["NOT_FOUND"])

    def test_a_locked_branch_moves_for_nobody_until_it_is_unlocked(self, ask, forge, maintainer, sha):
        newer = maintainer.push(CONFIG, {"a": "a"}, "Second", branch="auto", base="main")
        maintainer.protect(CONFIG, locked=True)
        assert move(ask, forge, sha, newer) == ["UNPROCESSABLE"]
        with pytest.raises(ForgeAnswered, match="protected"):
            maintainer.push(CONFIG, {"b": "b"}, "Third")
        maintainer.protect(CONFIG)
        assert move(ask, forge, sha, newer) == []


class TestChecksOfOthers:
    def test_ci_reports_check_runs_as_its_own_app(self, maintainer, receiver, sha):
        number = maintainer.report_check(CONFIG, sha, "build")
        maintainer.conclude_check(CONFIG, number, "success")
        (came,) = receiver.wait_for("check_run", "completed")
        hold_against_github(came, "check_run", "completed")
        assert came["payload"]["check_run"]["app"]["slug"] == "github-actions"
        (suite,) = receiver.wait_for("check_suite", "completed")
        assert suite["payload"]["check_suite"]["app"]["slug"] == "github-actions"

    def test_an_app_changes_and_requests_its_own_check_runs_only(self, api, maintainer, sha):
        number = maintainer.report_check(CONFIG, sha, "build", "failure")
        token = api.installation_token()
        for method, path in (("PATCH", f"{IN}/check-runs/{number}"), ("POST", f"{IN}/check-runs/{number}/rerequest")):
            assert api.ask(method, path, {"status": "queued"}, token=token)[0] == 403
        ours = api.call("POST", f"{IN}/check-runs", {"name": "tidegate/x", "head_sha": sha}, token=token)["id"]
        api.call("POST", f"{IN}/check-runs/{ours}/rerequest", token=token)

    def test_a_job_that_runs_again_is_another_check_run(self, api, maintainer, sha):
        number = maintainer.report_check(CONFIG, sha, "build", "timed_out")
        token = api.installation_token()
        api.call("POST", f"{IN}/actions/jobs/{number}/rerun", token=token)
        (newest,) = maintainer.check_runs(CONFIG, sha, name="build")
        assert (newest["id"] > number, newest["status"]) == (True, "queued")
        assert api.ask("POST", f"{IN}/actions/jobs/{newest['id']}/rerun", token=token)[0] == 403
        assert api.ask("POST", f"{IN}/actions/jobs/1/rerun", token=token)[0] == 404

    def test_a_status_is_told(self, maintainer, receiver, sha):
        maintainer.set_status(CONFIG, sha, "build", "success")
        (came,) = receiver.wait_for("status", state="success")
        hold_against_github(came, "status")
        assert (came["payload"]["context"], came["payload"]["sha"]) == ("build", sha)

    def test_a_blob_is_read_by_its_id(self, api, forge, maintainer, sha):
        token = api.installation_token()
        oid = forge.hosting.git(forge.hosting.repository(CONFIG)).run("rev-parse", f"{sha}:network/main.tf").strip()
        assert api.call("GET", f"{IN}/git/blobs/{oid}", token=token)["size"] > 10
        assert api.ask("GET", f"{IN}/git/blobs/{sha}", token=token)[0] == 404


class TestTokensOfJobs:
    def test_a_token_is_verified_by_the_issuers_keys(self, forge, maintainer, sha):
        token = maintainer.job_token(CONFIG, sha, "tidegate", run_number="7")
        with urllib.request.urlopen(f"{forge.issuer.url}/.well-known/openid-configuration") as answer:
            known = json.loads(answer.read())
        key = jwt.PyJWKClient(known["jwks_uri"]).get_signing_key_from_jwt(token)
        claims = jwt.decode(token, key.key, ["RS256"], audience="tidegate", issuer=forge.issuer.url)
        assert known["issuer"] == forge.issuer.url
        assert (claims["repository"], claims["sha"], claims["run_number"]) == (CONFIG, sha, "7")
        assert (claims["ref"], claims["ref_type"], claims["repository_owner"]) == ("refs/heads/main", "branch", "acme")

    def test_there_is_no_token_of_a_repository_that_does_not_exist(self, maintainer, sha):
        with pytest.raises(ForgeAnswered, match="404"):
            maintainer.job_token("acme/none", sha, "tidegate")
