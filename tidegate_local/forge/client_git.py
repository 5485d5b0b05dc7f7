"""What a person at a local forge does with git, for scripts: commits made and pushed in one call."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate_local.forge.client_calls import ForgeAnswered, Levers
from tidegate_local.forge.git import ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Pusher(Levers):
    """A person who pushes."""

    def clone_url(self, repository: str) -> str:
        """Return a repository's address for git, with this person's credentials."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{self.user}:{self.credential}@{rest}/{repository}.git"

    @property
    def address(self) -> str:
        """The private address that the forge gives this person."""
        return f"{self.user}@users.noreply.forge.invalid"

    def push(
        self,
        repository: str,
        files: Mapping[str, str | None],
        message: str,
        *,
        branch: str = "main",
        base: str | None = None,
        submodules: Mapping[str, str] | None = None,
    ) -> str:
        """Commit ``files`` (None deletes one) to ``branch``, push, and return the commit's SHA.

        ``submodules`` are commits by paths. A branch that does not exist begins at ``base``, or, in an empty
        repository, at nothing. Raise ForgeAnswered.
        """
        with tempfile.TemporaryDirectory(prefix="tidegate-push-") as directory:
            tree = Path(directory)
            self._check_out(tree, repository, branch, base)
            _write(tree, files)
            self._git(tree, "add", "--all")
            for path, commit in (submodules or {}).items():
                self._git(tree, "update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
            self._git(tree, "commit", "--quiet", "--allow-empty", "-m", message)
            self._git(tree, "push", "--quiet", self.clone_url(repository), f"HEAD:refs/heads/{branch}")
            return self._git(tree, "rev-parse", "HEAD").strip()

    def force_push(self, repository: str, branch: str, sha: str) -> None:
        """Move a branch to any commit of the repository, also back or aside."""
        with tempfile.TemporaryDirectory(prefix="tidegate-push-") as directory:
            tree = Path(directory)
            self._git(tree, "init", "--quiet")
            self._git(tree, "fetch", "--quiet", self.clone_url(repository), sha)
            self._git(tree, "push", "--quiet", "--force", self.clone_url(repository), f"{sha}:refs/heads/{branch}")

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
        name = {"GIT_AUTHOR_NAME": self.user, "GIT_AUTHOR_EMAIL": self.address}
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
            raise ForgeAnswered(0, done.stderr.replace(f":{self.credential}@", ":…@").strip())
        return done.stdout


def _write(tree: Path, files: Mapping[str, str | None]) -> None:
    for name, content in files.items():
        path = tree / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
