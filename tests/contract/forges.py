"""The forges that this machine can be, with their adapters: what the contract of the port ``Forge`` is tried on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tidegate.vcs.github.forge import AppCredentials, GitHubForge
from tidegate.vcs.gitlab.forge import GitLabCredentials, GitLabForge
from tidegate.vcs.rules.check_run import CheckRun
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.server import Forge as GitHub
from tidegate_local.forge.settings import app_key
from tidegate_local.gitlab.client import GitLabClient
from tidegate_local.gitlab.server import GitLab

KINDS = ("github", "gitlab", "gitlab-in-groups")
Prepare = Callable[["Tried"], Any]


@dataclass
class Tried:
    """One forge with one repository. ``forge`` is the adapter under test; people act by their names."""

    forge: Any
    server: Any
    repository: str
    made: Any = None

    def person(self, name: str = "maintainer") -> Any:
        kind = ForgeClient if isinstance(self.server, GitHub) else GitLabClient
        return kind(self.server.url, name)

    @property
    def is_gitlab(self) -> bool:
        return isinstance(self.server, GitLab)

    def push(self, files: dict[str, str], branch: str | None = None, by: str = "maintainer") -> str:
        where = {} if branch is None else {"branch": branch, "base": "main"}
        return str(self.person(by).push(self.repository, files, "Change", **where))

    def open(self, branch: str, by: str = "developer") -> int:
        person = self.person(by)
        opening = person.open_merge_request if self.is_gitlab else person.open_pull_request
        return int(opening(self.repository, branch, title="A change"))

    def open_from_fork(self, files: dict[str, str], by: str = "visitor") -> tuple[int, str]:
        """Open a pull request from somebody's fork; return its number and its head."""
        person = self.person(by)
        fork = person.fork(self.repository)
        head = str(person.push(fork, files, "Change", branch="offer", base="main"))
        if self.is_gitlab:
            return int(person.open_merge_request(fork, "offer", title="An offer")), head
        return int(person.open_pull_request(self.repository, f"{by}:offer", title="An offer")), head

    def draft(self, number: int, *, is_draft: bool) -> None:
        person = self.person()
        (person.make_draft if is_draft else person.make_ready)(self.repository, number)

    def approve(self, number: int, by: str = "reviewer") -> None:
        person = self.person(by)
        if self.is_gitlab:
            person.approve(self.repository, number)
        else:
            person.review(self.repository, number, "APPROVE")

    def close(self, number: int) -> None:
        person = self.person()
        if self.is_gitlab:
            person.close(self.repository, number)
        else:
            person.edit_pull_request(self.repository, number, state="closed")

    def merge(self, number: int) -> str:
        person = self.person()
        return str((person.merge if self.is_gitlab else person.merge_pull_request)(self.repository, number))

    def say(self, number: int, text: str, by: str = "developer") -> int:
        person = self.person(by)
        return int((person.note if self.is_gitlab else person.comment)(self.repository, number, text))

    def set_status(self, sha: str, name: str, state: str, by: str = "developer") -> None:
        """Set a commit's status; ``state`` is pending or success."""
        self.person(by).set_status(self.repository, sha, name, state)

    def run_job(self, sha: str, name: str, result: str) -> None:
        """Let CI report a job that has ended: GitLab's state, or GitHub's conclusion."""
        if self.is_gitlab:
            heads = {head: branch for branch, head in self.person().branches(self.repository).items()}
            self.person().run_jobs(self.repository, heads[sha], **{name: result})
        else:
            self.person().report_check(self.repository, sha, name, result)

    def lock(self, branch: str) -> None:
        """Let nobody move a branch."""
        if self.is_gitlab:
            self.person().protect(self.repository)
        else:
            self.person().protect(self.repository, branch, locked=True)

    def retarget(self, number: int, branch: str) -> None:
        person = self.person()
        if self.is_gitlab:
            person.retarget(self.repository, number, branch)
        else:
            person.edit_pull_request(self.repository, number, base=branch)


@dataclass
class Forges:
    """Forges that tests begin with: what a test wants to find there is made once, and each test gets a copy."""

    directory: Path
    _made: dict[tuple[str, Prepare | None], tuple[Path, Any]] = field(default_factory=dict)

    @contextmanager
    def tried(self, kind: str, directory: Path, prepare: Prepare | None = None) -> Iterator[Tried]:
        """Start a forge of a kind in which ``prepare`` has been done. ``made`` is what that returned."""
        if (kind, prepare) not in self._made:
            begun = self.directory / str(len(self._made))
            begun.mkdir()
            (begun / "app-private-key.pem").write_text(self._key)
            with _serve(kind, begun) as scenario:
                made = prepare(scenario) if prepare else None
                self._made[kind, prepare] = begun, made
        begun, made = self._made[kind, prepare]
        shutil.copytree(begun, directory / kind)
        with _serve(kind, directory / kind) as scenario:
            scenario.made = made
            yield scenario

    @cached_property
    def _key(self) -> str:
        """The private key of GitHub's App: making one takes long."""
        return app_key(self.directory)


@contextmanager
def _serve(kind: str, directory: Path) -> Iterator[Tried]:
    if kind == "github":
        with GitHub(directory) as server:
            app = AppCredentials(str(server.settings.app_id), server.app_private_key)
            adapter = GitHubForge(lambda: app, url=server.url, api_url=server.api_url)
            yield Tried(adapter, server, "acme/infra")
        return
    with GitLab(directory) as server:
        tokens = GitLabCredentials(server.bot_token, server.clone_token)
        adapter = GitLabForge(lambda: tokens, url=server.url, api_url=server.api_url)
        yield Tried(adapter, server, "acme/infra" if kind == "gitlab" else "acme/networks/europe/infra")


def shown(sha, title="Planning", status="in_progress", conclusion=None, *, external_id="network-1", name="network"):
    return CheckRun(f"tidegate/deploy: {name}", sha, external_id, status, title, "summary", conclusion=conclusion)
