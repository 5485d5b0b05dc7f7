"""A person at the local GitLab, for scripts: pushes commits, opens, approves and merges merge requests, comments."""

from __future__ import annotations

import json
import urllib.parse
from dataclasses import dataclass
from typing import Any

from tidegate_local.forge.client_calls import ForgeAnswered
from tidegate_local.forge.client_git import Pusher
from tidegate_local.gitlab.merge_requests import with_draft
from tidegate_local.gitlab.settings import Settings

#: Where a sign-in of a script leads: nobody goes there.
_NOWHERE = "http://127.0.0.1:9/signed-in"
__all__ = ["ForgeAnswered", "GitLabClient"]


def encoded(path: str) -> str:
    """Return a project's or branch's name as one part of an address."""
    return urllib.parse.quote(path, safe="")


@dataclass(frozen=True, slots=True)
class GitLabClient(Pusher):
    """A person on the GitLab at ``url``. Projects are named by their full paths; failures raise ForgeAnswered.

    Where webhooks go wrong on demand, ``event`` is X-Gitlab-Event, such as ``Push Hook``, and ``action`` is that of
    the payload's object_attributes.
    """

    @property
    def address(self) -> str:
        return f"1-{self.user}@users.noreply.forge.invalid"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer of a REST call; ``path`` begins after ``/api/v4``."""
        headers = {"PRIVATE-TOKEN": self.credential}
        return json.loads(self.send(method, f"/api/v4{path}", headers, body) or "null")

    def everything(self, path: str) -> list[dict[str, Any]]:
        """Return all entries of a list, page by page; ``path`` has a query."""
        found: list[dict[str, Any]] = []
        for number in range(1, 1000):
            page = self.call("GET", f"{path}&per_page=100&page={number}")
            found += page
            if len(page) < 100:  # noqa: PLR2004 - GitLab's largest page
                break
        return found

    def create_project(self, project: str) -> None:
        """Make an empty project in a group that is there; the first push makes one too, with its groups."""
        namespace, _, name = project.rpartition("/")
        group = self.call("GET", f"/groups/{encoded(namespace)}")["id"]
        self.call("POST", "/projects", {"path": name, "namespace_id": group, "visibility": "private"})

    def project(self, project: str) -> dict[str, Any]:
        """Return a project as the API answers it."""
        found: dict[str, Any] = self.call("GET", f"/projects/{encoded(project)}")
        return found

    def require_approvals(self, project: str, count: int) -> None:
        """Let merges into a project need approvals."""
        self.call("POST", f"/projects/{encoded(project)}/approvals", {"approvals_before_merge": count})

    def set_reset_approvals(self, project: str, *, on: bool) -> None:
        """Let a push drop the approvals of a merge request, or keep them."""
        self.call("POST", f"/projects/{encoded(project)}/approvals", {"reset_approvals_on_push": on})

    def fork(self, project: str) -> str:
        """Fork a project into this person's own namespace, and return the fork's path."""
        return str(self.call("POST", f"/projects/{encoded(project)}/fork")["path_with_namespace"])

    def branches(self, project: str) -> dict[str, str]:
        """Return every branch's name → SHA."""
        found = self.everything(f"/projects/{encoded(project)}/repository/branches?")
        return {one["name"]: one["commit"]["id"] for one in found}

    def open_merge_request(
        self, project: str, branch: str, *, title: str, target: str = "main", description: str = "", draft: bool = False
    ) -> int:
        """Open a merge request from a branch and return its number.

        ``project`` may be a fork: then it goes to where that comes from, and the number is of there.
        """
        origin = self.project(project).get("forked_from_project")
        request = {
            "source_branch": branch,
            "target_branch": target,
            "title": with_draft(title, draft=draft),
            "description": description,
            **({"target_project_id": origin["id"]} if origin else {}),
        }
        return int(self.call("POST", f"/projects/{encoded(project)}/merge_requests", request)["iid"])

    def _one(self, project: str, iid: int) -> str:
        return f"/projects/{encoded(project)}/merge_requests/{iid}"

    def merge_request(self, project: str, iid: int) -> dict[str, Any]:
        """Return a merge request as the API answers it."""
        found: dict[str, Any] = self.call("GET", self._one(project, iid))
        return found

    def edit(self, project: str, iid: int, **fields: Any) -> None:
        """Change title, description, target_branch or (state_event: close, reopen) the state of a merge request."""
        self.call("PUT", self._one(project, iid), fields)

    def close(self, project: str, iid: int) -> None:
        """Close a merge request."""
        self.edit(project, iid, state_event="close")

    def reopen(self, project: str, iid: int) -> None:
        """Open a closed merge request again."""
        self.edit(project, iid, state_event="reopen")

    def retarget(self, project: str, iid: int, branch: str) -> None:
        """Let a merge request go to another branch."""
        self.edit(project, iid, target_branch=branch)

    def make_draft(self, project: str, iid: int) -> None:
        """Let a merge request be a draft again."""
        self.edit(project, iid, title=with_draft(self.merge_request(project, iid)["title"], draft=True))

    def make_ready(self, project: str, iid: int) -> None:
        """Offer a draft for review."""
        self.edit(project, iid, title=with_draft(self.merge_request(project, iid)["title"], draft=False))

    def approve(self, project: str, iid: int, sha: str | None = None) -> None:
        """Approve a merge request, only at the commit ``sha`` if that is given."""
        self.call("POST", f"{self._one(project, iid)}/approve", {"sha": sha} if sha else {})

    def unapprove(self, project: str, iid: int) -> None:
        """Take this person's approval back."""
        self.call("POST", f"{self._one(project, iid)}/unapprove")

    def merge(self, project: str, iid: int, **options: Any) -> str:
        """Merge a merge request (``squash``, ``sha``, ``should_remove_source_branch``); return the target's head."""
        target = self.call("PUT", f"{self._one(project, iid)}/merge", options)["target_branch"]
        return self.branches(project)[target]

    def note(self, project: str, iid: int, text: str) -> int:
        """Write below a merge request and return the note's id."""
        return int(self.call("POST", f"{self._one(project, iid)}/notes", {"body": text})["id"])

    def edit_note(self, project: str, iid: int, note: int, text: str) -> None:
        """Change a note's text."""
        self.call("PUT", f"{self._one(project, iid)}/notes/{note}", {"body": text})

    def notes(self, project: str, iid: int) -> list[dict[str, Any]]:
        """Return the notes below a merge request, oldest first, without those that GitLab itself wrote."""
        found = self.everything(f"{self._one(project, iid)}/notes?sort=asc")
        return [one for one in found if not one["system"]]

    def issue(self, project: str, iid: int) -> dict[str, Any]:
        """Return an issue as the API answers it."""
        found: dict[str, Any] = self.call("GET", f"/projects/{encoded(project)}/issues/{iid}")
        return found

    def open_issue(self, project: str, title: str, text: str) -> int:
        """Open an issue and return its number."""
        wanted = {"title": title, "description": text}
        return int(self.call("POST", f"/projects/{encoded(project)}/issues", wanted)["iid"])

    def award_emoji(self, project: str, iid: int, note: int) -> list[str]:
        """Return the emoji that were awarded to a note."""
        return [one["name"] for one in self.everything(f"{self._one(project, iid)}/notes/{note}/award_emoji?")]

    def statuses(self, project: str, sha: str, name: str | None = None) -> list[dict[str, Any]]:
        """Return the newest status of each name on a commit."""
        limited = f"name={encoded(name)}" if name else ""
        return self.everything(f"/projects/{encoded(project)}/repository/commits/{sha}/statuses?{limited}")

    def start_pipeline(self, project: str, ref: str) -> int:
        """Let GitLab make a pipeline of its own for a branch; statuses of that commit go there from now on."""
        return int(self.call("POST", f"/projects/{encoded(project)}/pipeline", {"ref": ref})["id"])

    def run_jobs(self, project: str, ref: str, **jobs: str) -> int:
        """Let CI run a pipeline of a branch with these jobs, in these states, and return its number."""
        told = ",".join(f"{name}={state}" for name, state in jobs.items())
        wanted = {"ref": ref, "variables": [{"key": "LOCAL_JOBS", "value": told}]}
        return int(self.call("POST", f"/projects/{encoded(project)}/pipeline", wanted)["id"])

    def job_token(self, project: str, sha: str, audience: str, **claims: str) -> str:
        """Return the token that a job of GitLab CI gets for a commit, with other ``claims`` (``ref``, …)."""
        wanted = urllib.parse.urlencode({"project": project, "sha": sha, "audience": audience, **claims})
        return str(json.loads(self.send("GET", f"/_services/id_token?{wanted}", {}, None))["value"])

    def set_status(self, project: str, sha: str, name: str, state: str) -> None:
        """Set a commit's status (pending, running, success, failed or canceled)."""
        self.call("POST", f"/projects/{encoded(project)}/statuses/{sha}", {"name": name, "state": state})

    def protect(self, project: str, push_access_level: int = 0) -> None:
        """Let only people of this access level push to the default branch; 0 is nobody."""
        wanted = {"name": "main", "push_access_level": push_access_level}
        self.call("POST", f"/projects/{encoded(project)}/protected_branches", wanted)

    def user_token(self, settings: Settings | None = None, scope: str = "read_user") -> str:
        """Sign in to the application as a browser would, and return the token that acts for this person."""
        app = settings or Settings()
        known = {"client_id": app.client_id, "redirect_uri": _NOWHERE, "state": "script", "scope": scope}
        page = f"/oauth/authorize?{urllib.parse.urlencode({**known, 'response_type': 'code'})}"
        back = self.submit_and_stay(page, "/oauth/authorize", {**known, "user": self.user})
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"][0]
        fields = {**known, "client_secret": app.client_secret, "code": code, "grant_type": "authorization_code"}
        answer = json.loads(self.send("POST", "/oauth/token", {}, urllib.parse.urlencode(fields).encode()))
        return str(answer["access_token"])

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": f"gitlab_user={self.user}"}
