"""The App and the scratch repository at GitHub: permissions, the webhook's URL, commits on the default branch."""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tidegate_cli.problems import Refused
from tidegate_cli.smoke.course import StepFailed
from tidegate_cli.smoke.places import App

#: Where the App's webhooks go before and after: nowhere, as no host ends so (RFC 2606).
NOWHERE = "https://smoke.invalid/"
_UNUSED = ("", ".invalid", "example.com", "example.org", "example.net")
_MARK = "# Made by tidegate smoke, prefix "
FILE = "tidegate.yaml"
_WITHOUT = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_WHO = {"NAME": "tidegate smoke", "EMAIL": "tidegate-smoke@users.noreply.github.com"}
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Scratch:
    """A repository that a smoke test may commit to, and the App that is installed on it."""

    app: App
    repository: str

    def check(self) -> str:
        """Return what was found. Raise Refused when the App, the token or the repository cannot be used."""
        from tidegate.setup.rules.app_needs import missing, needs
        from tidegate_cli.doctor.checks import AppRefusedError, ForgeUnreachableError, ask_github

        try:
            known = ask_github(self.app.api_url, self.app.number, self.app.private_key)
        except (AppRefusedError, ForgeUnreachableError) as error:
            raise Refused(str(error), "Give --app-id and --app-key of a GitHub App that you own.") from error
        if lacks := missing(known, needs((), has_operators=False)):
            raise Refused(
                f"The App {known.name} lacks {', '.join(lacks)}.",
                "Add them in the App's settings, and accept the change.",
            )
        self._as_app("GET", f"/repos/{self.repository}/installation", f"Install {known.name} on {self.repository}.")
        self._check_webhook(known.name)
        self._check_repository()
        return f"{known.name} is installed on {self.repository}, and the token may push."

    def _check_webhook(self, name: str) -> None:
        url = self.webhook()
        host = urlsplit(url).hostname or ""
        if not any(host == each or host.endswith(f".{each.lstrip('.')}") for each in _UNUSED):
            text = f"The App {name} sends its webhooks to {host}, which would get none during the test."
            raise Refused(text, f"Use an App that no installation uses: its webhook URL is {NOWHERE}")

    def _check_repository(self) -> None:
        found = self._as_person(f"/repos/{self.repository}")
        if found["archived"] or not found["permissions"]["push"]:
            raise Refused(f"The token may not push to {self.repository}.", "Give the token Contents: write there.")
        with tempfile.TemporaryDirectory(prefix="tidegate-smoke-") as directory:
            file = self._clone(Path(directory)) / FILE
            if file.is_symlink() or file.is_dir():
                text = f"{self.repository} has {FILE} as a {'link' if file.is_symlink() else 'directory'}."
                raise Refused(text, "Delete it there, or use an empty repository.")
            first = file.read_text(encoding="utf-8").partition("\n")[0] if file.is_file() else ""
        if file_prefix := first.removeprefix(_MARK) if first.startswith(_MARK) else "":
            raise Refused(
                f"{self.repository} has files of an earlier smoke test.", f"tidegate smoke --destroy {file_prefix}"
            )
        if first:
            text = f"{self.repository} already has a {FILE}: the test would deploy its roots."
            raise Refused(text, "Use an empty repository.")

    def webhook(self) -> str:
        """Return where the App's webhooks go. Raise Refused."""
        return str(
            self._as_app("GET", "/app/hook/config", "Activate the App's webhook in its settings.").get("url") or ""
        )

    def point_webhook_at(self, url: str, secret: str) -> None:
        """Let the App's webhooks go there, signed with ``secret``. Raise Refused."""
        body = {"url": url, "secret": secret, "content_type": "json", "insecure_ssl": "0"}
        self._as_app("PATCH", "/app/hook/config", "Activate the App's webhook in its settings.", body)

    def push(self, files: Mapping[str, str | None], message: str) -> str:
        """Commit files (None deletes what there is of one) to the default branch, and return the commit's SHA.

        Raise StepFailed. With nothing to change, the head is returned.
        """
        with tempfile.TemporaryDirectory(prefix="tidegate-smoke-") as directory:
            tree = self._clone(Path(directory))
            for name, content in files.items():
                path = self._own(tree, name)
                if content is None:
                    path.unlink(missing_ok=True)
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content, encoding="utf-8")
            self._git(tree, "add", "--all")
            if self._git(tree, "status", "--porcelain"):
                self._git(tree, "commit", "--quiet", "-m", message)
                self._git(tree, "push", "--quiet", "origin", f"HEAD:refs/heads/{self._branch()}")
            return self._git(tree, "rev-parse", "HEAD").strip()

    def clean(self, prefix: str) -> bool:
        """Delete what the smoke test of this prefix committed, and nothing else. Return whether there was anything."""
        with tempfile.TemporaryDirectory(prefix="tidegate-smoke-") as directory:
            tree = self._clone(Path(directory))
            file = self._own(tree, FILE)
            ours = file.is_file() and file.read_text(encoding="utf-8").startswith(f"{_MARK}{prefix}\n")
            found = [str(each.relative_to(tree)) for each in self._own(tree, prefix).glob("*") if each.is_file()]
        wanted: dict[str, str | None] = dict.fromkeys([*found, *([FILE] if ours else [])])
        if wanted:
            self.push(wanted, f"Remove the files of {prefix}")
        return bool(wanted)

    def _own(self, tree: Path, name: str) -> Path:
        """Return a path of the tree. Raise StepFailed where a link in it would lead to another file of this machine."""
        for part in (tree / name, *(tree / name).parents):
            if part == tree:
                break
            if part.is_symlink():
                raise StepFailed(f"{part.relative_to(tree)} is a link in {self.repository}.", "Delete it there.")
        return tree / name

    def _branch(self) -> str:
        return str(self._as_person(f"/repos/{self.repository}")["default_branch"])

    def _clone(self, directory: Path) -> Path:
        tree = directory / "tree"
        self._git(directory, "clone", "--quiet", "--depth", "1", f"{self.app.forge_url}/{self.repository}.git", "tree")
        return tree

    def _git(self, tree: Path, *arguments: str) -> str:
        basic = base64.b64encode(f"x-access-token:{self.app.token}".encode()).decode()
        given = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.app.forge_url}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        }
        people = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}
        environ = {**os.environ, **_WITHOUT, **given, **people}
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=tree,
                env=environ,
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise StepFailed(f"git {arguments[0]} did not end within {_SECONDS} s.", self.repository) from None
        if done.returncode:
            said = done.stderr.strip()[-400:]
            raise StepFailed(f"git {arguments[0]} was refused: {said}", f"Check the branch rules of {self.repository}.")
        return done.stdout

    def _as_app(self, method: str, path: str, advice: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        from github import Auth

        jwt = Auth.AppAuth(self.app.number, self.app.private_key).create_jwt()
        return self._call(method, path, jwt, advice, body)

    def _as_person(self, path: str) -> dict[str, Any]:
        advice = "Set TIDEGATE_TOKEN to a token with Contents: write on the repository."
        return self._call("GET", path, self.app.token, advice, None)

    def _call(self, method: str, path: str, bearer: str, advice: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {bearer}", "Accept": "application/vnd.github+json"}
        with httpx.Client(timeout=30, trust_env=self.app.api_url.startswith("https:")) as client:
            answer = client.request(method, f"{self.app.api_url}{path}", headers=headers, json=body)
        if not answer.is_success:
            raise Refused(f"GitHub answered {method} {path} with {answer.status_code}.", advice)
        found: dict[str, Any] = answer.json()
        return found


def configuration(prefix: str, hold: int = 0) -> str:
    """Return the repository's ``tidegate.yaml``: one root, whose plan first waits for ``hold`` seconds."""
    held = f"""workflows:
  - tag_query: ''
    plan:
      - type: run
        cmd: [sleep, '{hold}']
      - type: init
      - type: plan
"""
    return f"{_MARK}{prefix}\nversion: 1\nroots:\n  - name: {prefix}\n    dir: {prefix}\n{held if hold else ''}"


def module(bucket: str, key: str, region: str, value: str, command: str = "") -> str:
    """Return a root module that needs no provider: its state, and one resource with a value.

    ``command`` is what a shell runs when the resource is made anew, for ``value``.
    """
    provisioner = f'  provisioner "local-exec" {{\n    command = "{command}"\n  }}\n' if command else ""
    return f"""terraform {{
  backend "s3" {{
    bucket         = "{bucket}"
    key            = "{key}"
    region         = "{region}"
    use_lockfile   = true
    use_path_style = true
  }}
}}

resource "terraform_data" "null" {{
  input            = "{value}"
  triggers_replace = "{value if command else "once"}"
{provisioner}}}
"""
