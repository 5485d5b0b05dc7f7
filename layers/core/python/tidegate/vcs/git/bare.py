"""git in a temporary bare repository: argument lists, its own environment, and a time limit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound
from tidegate.vcs.git.environment import git_environment

#: git requires a committer, also for temporary commits.
_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Tidegate"), ("EMAIL", "tidegate@localhost"))
}
_MISSING = re.compile(r"not our ref|unadvertised object|couldn't find remote ref|bad object|missing necessary objects")
_REFUSED = re.compile(r"requested URL returned error: (4\d\d)|repository '[^']*' not found|could not read Username")
_TOO_MANY_REQUESTS = 429


class GitFailedError(Exception):
    """git failed or exceeded the time limit. The message is its last output."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How git ended: its exit code, its output, and what it wrote to standard error."""

    code: int
    output: bytes
    errors: bytes


class BareGit:
    """git in the bare repository ``home``/repository.git, until ``deadline`` (monotonic seconds).

    ``token`` is sent to ``url`` only. ``settings`` are git's configuration.
    """

    def __init__(
        self, home: Path, url: str, token: str, environ: Mapping[str, str], deadline: float, settings: Mapping[str, str]
    ) -> None:
        self._directory = home / "repository.git"
        self._token = token
        self._deadline = deadline
        own = {"GIT_DIR": str(self._directory), **_NOBODY}
        self._environ = {**git_environment(environ, home, (url,), token, settings), **own}

    def create(self, commit: str) -> None:
        """Make the repository, with the object format of this commit."""
        self._directory.mkdir()
        object_format = "sha1" if len(commit) == 40 else "sha256"  # noqa: PLR2004  # Hexadecimal digits of SHA-1.
        self.run("init", "--bare", "--quiet", "--template=", f"--object-format={object_format}")

    def fetch(self, *arguments: str, stdin: bytes = b"") -> None:
        """Fetch what the arguments name, and nothing else. Raise GitFailedError."""
        self.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            *arguments,
            stdin=stdin,
        )

    def run(self, *arguments: str, stdin: bytes = b"", no: int = 0) -> bytes:
        """Run git and return its output. ``no`` is an exit code that means no. Raise GitFailedError."""
        ended = self.ended(*arguments, stdin=stdin)
        if ended.code not in {0, no}:
            raise GitFailedError(self.last_words(ended.errors))
        return ended.output

    def contents(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield id and content of each of these objects. Raise GitFailedError."""
        output = self.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        position = 0
        while position < len(output):
            end = output.index(b"\n", position)
            name, _, size = output[position:end].decode().split(" ")
            position = end + 1 + int(size) + 1
            yield name, output[end + 1 : position - 1]

    def ended(self, *arguments: str, stdin: bytes = b"") -> Ended:
        """Run git and return how it ended. Raise GitFailedError if it exceeded the time limit."""
        with subprocess.Popen(
            ["git", "--no-replace-objects", "--no-optional-locks", *arguments],
            cwd=self._directory,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(stdin, timeout=max(0.0, self._deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                # git's helpers keep the pipes open, so the whole process group is killed.
                os.killpg(process.pid, signal.SIGKILL)
                raise GitFailedError("it took too long") from None
        return Ended(process.returncode, output, errors)

    def last_words(self, errors: bytes) -> str:
        """Return the end of git's messages in one line, without the token."""
        text = " ".join(errors.decode("utf-8", "replace").split())[-500:]
        return text.replace(self._token, "…") if self._token else text


def fetch_refusal(words: str, wanted: Sequence[str]) -> NotFound | ForgeRefused | ForgeUnavailable:
    """Return the error for a failed fetch of ``wanted``, from git's last words."""
    if _MISSING.search(words):
        return NotFound("commit", " or ".join(wanted))
    refused = _REFUSED.search(words)
    if refused and refused[1] != str(_TOO_MANY_REQUESTS):
        return ForgeRefused(int(refused[1] or 404), words)
    return ForgeUnavailable(words)
