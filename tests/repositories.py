"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_WHO = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

#: Lock files of two directories, which makes them roots whatever modules they hold.
LOCKED: dict[str | bytes, str | bytes | None] = {f"live/{name}/.terraform.lock.hcl": "" for name in ("app", "db")}


@dataclass
class Repository:
    """A repository on disk that serves partial fetches, as a forge does."""

    path: Path
    object_format: str = "sha1"

    def __post_init__(self):
        self.path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main", f"--object-format={self.object_format}")
        for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant", "http.uploadpack"):
            self.git("config", key, "true")

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def git(self, *arguments: str) -> str:
        environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **_WHO}
        run = subprocess.run(["git", *arguments], cwd=self.path, env=environ, check=True, capture_output=True)
        return run.stdout.decode().strip()

    def commit(self, files: dict[str | bytes, str | bytes | None]) -> str:
        """Write files (None removes), commit everything, and return the commit."""
        for name, content in files.items():
            path = self.path / os.fsdecode(name)
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "x")
        return self.git("rev-parse", "HEAD")
