"""A work tree for one command, and git that commits from it whatever the command did to git.

::

    store/            the objects, fetched before any command runs
    entry/tree/       one commit's files, with a repository of their own for the command's git
    entry/index       the index as it was before the command
    entry/commit/     the repository that the commit is made with, new once the command has ended

A command may write everywhere, as the runner has one user. What counts is made anew for each entry, so nothing that it
leaves in a configuration, hooks, an index or ignored files reaches a commit. Files stay where they are just committed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from runner.faults import StepFailed
from runner.workspace import Git, place_in
from tidegate.config_updates.rules.replay import RIGHTS

#: Bytes of the files that one entry may change: the step that pushes unpacks all commits on its small disk.
MOST_BYTES = 50 << 20
_GITLINK = "160000"
#: The exit code of git's own refusals, such as for a file that it cannot read.
_FATAL = 128


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The files of the commit ``parent``. ``place`` is a directory with all that belongs to them."""

    git: Git
    place: Path
    store: Path
    parent: str

    @property
    def top(self) -> Path:
        return self.place / "tree"

    @classmethod
    def made(cls, git: Git, store: Path, parent: str) -> WorkTree:
        """Write the files of a commit. ``git`` needs no address and has no token. Raise RunnerFault."""
        place = store.with_name("entry")
        _remove(_aside(place))
        tree = cls(replace(git, directory=place / "tree"), place, store, parent)
        tree.top.mkdir(parents=True)
        _begin(tree)
        own = tree.top / ".git"
        tree._with(own, own / "index").do("read-tree", "-u", "--reset", parent)
        shutil.copyfile(own / "index", place / "index")
        return tree

    def after(self, commit: str) -> WorkTree | None:
        """Return the tree of a commit that was just made of these files, or changed none; None where more is left."""
        git = self._with(self.place / "commit", self.place / "index")
        if not git.ask("clean", "-ffdx", "--quiet", no=1)[0] or self._has_repositories():
            return None
        old = _aside(self.place)
        tree = replace(self, parent=commit)
        if (old / "tree" / ".git").exists():
            (old / "tree" / ".git").rename(old / "git")
        self.place.mkdir()
        (old / "tree").rename(tree.top)
        _begin(tree)
        for index in (self.place / "index", tree.top / ".git" / "index"):
            shutil.copyfile(old / "index", index)
        _remove(old)
        return tree

    def _has_repositories(self) -> bool:
        """Tell whether there is a repository below the top: git passes over one among files that it knows."""
        return any(
            ".git" in (*directories, *files)
            for place, directories, files in os.walk(self.top)
            if place != str(self.top)
        )

    def file(self, path: str) -> Path:
        """Return where a file of the tree is to be written. Raise StepFailed when that is elsewhere."""
        place = place_in(self.top, self.top / path)
        if place is None or ".git" in (*Path(path).parts, *place.relative_to(self.top.resolve()).parts):
            raise StepFailed(f"The file {path!a} is outside of the repository, or in .git. Use a file, not a link.")
        return place

    def committed(self, message: str, people: Mapping[str, str]) -> tuple[str, int]:
        """Commit all files that are not ignored, new and deleted ones too; return the commit and its files' bytes.

        The commit is empty for no change. ``people`` are git's variables for author and committer. Raise StepFailed for
        what cannot be committed, RunnerFault for what else goes wrong.
        """
        repository = self.place / "commit"
        try:
            _make_repository(repository, self.store, self.parent)
            git = self._with(repository, self.place / "index", people)
            added = git.ask("add", "--all", no=_FATAL)[0]
        except OSError as error:
            raise StepFailed(f"The work tree cannot be read any more: {error.strerror}.") from error
        if not added:
            raise StepFailed("git could not add the changed files: see the log.")
        changes = git.ask("diff-index", "--cached", "--raw", "--no-renames", "-z", self.parent)[1]
        for path in _moved_submodules(changes):
            raise StepFailed(f"{path!a} is or was a submodule or a nested repository. The command must not change it.")
        if any(path == RIGHTS for _, path in _changed(changes)):
            raise StepFailed(f"The command has changed {RIGHTS}, which grants rights. Only people may do that.")
        if not changes:
            return "", 0
        size = sum(_size(self.top / path) for _, path in _changed(changes))
        if size > MOST_BYTES:
            raise StepFailed(
                f"The command has changed files of {size >> 20} MB. The limit is {MOST_BYTES >> 20} MB: list in "
                ".gitignore what it builds."
            )
        tree = _line(git.ask("write-tree")[1])
        return _line(git.ask("commit-tree", "-p", self.parent, "-m", message, tree)[1]), size

    def content(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit in the store; None when there is no such commit, file, or it is no plain file."""
        git = self._with(self.top / ".git", self.place / "index")
        found, listed = git.ask("ls-tree", "-z", commit, "--", path, no=_FATAL)
        words = listed.partition(b"\t")[0].split()
        if not found or not words or not words[0].startswith(b"100"):
            return None
        return git.ask("cat-file", "blob", words[2].decode("ascii"))[1]

    def _with(self, repository: Path, index: Path, more: Mapping[str, str] | None = None) -> Git:
        environ = {
            **self.git.environ,
            **(more or {}),
            "GIT_DIR": str(repository),
            "GIT_WORK_TREE": str(self.top),
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(self.store / "objects"),
            "GIT_NO_REPLACE_OBJECTS": "1",
        }
        return replace(self.git, environ=environ)


def _begin(tree: WorkTree) -> None:
    """Give the tree's command a repository, and a home."""
    _make_repository(tree.top / ".git", tree.store, tree.parent)
    for name in ("home", "tmp"):
        (tree.place / name).mkdir()


def write_bundle(git: Git, file: Path, base: str, tip: str) -> None:
    """Write a bundle of the commits between two. ``git`` is in the store. Raise RunnerFault."""
    repository = git.directory.with_name("bundled")
    _make_repository(repository, git.directory, tip)
    environ = {**git.environ, "GIT_DIR": str(repository), "GIT_NO_REPLACE_OBJECTS": "1"}
    replace(git, environ=environ).do("bundle", "create", "--quiet", str(file), f"^{base}", "HEAD", "--")


def _make_repository(place: Path, store: Path, head: str) -> None:
    """Make a repository that borrows the store's objects: ``git init`` would be a process more for each entry.

    Raise FileExistsError for a place that somebody has prepared.
    """
    place.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "objects" / "info").mkdir(parents=True)
    (place / "objects" / "info" / "alternates").write_text(f"{store / 'objects'}\n", encoding="utf-8")
    (place / "HEAD").write_text(f"{head}\n", encoding="ascii")
    of_sha256 = len(head) != 40  # noqa: PLR2004  # Hexadecimal digits of SHA-1.
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if of_sha256 else ""
    version = f"[core]\n\trepositoryFormatVersion = {int(of_sha256)}\n\tbare = false\n"
    (place / "config").write_text(version + extensions, encoding="ascii")


def _changed(raw: bytes) -> Iterator[tuple[str, str]]:
    """Yield the modes of each changed file, and its path."""
    parts = raw.decode("utf-8", "surrogateescape").split("\0")
    yield from zip(parts[::2], parts[1::2], strict=False)


def _moved_submodules(raw: bytes) -> Iterator[str]:
    """Yield the paths whose entry is, or was, another repository's commit."""
    return (path for modes, path in _changed(raw) if _GITLINK in modes[1:].split()[:2])


def _size(file: Path) -> int:
    """Return the bytes of a file, 0 for one that is gone."""
    with suppress(OSError):
        return file.lstat().st_size
    return 0


def _aside(place: Path) -> Path:
    """Get a directory out of the way, if there is one, and return where it is."""
    numbered = (place.with_name(f"left-{number}") for number in range(1_000_000))
    aside = next(each for each in numbered if not os.path.lexists(each))
    if os.path.lexists(place):
        place.rename(aside)
    return aside


def _remove(place: Path) -> None:
    """Delete a directory, as far as a command has not forbidden it: what is left goes with the job."""
    shutil.rmtree(place, ignore_errors=True)


def _line(output: bytes) -> str:
    return output.decode("ascii").strip()
