"""An installation that serves a GitLab: a merge request is planned, shown, moved, merged and deployed."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from local.client import LocalCloud
from local.gitlab.client import GitLabClient
from tests import gitlab_events as events
from tests.e2e import modules
from tests.e2e.patience import eventually

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    log = tmp_path_factory.mktemp("gitlab") / "cloud.log"
    with LocalCloud(gitlab=True, clock=False, warm=True, log=log) as cloud:
        yield cloud


@dataclass(frozen=True)
class Project:
    """A project on the GitLab, as its people see it."""

    cloud: LocalCloud
    name: str

    def person(self, name: str) -> GitLabClient:
        return GitLabClient(self.cloud.info["forge_url"], name)

    def push(self, values: dict[str, str], message: str = "Change roots", **where: str) -> str:
        """Push roots with one resource each (root → its value); return the commit's SHA."""
        files = {
            f"{root}/main.tf": modules.backend(self.cloud.info["state_bucket"], self.key(root)) + modules.thing(value)
            for root, value in values.items()
        }
        return self.person("developer" if where else "maintainer").push(self.name, files, message, **where)

    def key(self, root: str) -> str:
        return f"{self.name}/{root}.tfstate"

    def value(self, root: str) -> str | None:
        """Return what the resource of a root has as its value, None before there is one."""
        bucket, s3 = self.cloud.info["state_bucket"], self.cloud.client("s3")
        try:
            state = json.loads(s3.get_object(Bucket=bucket, Key=self.key(root))["Body"].read())
        except s3.exceptions.NoSuchKey:
            return None
        return state["resources"][0]["instances"][0]["attributes"]["input"]["value"]

    def statuses(self, sha: str) -> dict[str, tuple[str, str]]:
        """Return state and words of the statuses on a commit, by their names."""
        found = self.person("maintainer").statuses(self.name, sha)
        return {each["name"]: (each["status"], each["description"]) for each in found}

    def status(self, sha: str, name: str, until: Callable[[str, str], bool]) -> tuple[str, str]:
        """Return state and words of a status once they are so."""

        def look() -> tuple[str, str] | None:
            found = self.statuses(sha).get(name)
            return found if found is not None and until(*found) else None

        try:
            return eventually(look, what=f"{name} on {sha}")
        except AssertionError as late:
            late.add_note(f"{self.statuses(sha)}")
            raise

    def notes(self, iid: int, begins: str = "") -> list[str]:
        """Return the texts of Tidegate's notes, oldest first."""
        every = self.person("maintainer").notes(self.name, iid)
        ours = [each["body"] for each in every if each["author"]["username"] == "tidegate-bot" and not each["system"]]
        return [text for text in ours if begins in text]

    def api(self, method: str, path: str, body: Any = None, person: str = "reviewer") -> Any:
        """Call Tidegate's HTTP API as a person."""
        request = urllib.request.Request(
            f"{self.cloud.info['api_url']}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {person}", "Content-Type": "application/json"},
        )
        with _OPENER.open(request, timeout=60) as answer:
            return json.loads(answer.read())

    def tell(self, event: str, payload: dict[str, Any]) -> int:
        """Post a webhook with the installation's secret, as whoever knows it could; return the answer's status."""
        headers = {
            "Content-Type": "application/json",
            "X-Gitlab-Token": self.cloud.info["webhook_secret"],
            "X-Gitlab-Event": event,
            "X-Gitlab-Event-UUID": str(uuid.uuid4()),
        }
        body = json.dumps(payload).encode()
        request = urllib.request.Request(self.cloud.info["webhook_url"], data=body, headers=headers)
        with _OPENER.open(request, timeout=60) as answer:
            return int(answer.status)

    def outcomes(self) -> list[str]:
        """Return what became of what was told of this project."""
        items = self.cloud.client("dynamodb").get_paginator("scan").paginate(TableName=self.cloud.info["table"])
        every = (item for page in items for item in page["Items"] if item["pk"]["S"].startswith("delivery#"))
        ours = (item for item in every if json.loads(item["fields"]["S"]).get("repository") == self.name)
        return [item["outcome"]["S"] for item in ours if "outcome" in item]


@pytest.fixture
def project(cloud):
    return Project(cloud, f"acme/networks/infra-{uuid.uuid4().hex[:6]}")


def succeeded(state, _words):
    return state == "success"


def waits(_state, words):
    return words.startswith("Review the plan")


def confirm(project, sha, root):
    """Confirm the plan of a root by the API, as soon as its status asks for that."""
    project.status(sha, f"tidegate/deploy: {root}", waits)
    listed = project.api("GET", f"/api/deployments?repository={project.name}")["deployments"]
    (found,) = [each for each in listed if each["root"] == root and each["revision"] == sha]
    project.api("POST", f"/api/deployments/{found['id']}/review", {"decision": "approve"})


def test_a_merge_request_is_planned_shown_moved_merged_and_deployed(project):
    first = project.push({"app": "one", "db": "one"})
    confirm(project, first, "app")
    confirm(project, first, "db")
    for root in ("app", "db"):
        project.status(first, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "one"
    head = project.push({"app": "two"}, branch="feature", base="main")
    iid = project.person("developer").open_merge_request(project.name, "feature", title="Two")
    project.status(head, "tidegate/plan", succeeded)
    (note,) = eventually(lambda: project.notes(iid), what="the note")
    assert "app" in note
    newer = project.push({"app": "three", "db": "three"}, branch="feature")
    project.status(newer, "tidegate/plan", succeeded)
    eventually(lambda: "db" in project.notes(iid)[0], what="the note to show the newer commit")
    assert len(project.notes(iid)) == 1
    merged = project.person("maintainer").merge(project.name, iid)
    confirm(project, merged, "app")
    confirm(project, merged, "db")
    for root in ("app", "db"):
        project.status(merged, f"tidegate/deploy: {root}", succeeded)
        assert project.value(root) == "three"
    (told,) = project.notes(iid, "Deployments of")
    assert told.count("✅") == 2
    pull = project.api("GET", f"/api/pulls/{project.name}/{iid}")
    assert pull["merged"] is True


def test_commands_in_notes_are_answered_and_what_closes_leaves_nothing(project):
    project.push({"app": "one"})
    head = project.push({"app": "two"}, branch="feature", base="main")
    developer = project.person("developer")
    iid = developer.open_merge_request(project.name, "feature", title="Two", draft=True)
    note = developer.note(project.name, iid, "tidegate help")
    eventually(lambda: project.notes(iid, "tidegate deploy"), what="an answer")
    assert developer.award_emoji(project.name, iid, note) in ([], ["rocket"])
    visitor = project.person("visitor").note(project.name, iid, "tidegate deploy")
    eventually(
        lambda: project.person("visitor").award_emoji(project.name, iid, visitor) == ["confused"], what="a refusal"
    )
    project.status(head, "tidegate/plan", lambda state, _: state != "pending")
    developer.close(project.name, iid)
    eventually(lambda: project.api("GET", f"/api/pulls/{project.name}/{iid}")["closed_at"], what="the end")


def test_a_fork_is_answered_and_nothing_of_it_runs(project):
    project.push({"app": "one"})
    visitor = project.person("visitor")
    fork = visitor.fork(project.name)
    visitor.push(fork, {"app/main.tf": modules.thing("stolen")}, "Offer", branch="offer", base="main")
    iid = visitor.open_merge_request(fork, "offer", title="Offer")
    (told,) = eventually(lambda: project.notes(iid), what="a note")
    assert "fork" in told
    pull = project.api("GET", f"/api/pulls/{project.name}/{iid}")
    assert (pull["from_fork"], pull["layers"]) == (True, [])


class TestWhoeverKnowsTheWebhooksSecret:
    """They tell of what nobody did, in the maintainer's name."""

    @pytest.fixture
    def change(self, project):
        project.push({"app": "one"})
        head = project.push({"app": "two"}, branch="feature", base="main")
        return head, project.person("developer").open_merge_request(project.name, "feature", title="Two")

    def note(self, project, iid, number, text="tidegate deploy -p app --force"):
        told = events.note(text, id=number)
        told["merge_request"]["iid"] = iid
        return self.of(project, told)

    def of(self, project, payload):
        known = project.person("maintainer").project(project.name)
        where = {"id": known["id"], "path_with_namespace": project.name, "default_branch": "main"}
        who = {**events.USER, "username": "maintainer"}
        return {**payload, "project": {**events.PROJECT, **where}, "user": who, "user_username": "maintainer"}

    def refused(self, project, words):
        return eventually(lambda: [one for one in project.outcomes() if words in one], what=f"a refusal: {words}")

    def test_a_note_that_nobody_wrote_does_nothing(self, project, change):
        head, iid = change
        assert project.tell("Note Hook", self.note(project, iid, 10**9)) == 202
        self.refused(project, "The forge has no such comment.")
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_note_of_somebody_else_that_says_something_else_is_refused_below_it(self, project, change):
        head, iid = change
        real = project.person("developer").note(project.name, iid, "Looks good to me.")
        assert project.tell("Note Hook", self.note(project, iid, real)) == 202
        (reply,) = eventually(lambda: project.notes(iid, "**Nothing was done**"), what="the refusal")
        assert "somebody who did not write it" in reply
        assert "tidegate/deploy: app" not in project.statuses(head)

    def test_a_push_of_what_is_not_on_the_default_branch_deploys_nothing(self, project, change):
        head, _ = change
        assert project.tell("Push Hook", self.of(project, events.push(after=head))) == 202
        self.refused(project, f"The forge does not have {head} on main")
        assert "tidegate/deploy: app" not in project.statuses(head)
