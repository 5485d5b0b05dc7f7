"""The job's working copy: one commit of the repository, fetched as untrusted.

git runs in the environment of ``tidegate.vcs.git.environment``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runner.faults import CommitRefused, RunnerFault
from tidegate.deploys.rules.job import Job
from tidegate.roots.rules.root import commit_sha, directory
from tidegate.vcs.git import environment as git

#: Runs a program: arguments, directory, environment, and a file for its standard output instead of the log.
Run = Callable[[list[str], Path, Mapping[str, str], IO[bytes] | None], int]

#: Links that a path may lead through, as on Linux.
_MOST_LINKS = 40
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")


@dataclass(frozen=True, slots=True)
class Git:
    """git in one directory, created by ``begin``. Its messages go to the log."""

    run: Run
    environ: Mapping[str, str]
    directory: Path
    clone_url: str

    def begin(self, commit: str, *options: str) -> None:
        """Initialize the directory as a repository with this one's object format. Raise RunnerFault."""
        self.directory.mkdir()
        object_format = "sha1" if len(commit) == 40 else "sha256"  # noqa: PLR2004  # Hexadecimal digits of SHA-1.
        self.do("init", "--quiet", "--template=", f"--object-format={object_format}", *options)

    def fetch(self, *commits: str, options: Sequence[str] = ("--depth=1",)) -> None:
        """Fetch commits. Raise CommitRefused for one with objects that git refuses, and RunnerFault."""
        fetch = (*_FETCH, *options, "--end-of-options", self.clone_url, *commits)
        if not (self._run(fetch, None) and self._run(fetch, None)):
            return
        # It failed twice, but works without the check of objects: so these were refused.
        if self._run(("-c", "fetch.fsckObjects=false", *fetch), None):
            raise RunnerFault("git fetch failed: see the log.")
        raise CommitRefused(
            "git refuses dangerous files in this commit, such as a path or URL in .gitmodules. The log says which "
            "and why. Remove them in a new commit and push it."
        )

    def do(self, *arguments: str) -> None:
        """Run a command. Raise RunnerFault if it fails."""
        if self._run(arguments, None):
            raise RunnerFault(f"git {arguments[0]} failed: see the log.")

    def ask(self, *arguments: str, no: int | None = None) -> tuple[bool, bytes]:
        """Return whether a command succeeded, and its output. Raise RunnerFault for exit codes other than ``no``."""
        with (self.directory.parent / "answer").open("w+b") as output:
            code = self._run(arguments, output)
            if code not in {0, no}:
                raise RunnerFault(f"git {arguments[0]} failed: see the log.")
            output.seek(0)
            return code == 0, output.read()

    def _run(self, arguments: Sequence[str], output: IO[bytes] | None) -> int:
        return self.run(["git", "-C", str(self.directory), *arguments], self.directory, self.environ, output)


def git_environment(
    environ: Mapping[str, str], home: Path, job: Job, token: str, *, helper: str = ""
) -> dict[str, str]:
    """Return the environment of git for a job, with its token, or with a credential ``helper``.

    Raise RunnerFault if the job's URL must not be used with a token.
    """
    if refused := git.refusal(job.clone_url):
        raise RunnerFault(refused)
    settings = {"fetch.fsckObjects": "true"}
    return git.git_environment(environ, home, addresses(job), token, settings, helper=helper)


def addresses(job: Job) -> tuple[str, ...]:
    """Return the URLs of all repositories that a job may clone, its own first."""
    return job.clone_url, *other_addresses(job)


def other_addresses(job: Job) -> tuple[str, ...]:
    """Return the URLs of the other repositories that a job may clone: its own URL with other names."""
    before, name, after = job.clone_url.rpartition(job.repository)
    return tuple(f"{before}{other}{after}" for other in job.other_repositories) if name else ()


def plain_address(url: str) -> str:
    """Return the canonical form of a URL, without ``.git``."""
    return url.rstrip("/").removesuffix(".git")


def check_out(git: Git, job: Job) -> Path:
    """Fetch the job's commit, and its base if it has one, and return the root's directory in it.

    Raise CommitRefused if the author must fix it, and RunnerFault.

    The whole tree of that one commit is fetched: a root may use ``../modules`` and read any file
    (docs/decisions/0022).
    """
    commit = commit_sha(job.sha)
    git.begin(commit)
    git.fetch(*filter(None, (commit, job.base_sha)))
    return put_in_place(git, commit, job.root.dir)


def put_in_place(git: Git, commit: str, root_directory: str) -> Path:
    """Check out a fetched commit, and return the root's directory. Raise CommitRefused, RunnerFault."""
    git.do("checkout", "--quiet", "--force", "--detach", commit)
    return _inside(git.directory, root_directory)


def place_in(top: Path, path: Path) -> Path | None:
    """Return where a path leads through all links; None if that is outside of ``top``, or does not exist."""
    try:
        place = path.resolve()
    except RuntimeError:  # Python before 3.13 raises this for a link cycle.
        return None
    return place if place.is_relative_to(top.resolve()) else None


def links_on(path: Path) -> Iterator[Path]:
    """Yield the links that an absolute path leads through, each as it lies where other links have led to."""
    ahead, here, left = list(reversed(path.parts)), Path(), _MOST_LINKS
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        here /= part
        if left and os.path.islink(here):  # noqa: PTH114  # A word of a command may be longer than any name.
            left -= 1
            yield here
            ahead += reversed(here.readlink().parts)
            here = here.parent


def _inside(target: Path, root_directory: str) -> Path:
    """Return the root's directory. Raise CommitRefused if it is missing or a link leaves the repository."""
    root = place_in(target, target / directory(root_directory))
    if root is None:
        raise CommitRefused(
            f"The root's directory {root_directory!r} is a symbolic link that points outside of the repository. "
            "Replace it by the root's files, or by a link inside the repository."
        )
    if not root.is_dir():
        raise CommitRefused(
            f"The root's directory {root_directory!r} does not exist in this commit. "
            "Correct the root's dir in tidegate.yaml, or add the directory."
        )
    return root
