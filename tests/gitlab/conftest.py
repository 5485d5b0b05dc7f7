"""A GitLab of one's own for each test, a receiver of its webhooks, and what is published to hold answers against."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

from tests.forge.conftest import DEADLINE, Receiver
from tests.gitlab.published import check
from tidegate_local.gitlab.client import GitLabClient
from tidegate_local.gitlab.rest.api import ROUTES
from tidegate_local.gitlab.server import GitLab

TOKEN = "a webhook's token"
PROJECT = "acme/live/infra"
IN = "/projects/acme%2Flive%2Finfra"
#: By route what its answer is published as; ``[]`` is a list. None: nothing is published of what it answers.
PUBLISHED: dict[str, str | None] = {
    "GET /metadata": "MetadataSchema",
    "GET /personal_access_tokens/self": "PersonalAccessTokenSchema",
    "GET /user": "UserSchema",
    "GET /users": "SimpleUserSchema without created_at[]",
    "GET /projects": "ProjectSchema[]",
    "GET /projects/:id": "ProjectSchema",
    "POST /projects": "ProjectSchema",
    "PUT /projects/:id": "ProjectSchema",
    "POST /projects/:id/fork": "ProjectSchema",
    "POST /projects/:id/approvals": "ProjectLevelMergeRequestApprovalSchema",
    "GET /projects/:id/events": "EventSchema[]",
    "GET /projects/:id/issues": "IssueSchemaWithBasicLabels[]",
    "POST /projects/:id/issues": "IssueSchemaWithBasicLabels",
    "GET /projects/:id/issues/:iid": "IssueSchemaWithBasicLabels",
    "PUT /projects/:id/issues/:iid": "IssueSchemaWithBasicLabels",
    "GET /groups/:group": "GroupSchema",
    "GET /projects/:id/members/all/:user": "MemberSchema",
    "GET /groups/:group/members/:user": "MemberSchema",
    "GET /projects/:id/repository/branches": "BranchSchema[]",
    "GET /projects/:id/repository/branches/:branch": "BranchSchema",
    "GET /projects/:id/repository/compare": "RepositoryCompareSchema",
    "GET /projects/:id/repository/merge_base": "CommitSchema",
    "GET /projects/:id/repository/commits": "CommitSchema[]",
    "GET /projects/:id/repository/commits/:sha": "ExpandedCommitSchema",
    "GET /projects/:id/repository/commits/:sha/merge_requests": "MergeRequestSchema[]",
    "GET /projects/:id/repository/commits/:sha/statuses": "CommitStatusSchema[]",
    "POST /projects/:id/statuses/:sha": "CommitStatusSchema",
    "POST /projects/:id/pipeline": "PipelineSchema",
    "GET /projects/:id/merge_requests": "MergeRequestSchema[]",
    "POST /projects/:id/merge_requests": "ExpandedMergeRequestSchema",
    "GET /projects/:id/merge_requests/:iid": "ExpandedMergeRequestSchema",
    "PUT /projects/:id/merge_requests/:iid": "ExpandedMergeRequestSchema",
    "PUT /projects/:id/merge_requests/:iid/merge": "ExpandedMergeRequestSchema",
    "GET /projects/:id/merge_requests/:iid/versions": "MergeRequestDiffVersionsSchema[]",
    "GET /projects/:id/merge_requests/:iid/approvals": "MergeRequestLevelMergeRequestApprovalSchema",
    "POST /projects/:id/merge_requests/:iid/approve": "MergeRequestLevelMergeRequestApprovalSchema",
    "POST /projects/:id/merge_requests/:iid/unapprove": "MergeRequestLevelMergeRequestApprovalSchema",
    "GET /projects/:id/merge_requests/:iid/notes": "MergeRequestNoteSchema[]",
    "POST /projects/:id/merge_requests/:iid/notes": "MergeRequestNoteSchema",
    "GET /projects/:id/merge_requests/:iid/notes/:note": "MergeRequestNoteSchema",
    "PUT /projects/:id/merge_requests/:iid/notes/:note": "MergeRequestNoteSchema",
    "DELETE /projects/:id/merge_requests/:iid/notes/:note": None,
    "GET /projects/:id/merge_requests/:iid/notes/:note/award_emoji": "AwardEmojiSchema[]",
    "POST /projects/:id/merge_requests/:iid/notes/:note/award_emoji": "AwardEmojiSchema",
    "GET /projects/:id/pipelines/:pipeline/jobs": "JobSchema[]",
    "POST /projects/:id/jobs/:job/retry": "JobSchema",
    "GET /projects/:id/repository/tree": "RepositoryTreeSchema[]",
    "GET /projects/:id/repository/blobs/:sha/raw": None,
    "POST /projects/:id/protected_branches": "ProtectedBranchSchema",
    "GET /projects/:id/hooks": "ProjectHookSchema[]",
    "POST /projects/:id/hooks": "ProjectHookSchema",
    "GET /projects/:id/hooks/:hook/events": None,
}


def published_as(method: str, path: str) -> str | None:
    """Return what the answer to a call is published as."""
    plain = path.partition("?")[0]
    for route in ROUTES:
        pattern = re.sub(r":\w+", "[^/]+", route.path)
        if route.method == method and re.fullmatch(pattern, plain):
            return PUBLISHED[f"{method} {route.path}"]
    raise AssertionError(f"{method} {path} is no route")


class HookReceiver(Receiver):
    """Takes webhooks as the product would: looks at the token, remembers what came."""

    def _take(self, headers: dict[str, str], body: bytes) -> None:
        known = headers.get("X-Gitlab-Token") == TOKEN
        with self._news:
            self._came.append({"headers": headers, "signed": known, "payload": json.loads(body)})
            self._news.notify_all()

    def wait_for(self, event: str, action: str | None = None, count: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """Return the payloads and headers of an event (as in X-Gitlab-Event), once there are ``count``."""

        def found() -> list[dict[str, Any]]:
            return [
                one
                for one in self._came
                if one["headers"]["X-Gitlab-Event"] == event
                and action in {None, one["payload"].get("object_attributes", {}).get("action")}
                and all(one["payload"].get(name) == value for name, value in fields.items())
            ]

        with self._news:
            assert self._news.wait_for(lambda: len(found()) >= count, DEADLINE), f"no {event} {action or ''} came"
            return found()


class Api:
    """REST calls with any token; every successful answer is held against what is published."""

    def __init__(self, gitlab: GitLab) -> None:
        self._gitlab = gitlab

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        """Return the answer of a call that succeeds; the product's token unless another is given."""
        status, _, answer = self.ask(method, path, body, token=self._gitlab.bot_token if token is None else token)
        assert status < 300, answer
        name = published_as(method, path)
        if name and " without " in name:
            assert all({"id", "username", "name", "state", "avatar_url", "web_url"} <= one.keys() for one in answer)
        elif name:
            check(name.removesuffix("[]"), answer, many=name.endswith("[]"))
        return answer

    def ask(self, method: str, path: str, body: Any = None, *, token: str = "") -> tuple[int, Any, Any]:
        """Return status, headers and JSON (or text) of a call, whatever they are."""
        request = urllib.request.Request(f"{self._gitlab.api_url}{path}", method=method)
        if token:
            request.add_header("PRIVATE-TOKEN", token)
        if body is not None:
            request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return answer.status, answer.headers, _read(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, _read(error.read())


def _read(body: bytes) -> Any:
    try:
        return json.loads(body or b"null")
    except ValueError:
        return body.decode()


@pytest.fixture
def gitlab(tmp_path):
    with GitLab(tmp_path / "gitlab") as gitlab:
        yield gitlab


@pytest.fixture
def receiver(gitlab):
    receiver = HookReceiver()
    gitlab.point_webhook_at(receiver.url, TOKEN)
    yield receiver
    receiver.close()


@pytest.fixture
def person(gitlab):
    """Make a person's client by their name."""
    return lambda name: GitLabClient(gitlab.url, name)


@pytest.fixture
def maintainer(person):
    return person("maintainer")


@pytest.fixture
def developer(person):
    return person("developer")


@pytest.fixture
def reviewer(person):
    return person("reviewer")


@pytest.fixture
def api(gitlab):
    return Api(gitlab)


@pytest.fixture
def sha(maintainer):
    """A project in nested groups with one commit on main."""
    return maintainer.push(PROJECT, {"network/main.tf": 'resource "terraform_data" "a" {}\n'}, "Add the network")


@pytest.fixture
def head(sha, developer):
    """A branch ``feature/b`` with one commit more."""
    return developer.push(PROJECT, {"b.tf": "# b\n"}, "Add b", branch="feature/b", base="main")


@pytest.fixture
def iid(head, developer):
    """An open merge request of that branch."""
    return developer.open_merge_request(PROJECT, "feature/b", title="Add b", description="It is needed.")
