"""Fetch two commits of a repository with git, without their files (docs/decisions/0010, 0011).

git runs with argument lists, its own environment and a time limit. Its only variable arguments are object ids: no
branch name, no path; the token is in the environment.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from tidegate.ports import FileChange, Merged, PushedTrees
from tidegate.roots.rules.root import commit_sha
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.git.bare import BareGit, GitFailedError, fetch_refusal
from tidegate.vcs.git.environment import refusal

#: Seconds for everything that one push needs. The largest repositories take a few.
TIME_LIMIT = 120.0
#: Bytes of a file at most; a larger one counts as empty. Module files have a few kilobytes.
MAXIMUM_FILE = 1024 * 1024
PROTOCOLS = frozenset({"https"})

_ZEROS = re.compile(r"0+")
_SUBMODULE, _SYMBOLIC_LINK = "160000", "120000"


class GitSource:
    """The port ``SourceHistory`` on the system's git. ``protocols`` are the allowed ones."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        *,
        protocols: Collection[str] = PROTOCOLS,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self._environ = environ
        self._protocols = protocols
        self._time_limit = time_limit

    @contextmanager
    def fetch(self, url: str, token: str, before: str, after: str) -> Iterator[PushedTrees]:
        """Fetch both commits into a directory that exists as long as the context."""
        if refused := refusal(url, self._protocols):
            raise ForgeRefused(0, refused)
        with tempfile.TemporaryDirectory(prefix="push-") as home:
            git = _Git(Path(home), url, token, self._environ, time.monotonic() + self._time_limit)
            yield _fetched(git, commit_sha(before), commit_sha(after))

    @contextmanager
    def merge(self, url: str, token: str, base: str, head: str, common: str) -> Iterator[Merged]:
        """Fetch the commits into a directory that exists as long as the context, and merge them there."""
        if refused := refusal(url, self._protocols):
            raise ForgeRefused(0, refused)
        with tempfile.TemporaryDirectory(prefix="merge-") as home:
            git = _Git(Path(home), url, token, self._environ, time.monotonic() + self._time_limit)
            yield _merged(git, commit_sha(base), commit_sha(head), commit_sha(common))


def trees_in(home: Path, url: str, before: str, after: str, environ: Mapping[str, str] = os.environ) -> PushedTrees:
    """Return what changed between two commits in ``home``/repository.git; zeros stand for no commit.

    Missing contents are fetched from ``url``, without a token.
    """
    git = _Git(home, url, "", environ, time.monotonic() + TIME_LIMIT)
    return _Trees(git, None if _ZEROS.fullmatch(before) else commit_sha(before), commit_sha(after))


class _Git(BareGit):
    """git in one bare repository, which has of each commit what is needed."""

    def __init__(self, home: Path, url: str, token: str, environ: Mapping[str, str], deadline: float) -> None:
        settings = {
            "fetch.negotiationAlgorithm": "noop",
            "remote.origin.url": url,
            "remote.origin.promisor": "true",
        }
        super().__init__(home, url, token, environ, deadline, settings)

    def fetch_commits(self, commits: Sequence[str]) -> None:
        """Fetch commits with their trees and nothing else. Raise NotFound if one is missing."""
        try:
            self.fetch("--depth=1", "--filter=blob:none", "--end-of-options", "origin", *commits)
        except GitFailedError as error:
            raise fetch_refusal(str(error), commits) from error

    def fetch_blobs(self, blobs: Collection[str]) -> None:
        """Fetch the contents of files, all in one request."""
        try:
            self.fetch("--filter=blob:none", "--stdin", "--end-of-options", "origin", stdin=_lines(blobs))
        except GitFailedError as error:
            raise fetch_refusal(str(error), ["file"]) from error


class _Trees:
    """The port ``PushedTrees`` on a bare repository with the commits and their trees.

    ``made`` are contents created here, which the VCS provider lacks.
    """

    def __init__(self, git: _Git, before: str | None, after: str, made: Collection[str] = ()) -> None:
        self._git, self._made = git, made
        self._before, self._after = before, after
        self.before_is_known = before is not None

    @cached_property
    def files(self) -> Mapping[str, str]:
        """All files, listed on first use: a caller that knows the previous commit may not need them."""
        return {path: blob for path, (_, blob) in self._entries.items()}

    @cached_property
    def links(self) -> Collection[str]:
        return {path for path, (mode, _) in self._entries.items() if mode == _SYMBOLIC_LINK}

    @cached_property
    def _entries(self) -> Mapping[str, tuple[str, str]]:
        return _files(self._git, self._after)

    @cached_property
    def changes(self) -> Sequence[FileChange]:
        return _changes(self._git, self._before, self._after) if self._before else _all_new(self.files)

    def read(self, blobs: Collection[str]) -> Mapping[str, bytes]:
        wanted = sorted(set(blobs))
        if not wanted:
            return {}
        if elsewhere := [name for name in wanted if name not in self._made]:
            self._git.fetch_blobs(elsewhere)
        sizes = self._git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(wanted))
        small = [name.decode() for name, size in map(bytes.split, sizes.splitlines()) if int(size) <= MAXIMUM_FILE]
        return {**dict.fromkeys(wanted, b""), **dict(self._git.contents(small))}


def _fetched(git: _Git, before: str, after: str) -> PushedTrees:
    git.create(after)
    if not _ZEROS.fullmatch(before):
        try:
            git.fetch_commits([before, after] if before != after else [after])
        except NotFound:
            pass  # Usually the old commit, which a force push removed.
        else:
            return _Trees(git, before, after)
    git.fetch_commits([after])
    return _Trees(git, None, after)


def _merged(git: _Git, base: str, head: str, common: str) -> Merged:
    git.create(head)
    git.fetch_commits(sorted({base, head, common}))
    if common in {base, head}:
        return Merged(_Trees(git, base, head if common == base else base))
    # Fetched commits are shallow. These have the same trees, and the merge base as their parent.
    ours, theirs = (_line(git.run("commit-tree", "-p", common, "-m", "-", f"{each}^{{tree}}")) for each in (base, head))
    options = ("--write-tree", "--name-only", "--no-messages", "-z")
    tree, *files = (_path(part) for part in git.run("merge-tree", *options, ours, theirs, no=1).split(b"\0") if part)
    if files:
        return Merged(_Trees(git, common, head), tuple(sorted(set(files))))
    new = ({change.after for change in _changes(git, each, tree)} for each in (base, head))
    return Merged(_Trees(git, base, tree, frozenset(filter(None, set.intersection(*new)))))


def _line(output: bytes) -> str:
    return output.decode("ascii").strip()


def _files(git: _Git, commit: str) -> dict[str, tuple[str, str]]:
    """Return modes and ids of all files of a commit by path; submodules are no files."""
    found = {}
    for entry in git.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit).split(b"\0")[:-1]:
        meta, _, path = entry.partition(b"\t")
        mode, _, blob = meta.decode().split(" ")
        if mode != _SUBMODULE:
            found[_path(path)] = mode, blob
    return found


def _changes(git: _Git, before: str, after: str) -> tuple[FileChange, ...]:
    options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv")
    parts = git.run("diff-tree", *options, "--end-of-options", before, after).split(b"\0")[:-1]
    return tuple(_change(meta.decode(), path) for meta, path in zip(parts[::2], parts[1::2], strict=True))


def _change(meta: str, path: bytes) -> FileChange:
    old_mode, new_mode, old, new, _ = meta.removeprefix(":").split(" ")
    link = _SYMBOLIC_LINK in {old_mode, new_mode}
    return FileChange(_path(path), _blob(old_mode, old), _blob(new_mode, new), link)


def _blob(mode: str, name: str) -> str | None:
    return None if mode == _SUBMODULE or _ZEROS.fullmatch(name) else name


def _all_new(files: Mapping[str, str]) -> tuple[FileChange, ...]:
    return tuple(FileChange(path, None, blob) for path, blob in files.items())


def _path(raw: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 become lone surrogates, as everywhere in Python."""
    return raw.decode("utf-8", "surrogateescape")


def _lines(names: Collection[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()
