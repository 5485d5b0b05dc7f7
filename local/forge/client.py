"""A person at the local forge, for scripts: pushes commits, opens and merges pull requests, presses buttons."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.forge.git import ENVIRONMENT

_TIMEOUT = 30
_FORM_SECRET = re.compile(r'name="csrf" value="([0-9a-f]+)"')
#: No proxy: the forge is on this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ForgeAnswered(Exception):
    """The forge, or git, refused: ``status`` is the HTTP status (0 for git) and the message what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ForgeClient:
    """Acts as ``user`` on the forge at ``url``; on a local forge the token is the user's name."""

    url: str
    user: str = "maintainer"
    token: str | None = None

    @property
    def _token(self) -> str:
        return self.token or self.user

    def clone_url(self, repository: str) -> str:
        """Return a repository's address for git, with this person's credentials."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{self.user}:{self._token}@{rest}/{repository}.git"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer of a REST call; ``path`` begins after ``/api/v3``. Raise ForgeAnswered."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/vnd.github+json"}
        return json.loads(self._send(method, f"/api/v3{path}", headers, body) or "null")

    def create_repository(self, repository: str) -> None:
        """Make an empty repository; the first push does so too."""
        owner, _, name = repository.partition("/")
        self.call("POST", f"/orgs/{owner}/repos", {"name": name})

    def push(
        self,
        repository: str,
        files: Mapping[str, str | None],
        message: str,
        *,
        branch: str = "main",
        base: str | None = None,
    ) -> str:
        """Commit ``files`` (None deletes one) to ``branch``, push, and return the commit's SHA.

        A branch that does not exist begins at ``base``, or, in an empty repository, at nothing. Raise ForgeAnswered.
        """
        with tempfile.TemporaryDirectory(prefix="tidegate-push-") as directory:
            tree = Path(directory)
            self._check_out(tree, repository, branch, base)
            _write(tree, files)
            self._git(tree, "add", "--all")
            self._git(tree, "commit", "--quiet", "--allow-empty", "-m", message)
            self._git(tree, "push", "--quiet", self.clone_url(repository), f"HEAD:refs/heads/{branch}")
            return self._git(tree, "rev-parse", "HEAD").strip()

    def push_tree(self, repository: str, directory: Path, message: str, *, branch: str = "main") -> str:
        """Commit all text files below ``directory`` as they are, push, and return the commit's SHA."""
        files = {
            str(path.relative_to(directory)): path.read_text(encoding="utf-8")
            for path in sorted(directory.rglob("*"))
            if path.is_file()
        }
        return self.push(repository, files, message, branch=branch)

    def _check_out(self, tree: Path, repository: str, branch: str, base: str | None) -> None:
        self._git(tree, "init", "--quiet", f"--initial-branch={branch}")
        remote = self.clone_url(repository)
        try:
            self._git(tree, "fetch", "--quiet", remote, "+refs/heads/*:refs/remotes/forge/*")
        except ForgeAnswered as refused:
            if "not found" in str(refused):
                return  # the push makes the repository
            raise
        known = self._git(tree, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/forge").split()
        begin = branch if branch in known else base
        if begin is not None:
            self._git(tree, "reset", "--quiet", "--hard", f"refs/remotes/forge/{begin}")

    def _git(self, tree: Path, *arguments: str) -> str:
        name = {"GIT_AUTHOR_NAME": self.user, "GIT_AUTHOR_EMAIL": f"{self.user}@users.noreply.forge.invalid"}
        committer = {key.replace("AUTHOR", "COMMITTER"): value for key, value in name.items()}
        done = subprocess.run(
            ["git", *arguments],
            cwd=tree,
            env={**os.environ, **ENVIRONMENT, **name, **committer},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ForgeAnswered(0, done.stderr.replace(f":{self._token}@", ":…@").strip())
        return done.stdout

    def open_pull_request(self, repository: str, head: str, *, title: str, base: str = "main", body: str = "") -> int:
        """Open a pull request and return its number."""
        request = {"head": head, "base": base, "title": title, "body": body}
        return int(self.call("POST", f"/repos/{repository}/pulls", request)["number"])

    def merge_pull_request(self, repository: str, number: int, method: str = "merge") -> str:
        """Merge a pull request (merge, squash or rebase) and return the new commit's SHA."""
        answer = self.call("PUT", f"/repos/{repository}/pulls/{number}/merge", {"merge_method": method})
        return str(answer["sha"])

    def check_runs(self, repository: str, sha: str, *, name: str | None = None) -> list[dict[str, Any]]:
        """Return the newest check run of each name on a commit."""
        query = {"per_page": "100"} | ({"check_name": name} if name else {})
        path = f"/repos/{repository}/commits/{sha}/check-runs?{urllib.parse.urlencode(query)}"
        found: list[dict[str, Any]] = self.call("GET", path)["check_runs"]
        return found

    def buttons(self, repository: str, run: int) -> list[str]:
        """Return the identifiers of the buttons that the page of a check run shows."""
        return re.findall(r'name="identifier" value="([^"]+)"', self._page(f"/{repository}/runs/{run}"))

    def press(self, repository: str, run: int, button: str) -> None:
        """Press a button on the page of a check run, as this person. Raise ForgeAnswered."""
        self._submit(f"/{repository}/runs/{run}", "/press", {"identifier": button})

    def rerun(self, repository: str, run: int) -> None:
        """Ask for a check to be run again, on its page."""
        self._submit(f"/{repository}/runs/{run}", "/rerun", {})

    def _submit(self, page: str, action: str, fields: Mapping[str, str]) -> None:
        secret = _FORM_SECRET.search(self._page(page))
        form = {**fields, "csrf": secret.group(1) if secret else ""}
        self._send("POST", f"{page}{action}", self._cookie(), urllib.parse.urlencode(form).encode())

    def _page(self, path: str) -> str:
        return self._send("GET", path, self._cookie(), None)

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": f"forge_user={self.user}"}

    def point_webhook_at(self, url: str | None, secret: str) -> None:
        """Send the forge's webhooks to ``url`` from now on, signed with ``secret``."""
        self._send("PUT", "/_local/webhook", {}, {"url": url, "secret": secret})

    def inject(self, kind: str, *, method: str = "*", path: str = ".*", times: int = 1, **more: Any) -> None:
        """Let the next ``times`` calls whose path matches fail; faults.py says how."""
        self._send("POST", "/_local/faults", {}, {"kind": kind, "method": method, "path": path, "times": times, **more})

    def clear_faults(self) -> None:
        """Let nothing fail any more."""
        self._send("DELETE", "/_local/faults", {}, {})

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> str:
        request = urllib.request.Request(f"{self.url}{path}", method=method, headers=dict(headers))  # noqa: S310
        if isinstance(body, bytes):
            request.data = body
        elif body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with _OPENER.open(request, timeout=_TIMEOUT) as answer:
                return str(answer.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            with error:
                raise ForgeAnswered(error.code, error.read().decode("utf-8", "replace")[:500]) from None


def _write(tree: Path, files: Mapping[str, str | None]) -> None:
    for name, content in files.items():
        path = tree / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
