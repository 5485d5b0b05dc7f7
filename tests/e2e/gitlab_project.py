"""A project on the local GitLab of an installation, as its people see it."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e import modules
from tests.e2e.deadlines import eventually
from tidegate_local.client import LocalCloud
from tidegate_local.gitlab.client import GitLabClient

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Project:
    """A project on the GitLab, as its people see it."""

    cloud: LocalCloud
    name: str

    def person(self, name: str) -> GitLabClient:
        return GitLabClient(self.cloud.info["forge_url"], name)

    def push(self, values: dict[str, str], **where: str) -> str:
        """Push roots with one resource each (root → its value); return the commit's SHA."""
        return self.push_files({f"{root}/main.tf": self.root(root, value) for root, value in values.items()}, **where)

    def push_files(self, files: dict[str, str], message: str = "Change roots", **where: str) -> str:
        return self.person("developer" if where else "maintainer").push(self.name, files, message, **where)

    def root(self, root: str, value: str) -> str:
        """Return the code of a root with one resource."""
        return modules.backend(self.cloud.info["state_bucket"], self.key(root)) + modules.thing(value)

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

    def links(self, sha: str) -> dict[str, str]:
        """Return where the statuses on a commit lead to, by their names."""
        return {each["name"]: each["target_url"] for each in self.person("maintainer").statuses(self.name, sha)}

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
        # An item without an outcome may be no event, but what is remembered of one.
        done = (item for item in every if "outcome" in item and "fields" in item)
        return [item["outcome"]["S"] for item in done if json.loads(item["fields"]["S"]).get("repository") == self.name]


def succeeded(state, _words):
    return state == "success"


def waits(_state, words):
    return words.startswith("Review the plan")


def approve(project, sha, root):
    """Approve the plan of a root by the API, as soon as its status asks for that."""
    project.status(sha, f"tidegate/deploy: {root}", waits)
    listed = project.api("GET", f"/api/v1/deployments?repository={project.name}")["deployments"]
    (found,) = [each for each in listed if each["root"] == root and each["revision"] == sha]
    seen = project.api("GET", f"/api/v1/deployments/{found['id']}")["plan_digest"]
    project.api("POST", f"/api/v1/deployments/{found['id']}/review", {"decision": "approve", "plan_digest": seen})
