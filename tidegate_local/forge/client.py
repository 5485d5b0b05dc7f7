"""A person at the local forge, for scripts: pushes commits, opens and merges pull requests, clicks buttons."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate_local.forge import large_files
from tidegate_local.forge.client_calls import ForgeAnswered
from tidegate_local.forge.client_git import Pusher
from tidegate_local.forge.settings import Settings

#: Where a sign-in of a script leads: nobody goes there.
_NOWHERE = "http://127.0.0.1:9/signed-in"
__all__ = ["ForgeAnswered", "ForgeClient"]


@dataclass(frozen=True, slots=True)
class ForgeClient(Pusher):
    """A person on the forge at ``url``: what they push, open, merge, say and click."""

    def create_repository(self, repository: str, *, private: bool = True) -> None:
        """Make an empty repository; the first push makes a private one too."""
        owner, _, name = repository.partition("/")
        self.call("POST", f"/orgs/{owner}/repos", {"name": name, "private": private})

    def store_large_file(self, repository: str, content: bytes) -> str:
        """Put a file into Git LFS, and return what stands for it in a commit."""
        path = f"/{repository}.git/{large_files.OBJECTS}{large_files.digest(content)}"
        self.send("PUT", path, {"Authorization": f"Bearer {self.credential}"}, content)
        return large_files.pointer(content)

    def fork(self, repository: str) -> str:
        """Fork a repository into this person's account, and return the fork's full name."""
        return str(self.call("POST", f"/repos/{repository}/forks")["full_name"])

    def protect(
        self,
        repository: str,
        branch: str = "main",
        *,
        approvals: int = 0,
        checks: Sequence[str] = (),
        locked: bool = False,
    ) -> None:
        """Let merges into a branch need approving reviews and checks, by name (maintainers only).

        A ``locked`` branch moves for nobody, until it is protected otherwise.
        """
        body = {
            "required_pull_request_reviews": {"required_approving_review_count": approvals} if approvals else None,
            "required_status_checks": {"strict": False, "contexts": list(checks)} if checks else None,
            "enforce_admins": True,
            "restrictions": None,
            "lock_branch": locked,
        }
        self.call("PUT", f"/repos/{repository}/branches/{branch}/protection", body)

    def open_pull_request(
        self, repository: str, head: str, *, title: str, base: str = "main", body: str = "", draft: bool = False
    ) -> int:
        """Open a pull request from a branch, or, as ``OWNER:BRANCH``, from a fork's, and return its number."""
        request = {"head": head, "base": base, "title": title, "body": body, "draft": draft}
        return int(self.call("POST", f"/repos/{repository}/pulls", request)["number"])

    def merge_pull_request(self, repository: str, number: int, method: str = "merge") -> str:
        """Merge a pull request (merge, squash or rebase) and return the new commit's SHA."""
        answer = self.call("PUT", f"/repos/{repository}/pulls/{number}/merge", {"merge_method": method})
        return str(answer["sha"])

    def edit_pull_request(self, repository: str, number: int, **changes: str) -> None:
        """Change title, body, base or state (open, closed) of a pull request."""
        self.call("PATCH", f"/repos/{repository}/pulls/{number}", changes)

    def make_draft(self, repository: str, number: int) -> None:
        """Let a pull request be a draft again, on its page."""
        self.submit(f"/{repository}/pull/{number}", "/state", {"do": "draft"})

    def make_ready(self, repository: str, number: int) -> None:
        """Offer a draft for review, on its page."""
        self.submit(f"/{repository}/pull/{number}", "/state", {"do": "ready"})

    def queue_pull_request(self, repository: str, number: int) -> None:
        """Put a pull request into the merge queue, on its page."""
        self.submit(f"/{repository}/pull/{number}", "/state", {"do": "queue"})

    def comment(self, repository: str, number: int, body: str) -> int:
        """Comment on a pull request and return the comment's id."""
        return int(self.call("POST", f"/repos/{repository}/issues/{number}/comments", {"body": body})["id"])

    def comments(self, repository: str, number: int) -> list[dict[str, Any]]:
        """Return the first 100 comments on a pull request, oldest first."""
        found: list[dict[str, Any]] = self.call("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100")
        return found

    def review(self, repository: str, number: int, event: str = "APPROVE", body: str = "") -> int:
        """Review a pull request (APPROVE, REQUEST_CHANGES or COMMENT) and return the review's id."""
        request = {"event": event, "body": body}
        return int(self.call("POST", f"/repos/{repository}/pulls/{number}/reviews", request)["id"])

    def user_token(self, settings: Settings | None = None) -> str:
        """Sign in to the App through the pages, as a browser would, and return the token that acts for this person."""
        app = settings or Settings()
        known = {"client_id": app.client_id, "redirect_uri": _NOWHERE, "state": "script"}
        page = f"/login/oauth/authorize?{urllib.parse.urlencode(known)}"
        back = self.submit_and_stay(page, "/login/oauth/authorize", known)
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"][0]
        exchange = urllib.parse.urlencode({**known, "client_secret": app.client_secret, "code": code}).encode()
        answer = json.loads(self.send("POST", "/login/oauth/access_token", {"Accept": "application/json"}, exchange))
        if "access_token" not in answer:
            raise ForgeAnswered(200, answer["error_description"])
        return str(answer["access_token"])

    def check_runs(self, repository: str, sha: str, *, name: str | None = None) -> list[dict[str, Any]]:
        """Return the newest check run of each name on a commit."""
        query = {"per_page": "100"} | ({"check_name": name} if name else {})
        path = f"/repos/{repository}/commits/{sha}/check-runs?{urllib.parse.urlencode(query)}"
        found: list[dict[str, Any]] = self.call("GET", path)["check_runs"]
        return found

    def report_check(
        self, repository: str, sha: str, name: str, conclusion: str = "", *, app: str = "github-actions"
    ) -> int:
        """Report a check run as CI does, begun without a conclusion, and return its id."""
        state = {"status": "completed", "conclusion": conclusion} if conclusion else {"status": "in_progress"}
        ci = replace(self, user=app, token=None)
        return int(ci.call("POST", f"/repos/{repository}/check-runs", {"name": name, "head_sha": sha, **state})["id"])

    def conclude_check(self, repository: str, run: int, conclusion: str, *, app: str = "github-actions") -> None:
        """End a check run as CI does."""
        ci = replace(self, user=app, token=None)
        ci.call("PATCH", f"/repos/{repository}/check-runs/{run}", {"status": "completed", "conclusion": conclusion})

    def set_status(self, repository: str, sha: str, context: str, state: str) -> None:
        """Set a commit's status (error, failure, pending or success) as this user, who may be an App."""
        self.call("POST", f"/repos/{repository}/statuses/{sha}", {"context": context, "state": state})

    def job_token(self, repository: str, sha: str, audience: str, **claims: str) -> str:
        """Return the token that a job of GitHub Actions gets for a commit, with other ``claims`` (``ref``, …)."""
        wanted = urllib.parse.urlencode({"repository": repository, "sha": sha, "audience": audience, **claims})
        return str(json.loads(self.send("GET", f"/_services/token/request?{wanted}", {}, None))["value"])

    def buttons(self, repository: str, run: int) -> list[str]:
        """Return the identifiers of the buttons that the page of a check run shows."""
        return re.findall(r'name="identifier" value="([^"]+)"', self.page(f"/{repository}/runs/{run}"))

    def click(self, repository: str, run: int, button: str) -> None:
        """Click a button on the page of a check run, as this person. Raise ForgeAnswered."""
        self.submit(f"/{repository}/runs/{run}", "/click", {"identifier": button})

    def rerun(self, repository: str, run: int) -> None:
        """Ask for a check to be run again, on its page."""
        self.submit(f"/{repository}/runs/{run}", "/rerun", {})

    def rerun_failed(self, repository: str, sha: str) -> None:
        """Ask for the failed checks of a commit to be run again, on its page (a check_run webhook for each)."""
        self.submit(f"/{repository}/commit/{sha}", "/rerun-failed", {})

    def rerun_all(self, repository: str, sha: str) -> None:
        """Ask for all checks of a commit to be run again, on its page (one check_suite webhook)."""
        self.submit(f"/{repository}/commit/{sha}", "/rerun-all", {})
