"""A local checkout as root discovery sees a commit: the files of its working tree, committed or not."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_cli.configuration import FILE
from tidegate_cli.problems import NotFound, Refused

if TYPE_CHECKING:
    from tidegate.config.configured import ConfiguredRoots
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.discovery.find_roots import CommitModules, FoundRoots
    from tidegate.ports import FileChange

#: Bytes of a file that are read, as of commits.
_MAXIMUM_FILE = 1024 * 1024
_SECONDS = 60.0
_REMOTE = re.compile(r"[:/]([A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}?)(\.git)?/?$")


class Checkout:
    """The port ``PushedTrees`` on a working tree. What git ignores is no part of it. A file's id is its path.

    ``top`` is the directory that stands for the repository's top: that of the configuration file.
    """

    changes: Sequence[FileChange] = ()
    before_is_known = False

    def __init__(self, top: Path) -> None:
        self.top = top

    @cached_property
    def files(self) -> Mapping[str, str]:
        """All files: path to path. Raise Refused."""
        listed = _git(self.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        paths = {raw.decode("utf-8", "surrogateescape") for raw in listed.split(b"\0") if raw}
        return {path: path for path in sorted(paths) if (self.top / path).is_symlink() or (self.top / path).is_file()}

    @cached_property
    def links(self) -> Collection[str]:
        """The files that are symbolic links."""
        return {path for path in self.files if (self.top / path).is_symlink()}

    def read(self, contents: Collection[str]) -> Mapping[str, bytes]:
        """Return what files hold; larger ones than 1 MiB count as empty."""
        return {path: self._content(path) for path in contents}

    def _content(self, path: str) -> bytes:
        try:
            if (self.top / path).is_symlink():
                return os.fsencode((self.top / path).readlink())
            with (self.top / path).open("rb") as file:
                content = file.read(_MAXIMUM_FILE + 1)
        except OSError:
            return b""
        return content if len(content) <= _MAXIMUM_FILE else b""

    @cached_property
    def repository(self) -> str:
        """``owner/name`` by the remote ``origin``; without one, the directory's name below ``owner``."""
        remote = _words(self.top, "remote", "get-url", "origin")
        found = _REMOTE.search(remote)
        return found[1] if found else f"owner/{self.top.name}"

    @cached_property
    def branch(self) -> str:
        """The branch that is checked out; empty where there is none."""
        return _words(self.top, "symbolic-ref", "--short", "--quiet", "HEAD")

    @cached_property
    def submodules(self) -> Sequence[str]:
        """The paths of its submodules. Raise Refused."""
        if ".gitmodules" not in self.files:
            return ()
        told = _git(self.top, "config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        return sorted(each.partition("\n")[2] for each in told.decode("utf-8", "replace").split("\0") if each)

    @property
    def modules(self) -> CommitModules:
        """The modules of the working tree."""
        from tidegate.discovery.find_roots import CommitModules

        return CommitModules(self)

    def found(self, loaded: LoadedConfiguration) -> FoundRoots:
        """Return the roots of the working tree, as a file has them."""
        from tidegate.discovery.find_roots import find_roots

        return find_roots(self.modules, self.repository, loaded)

    def configured(self, loaded: LoadedConfiguration, branch: str) -> ConfiguredRoots:
        """Return all roots in their stacks. ``branch`` stands for where a change comes from, and goes to."""
        from tidegate.config.engine_files import with_engine_files
        from tidegate.config.resolution import configure

        configured = configure(loaded, self.found(loaded).roots, branch, branch)
        modules = self.modules
        return with_engine_files(configured, modules.engine_files, loaded.limits, modules.required)

    def refused(self, found: FoundRoots, configured: ConfiguredRoots) -> dict[str, str]:
        """Return by name why roots cannot be deployed until somebody corrects the file."""
        gone = {
            root.name: f"Its directory {root.dir} does not exist, or has no Terraform files." for root in found.gone
        }
        return {**configured.refused, **gone}

    @property
    def warning(self) -> str:
        """A sentence if Tidegate does not read the file where it is; else empty."""
        if (self.top / ".git").exists():
            return ""
        return (
            f"{self.top / FILE}: Tidegate reads only the one at the top of a repository. Here its directory counts as "
            "the top."
        )


def checkout_around(place: Path) -> Checkout | None:
    """Return the checkout that holds a directory, None outside of git.

    Its top is the nearest directory upwards with a ``tidegate.yaml``, or the repository's top if there is none.
    """
    start, top = place.resolve(), None
    for directory in (start, *start.parents):
        if top is None and (directory / FILE).is_file():
            top = directory
        if (directory / ".git").exists():
            return Checkout(top or directory)
    return None


def own_file() -> Path:
    """Return the file that commands read if none is named: that of the checkout around, or the one here."""
    found = checkout_around(Path.cwd())
    return Path(os.path.relpath(found.top / FILE)) if found else Path(FILE)


def the_checkout(place: Path) -> Checkout:
    """Return the repository that holds a directory or file. Raise NotFound."""
    found = checkout_around(place)
    if found is None:
        raise NotFound(
            f"{place} is not in a git repository.",
            "Run the command in a git repository: it reads the roots from the files there.",
        )
    return found


def _words(top: Path, *arguments: str) -> str:
    try:
        return _git(top, *arguments).decode("utf-8", "replace").strip()
    except Refused:
        return ""


def _git(top: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(top), *arguments], capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError:
        raise Refused(
            "The program git is not installed.", "Install git: it lists the files of the repository."
        ) from None
    except subprocess.TimeoutExpired:
        raise Refused(f"git did not list the files of {top} within {_SECONDS:g} s.", "Try again.") from None
    if done.returncode:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise Refused(f"git cannot read {top}: {words}", "Correct it, then run the command again.")
    return done.stdout
