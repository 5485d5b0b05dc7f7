"""The changes of a push, read by git."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs between two commits: its content's id before and after, None if it is missing.

    A renamed file is two changes. Bytes of a path that are not UTF-8 are lone surrogates. ``link`` tells that it is,
    or was, a symbolic link.
    """

    path: str
    before: str | None
    after: str | None
    link: bool = False


class OrganizationFile(Protocol):
    """The organization-wide configuration file, which operators provide."""

    def read(self) -> bytes | None:
        """Return its current content, None if there is none. Raise CloudUnavailable."""


class PushedTrees(Protocol):
    """The changes of a push. If the previous commit is unknown, every file counts as new."""

    @property
    def files(self) -> Mapping[str, str]:
        """All files after the push: path to content id."""

    @property
    def links(self) -> Collection[str]:
        """Those of the files that are symbolic links: their content is the target."""

    @property
    def changes(self) -> Sequence[FileChange]:
        """All files that differ, however many."""

    @property
    def before_is_known(self) -> bool:
        """Whether ``changes`` compares with the commit before the push."""

    def read(self, contents: Collection[str]) -> Mapping[str, bytes]:
        """Return contents by id, fetched in one request. What is larger than 1 MiB is returned empty."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The push that a merge of a head into its base would make.

    ``conflicts`` are files that need a manual merge: then ``trees`` are the head's changes.
    """

    trees: PushedTrees
    conflicts: tuple[str, ...] = ()


class SourceHistory(Protocol):
    def fetch(self, url: str, token: str, before: str, after: str) -> AbstractContextManager[PushedTrees]:
        """Fetch two commits of the repository at ``url``.

        Zeros as ``before`` stand for none: everything is new. A commit against itself changes nothing. Raise NotFound
        if ``after`` does not exist, ForgeUnavailable and ForgeRefused.
        """

    def merge(self, url: str, token: str, base: str, head: str, common: str) -> AbstractContextManager[Merged]:
        """Fetch a base and a head, and merge them; ``common`` is a common ancestor.

        Raise NotFound if one of them does not exist, ForgeUnavailable and ForgeRefused.
        """
