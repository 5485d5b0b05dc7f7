"""The job's working copy: one commit of the repository, fetched without trusting the repository.

git runs in the environment that ``tidegate.adapters.git_environment`` makes for every program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from runner.faults import RunnerFault
from tidegate.adapters import git_environment as git
from tidegate.domain.job import Job
from tidegate.domain.root import commit_sha, directory

#: Runs a program: arguments, directory, environment; returns its exit code. Its output goes to the log.
Run = Callable[[list[str], Path, Mapping[str, str]], int]


def git_environment(environ: Mapping[str, str], home: Path, clone_url: str, token: str) -> dict[str, str]:
    """Return the environment of git. Raise RunnerFault when the address must not be used with a token."""
    if refused := git.refusal(clone_url):
        raise RunnerFault(refused)
    return git.git_environment(environ, home, clone_url, token, {"fetch.fsckObjects": "true"})


def check_out(run: Run, environ: Mapping[str, str], target: Path, job: Job) -> Path:
    """Fetch one commit into ``target`` and return the root's directory in it. Raise RunnerFault.

    The whole tree of that one commit is fetched: a root may use ``../modules`` and read any file
    (docs/decisions/0022).
    """
    commit = commit_sha(job.sha)
    program = ["git", "-C", str(target)]
    object_format = "sha1" if len(commit) == 40 else "sha256"  # noqa: PLR2004
    target.mkdir()
    fetch = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
    for arguments in (
        ["init", "--quiet", "--template=", f"--object-format={object_format}"],
        ["fetch", *fetch, "--end-of-options", job.clone_url, commit],
        ["checkout", "--quiet", "--force", "--detach", commit],
    ):
        if run([*program, *arguments], target, environ):
            raise RunnerFault(f"git {arguments[0]} failed for commit {commit[:7]}: see the log.")
    return _inside(target, job.root.dir)


def _inside(target: Path, root_directory: str) -> Path:
    """Return the root's directory. A link in the repository must not lead out of it."""
    root = (target / directory(root_directory)).resolve()
    if not root.is_relative_to(target.resolve()):
        raise RunnerFault(f"The root's directory {root_directory!r} is a link that leads out of the repository.")
    if not root.is_dir():
        raise RunnerFault(f"The root's directory {root_directory!r} does not exist in this commit.")
    return root
