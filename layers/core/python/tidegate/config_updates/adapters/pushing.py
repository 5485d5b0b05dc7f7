"""Move a branch by a leased push. Nothing is checked out, and nothing of the repository runs.

A bundle comes from a task that has run the repository's commands: its objects are checked strictly, and its commits are
compared with what was asked for, byte by byte, before anything is pushed.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tidegate.config_updates.rules.replay import RIGHTS, Author, Commit, NewCommits, chain_problem
from tidegate.config_updates.rules.trailers import commit_message
from tidegate.ports import CloneTokens, Commits, ConfigBranches, ForgeUrls, Moved
from tidegate.roots.rules.root import commit_sha
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, UnexpectedCommits
from tidegate.vcs.git.bare import BareGit, Ended, GitFailedError, fetch_refusal
from tidegate.vcs.git.environment import refusal
from tidegate.vcs.git.trees import PROTOCOLS
from tidegate.vcs.rules.branch_moves import FORWARD, only_forward
from tidegate.vcs.rules.comparison import Comparison

if TYPE_CHECKING:
    from tidegate.vcs.github.forge import GitHubForge

#: Seconds for everything that one move needs. A bundle of 500 entries takes some seconds.
TIME_LIMIT = 240.0
#: Exit codes of ``git push`` with a ref that the VCS provider or the lease refused.
_REFUSED = 1
_REJECTED = "[remote rejected]"
_LONGEST_REASON = 300


class Branches(ConfigBranches, CloneTokens, Commits, ForgeUrls, Protocol):
    """What a mover needs of the VCS provider's adapter."""


class GitBranchMover:
    """The port ``BranchMover`` by ``git push``. ``protocols`` are the allowed ones, ``time_limit`` is in seconds."""

    def __init__(
        self,
        forge: Branches,
        environ: Mapping[str, str] = os.environ,
        *,
        protocols: Collection[str] = PROTOCOLS,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self._forge = forge
        self._environ = environ
        self._protocols = protocols
        self._time_limit = time_limit

    def move(self, repository: str, branch: str, old: str, new: str) -> Moved:
        """Move a branch. The default branch moves only forward."""
        if self._forge.default_branch(repository) == branch:
            related = self._forge.compare(repository, old, new) if old else Comparison.DIVERGED
            if related not in FORWARD:
                return self._only_forward(repository, branch, new)
        with self._repository(repository) as (git, url):
            # The push sends nothing of it, as the provider has this commit.
            _fetch(git, url, new, "--filter=tree:0")
            return _pushed(git, url, branch, old, new)

    def push(self, repository: str, branch: str, old: str, new: NewCommits, bundle: bytes) -> Moved:
        """Move a branch to new commits. These never go to the default branch itself: they are not tested yet."""
        if self._forge.default_branch(repository) == branch:
            return self._only_forward(repository, branch, new.tip)
        with self._repository(repository) as (git, url):
            _fetch(git, url, new.base)
            if new.commits:
                _unpack(git, bundle)
            check_commits(git, new)
            return _pushed(git, url, branch, old, new.tip)

    def _only_forward(self, repository: str, branch: str, new: str) -> Moved:
        at = self._forge.branch_heads(repository, [branch]).get(branch, "")
        return Moved(done=at == new, at=at, reason="" if at == new else only_forward(branch, new))

    @contextmanager
    def _repository(self, repository: str) -> Iterator[tuple[BareGit, str]]:
        """Make a repository that exists as long as the context, with a token that may write to this one only."""
        url = self._forge.clone_url(repository)
        if refused := refusal(url, self._protocols):
            raise ForgeRefused(0, refused)
        token = self._forge.write_token(repository)
        with tempfile.TemporaryDirectory(prefix="branch-") as home:
            try:
                yield BareGit(Path(home), url, token, self._environ, time.monotonic() + self._time_limit, {}), url
            except GitFailedError as error:
                raise ForgeUnavailable(f"git failed: {error}") from error


class GitHubBranchMover(GitBranchMover):
    """The port ``BranchMover`` on GitHub: commits that it has need no push."""

    def __init__(self, forge: GitHubForge, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__(forge, environ)
        self._github = forge

    def move(self, repository: str, branch: str, old: str, new: str) -> Moved:
        return self._github.move_branch(repository, branch, old, new)


def _fetch(git: BareGit, url: str, commit: str, *options: str) -> None:
    git.create(commit_sha(commit))
    try:
        git.fetch("--depth=1", *options, "--end-of-options", url, commit)
    except GitFailedError as error:
        raise fetch_refusal(str(error), [commit]) from error


def _unpack(git: BareGit, bundle: bytes) -> None:
    """Store a bundle's objects, each checked as git checks what it receives. Raise UnexpectedCommits.

    A bundle is some lines of text, an empty one, and a pack (gitformat-bundle). ``git bundle unbundle`` checks no
    objects, and ``git fsck`` checks those of the repository's whole history as well, of which old ones may be faulty.
    """
    _, end, pack = bundle.partition(b"\n\n")
    if not end or not pack.startswith(b"PACK"):
        raise UnexpectedCommits("The bundle has no pack.")
    ended = git.ended("index-pack", "--stdin", "--fix-thin", "--strict", stdin=pack)
    if ended.code:
        raise UnexpectedCommits(f"git refuses the objects: {git.last_words(ended.errors)}")


def check_commits(git: BareGit, new: NewCommits) -> None:
    """Raise UnexpectedCommits unless the commits from base to tip are those that were asked for, and nothing else."""
    tip = commit_sha(new.tip)
    ended = git.ended("rev-list", "--reverse", "--topo-order", "--end-of-options", f"{new.base}..{tip}")
    if ended.code:
        raise UnexpectedCommits(f"The bundle lacks the commit {tip}.")
    expected = [(sha, commit_message(trailers)) for sha, trailers in new.commits]
    commits = [_commit(sha, content) for sha, content in git.contents(ended.output.decode("ascii").split())]
    if problem := chain_problem(new.base, commits, expected, new.author):
        raise UnexpectedCommits(problem)
    if git.run("rev-list", "--max-count=1", f"{new.base}..{tip}", "--", RIGHTS):
        raise UnexpectedCommits(f"A commit changes {RIGHTS}, which grants rights: only people may do that.")


def _commit(sha: str, content: bytes) -> Commit:
    """Return a commit by its raw content. Raise UnexpectedCommits for one with other fields than every commit has."""
    head, _, message = content.partition(b"\n\n")
    lines = [line.partition(b" ") for line in head.split(b"\n")]
    if [name for name, _, _ in lines] != [b"tree", b"parent", b"author", b"committer"]:
        raise UnexpectedCommits(f"The commit {sha} has other fields than tree, one parent, author and committer.")
    _, parent, author, committer = (value.decode("utf-8", "backslashreplace") for _, _, value in lines)
    return Commit(sha, (parent,), (_person(author), _person(committer)), message.decode("utf-8", "backslashreplace"))


def _person(text: str) -> Author:
    """Return who ``NAME <EMAIL> SECONDS ZONE`` names."""
    name, _, rest = text.partition(" <")
    return Author(name, rest.partition("> ")[0])


def _pushed(git: BareGit, url: str, branch: str, old: str, tip: str) -> Moved:
    """Push, and tell the result by where the branch is afterwards: the words of VCS providers differ."""
    ref = f"refs/heads/{branch}"
    options = ("--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed")
    lease = f"--force-with-lease={ref}:{old}"
    failure, ended = "", Ended(0, b"", b"")
    try:
        ended = git.ended("push", *options, lease, "--end-of-options", url, f"{tip}:{ref}")
    except GitFailedError as error:  # The provider may have moved the branch before its answer was lost.
        failure = str(error)
    at = _where(git, url, ref)
    if at == tip:
        return Moved(done=True, at=at)
    if at != old:
        return Moved(done=False, at=at)
    if ended.code == _REFUSED and (reason := _reason(ended)):
        return Moved(done=False, at=at, reason=reason)
    raise ForgeUnavailable(failure or git.last_words(ended.errors) or "the branch has not moved")


def _where(git: BareGit, url: str, ref: str) -> str:
    listed = git.run("ls-remote", "--end-of-options", url, ref).decode("utf-8", "replace")
    return next((sha for sha, _, name in (line.partition("\t") for line in listed.splitlines()) if name == ref), "")


def _reason(ended: Ended) -> str:
    """Return why the VCS provider refused, from what ``git push --porcelain`` printed; "" if it did not refuse."""
    lines = (line.split("\t") for line in ended.output.decode("utf-8", "replace").splitlines())
    refused = [words[-1].partition(_REJECTED)[2].strip(" ()") for words in lines if words[0] == "!"]
    if not any(refused):
        return ""
    told = (line.partition("remote: ")[2].strip() for line in ended.errors.decode("utf-8", "replace").splitlines())
    words = [*refused, *(each for each in told if each and not each.startswith("error: "))]
    return " ".join(" ".join(words).split())[:_LONGEST_REASON]
