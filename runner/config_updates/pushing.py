"""Moves a branch to the commits of a bundle, if they are the expected ones. It checks nothing out and runs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runner.faults import RunnerFault
from runner.workspace import Git
from tidegate.config_updates.rules.replay import Author, Commit, NewCommits, chain_problem
from tidegate.config_updates.rules.trailers import commit_message
from tidegate.roots.rules.root import commit_sha

_REMOTE = "[remote rejected]"


class Push(StrEnum):
    """How a push ended. ``LEASE_LOST``: the branch is elsewhere. ``REFUSED``: the forge does not let it move."""

    MOVED = "moved"
    LEASE_LOST = "lease_lost"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Pushed:
    """How a push ended, where the branch is now ("" for nowhere), and the forge's reason where it refused."""

    result: Push
    at: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch to move: its full ``ref``, and the commit where it must be, "" for one that must not exist."""

    ref: str
    old: str


def push(git: Git, branch: Branch, new: NewCommits, bundle: Path) -> Pushed:
    """Move a branch to the tip of what a replay has made. ``git`` is in a place that does not exist yet, and may write.

    Raise RunnerFault for a bundle with anything else, and when the forge does not answer; the branch may have moved
    then, which asking again tells.
    """
    git.begin(commit_sha(new.base), "--bare")
    git.fetch(new.base)
    # A bundle's commits must follow what a ref reaches.
    git.do("update-ref", "refs/tidegate/base", new.base)
    if commit_sha(new.tip) != new.base:
        git.do("bundle", "unbundle", str(bundle))
        # The bundle's maker ran the repository's code. Errors in objects end this; mere warnings of fsck do not, as
        # old histories have them: the VCS provider's own checks refuse such objects.
        git.do("update-ref", "refs/tidegate/tip", new.tip)
        git.do("fsck", "--no-dangling", "--no-progress")
    expected = [(commit_message(each), new.author) for each in new.trailers]
    if problem := chain_problem(new.base, new.tip, _commits(git, new.base, new.tip), expected):
        raise RunnerFault(f"The new commits are not the expected ones, and were not pushed. {problem}")
    return _pushed(git, branch, new.tip)


def _commits(git: Git, base: str, tip: str) -> list[Commit]:
    form = "--format=%H%n%P%n%an%n%ae%n%cn%n%ce%n%B"
    output = git.ask("log", "-z", "--reverse", "--topo-order", form, f"{base}..{tip}")[1]
    return [_commit(text) for text in output.decode("utf-8", "replace").split("\0") if text]


def _commit(text: str) -> Commit:
    sha, parents, author, author_email, committer, committer_email, message = text.split("\n", 6)
    people = Author(author, author_email), Author(committer, committer_email)
    return Commit(sha, tuple(parents.split()), people, message)


def _pushed(git: Git, branch: Branch, tip: str) -> Pushed:
    """Push, and tell the result by where the branch is afterwards: the words of forges differ."""
    lease = f"--force-with-lease={branch.ref}:{branch.old}"
    options = ("--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed", lease)
    failure: RunnerFault | None = None
    answer = b""
    try:
        _, answer = git.ask("push", *options, "--", git.clone_url, f"{tip}:{branch.ref}", no=1)
    except RunnerFault as fault:  # The forge may have moved the branch before its answer was lost.
        failure = fault
    at = _where(git, branch.ref)
    if at == tip:
        return Pushed(Push.MOVED, at)
    if at != branch.old:
        return Pushed(Push.LEASE_LOST, at)
    if reason := _refusal(answer.decode("utf-8", "replace")):
        return Pushed(Push.REFUSED, at, reason)
    raise failure or RunnerFault("git push failed, and the branch has not moved: see the log.")


def _where(git: Git, ref: str) -> str:
    listed = git.ask("ls-remote", "--", git.clone_url, ref)[1].decode("ascii", "replace")
    return next((sha for sha, _, name in (line.partition("\t") for line in listed.splitlines()) if name == ref), "")


def _refusal(answer: str) -> str:
    """Return why the forge refused, from what ``git push --porcelain`` printed; "" where it did not."""
    lines = (line.split("\t") for line in answer.splitlines() if line.startswith("!\t"))
    return next((words[-1].partition(_REMOTE)[2].strip(" ()") for words in lines if _REMOTE in words[-1]), "")
