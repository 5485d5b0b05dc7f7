"""The working copy of the soak's developers: commits, pushes, and the history of everything that was pushed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from soak.history import Commit, Push
from soak.modules import cannot_be_planned, is_denied, mark_of
from soak.stacks import order_of
from tidegate_local.forge.git import ENVIRONMENT

_AUTHOR = {
    "GIT_AUTHOR_NAME": "developer",
    "GIT_AUTHOR_EMAIL": "developer@users.noreply.forge.invalid",
    "GIT_COMMITTER_NAME": "developer",
    "GIT_COMMITTER_EMAIL": "developer@users.noreply.forge.invalid",
}
MAIN = "main"


@dataclass
class Clone:
    """A clone of the repository at ``remote``. ``pushes`` are those to the default branch, oldest first."""

    place: Path
    remote: str
    pushes: list[Push] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    _known: dict[str, Commit] = field(default_factory=dict)

    def begin(self) -> None:
        """Make the clone. The repository is empty yet."""
        self.place.mkdir(parents=True)
        self._git("init", "--quiet", f"--initial-branch={MAIN}")
        self._git("remote", "add", "origin", self.remote)

    @property
    def head(self) -> str:
        """The commit that the default branch is at."""
        return self.pushes[-1].after

    def commit(self, files: Mapping[str, str], message: str) -> str:
        """Commit files on the branch that is checked out; return the SHA."""
        for name, content in files.items():
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", message)
        return self._git("rev-parse", "HEAD").strip()

    def push(self, *, force: bool = False) -> str:
        """Push the default branch as it is here; return its commit."""
        sha = self._git("rev-parse", MAIN).strip()
        before = self.pushes[-1].after if self.pushes else None
        self._git("push", "--quiet", *(["--force"] if force else []), "origin", MAIN)
        self.pushes.append(Push(time.time(), before, sha))
        return sha

    def has_lost(self, sha: str) -> bool:
        """Tell whether a commit was pushed to the default branch, and a forced push took it away."""
        was_there = any(push.after == sha for push in self.pushes)
        return was_there and not self._git("branch", "--list", MAIN, "--contains", sha)

    def go_back(self, commits: int) -> None:
        """Let the default branch here be some commits older, without pushing that."""
        known = int(self._git("rev-list", "--count", "--first-parent", MAIN))
        self._git("reset", "--quiet", "--hard", f"HEAD~{min(commits, known - 1)}")

    def branch(self, name: str, files: Mapping[str, str], message: str) -> str:
        """Push a branch with one commit on top of the default branch; return its commit."""
        self._git("checkout", "--quiet", "-b", name)
        try:
            sha = self.commit(files, message)
            self._git("push", "--quiet", "origin", name)
        finally:
            self._git("checkout", "--quiet", MAIN)
        self.branches.append(sha)
        return sha

    def merged(self, sha: str) -> None:
        """Take over what the forge merged."""
        before = self.head
        self._git("fetch", "--quiet", "origin", MAIN)
        self._git("reset", "--quiet", "--hard", sha)
        self.pushes.append(Push(time.time(), before, sha))

    def history(self, roots: list[str]) -> dict[str, Commit]:
        """Return every commit that was pushed, with the mark that each root has there, and what its file says."""
        tips = sorted({push.after for push in self.pushes} | set(self.branches))
        for line in self._git("rev-list", "--parents", *tips, "--not", *self._known).splitlines():
            sha, *parents = line.split()
            self._known[sha] = self._commit(sha, tuple(parents), roots)
        return dict(self._known)

    def _commit(self, sha: str, parents: tuple[str, ...], roots: list[str]) -> Commit:
        paths = ["tidegate.yaml", *(f"{root}/main.tf" for root in roots)]
        said, *modules = self._files(sha, paths)
        texts = dict(zip(roots, modules, strict=True))
        order = order_of(said)
        return Commit(
            sha,
            parents,
            {root: mark_of(text) for root, text in texts.items()},
            order.stacks,
            order.depends,
            order.before,
            order.unreviewed,
            order.approvals,
            tuple(root for root, text in texts.items() if cannot_be_planned(text)),
            tuple(root for root, text in texts.items() if is_denied(text)),
        )

    def _files(self, sha: str, paths: list[str]) -> list[str]:
        """Return files of a commit. Git writes a line with the size before each; all of them are plain ASCII."""
        rest, found = self._git("cat-file", "--batch", given="".join(f"{sha}:{path}\n" for path in paths)), []
        for _ in paths:
            head, _, rest = rest.partition("\n")
            size = int(head.rpartition(" ")[2])
            found.append(rest[:size])
            rest = rest[size + 1 :]
        return found

    def _git(self, *arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.place,
            env={**os.environ, **ENVIRONMENT, **_AUTHOR},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
        return done.stdout
