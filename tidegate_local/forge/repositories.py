"""The bare git repositories of a stand-in, each in a directory of its name, and who may write to them now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tidegate_local.forge.git import BareRepository
from tidegate_local.forge.store import Store

_HEADS = "refs/heads/"


class Named(Protocol):
    """What has a repository: its record."""

    @property
    def id(self) -> int: ...

    @property
    def repository(self) -> str: ...

    @property
    def default_branch(self) -> str: ...


R = TypeVar("R", bound=Named)


class Repositories:
    """The git repositories below a directory."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.store, self._directory = store, directory
        self._locks: dict[str, threading.RLock] = {}
        self._lock = threading.RLock()

    def _path(self, full_name: str) -> Path:
        return self._directory / f"{full_name}.git"

    def git(self, one: Named) -> BareRepository:
        """Return the bare git repository of a record."""
        return BareRepository(self._path(one.repository))

    @contextmanager
    def writing(self, one: Named) -> Iterator[None]:
        """Keep other writers of this repository's refs waiting."""
        with self._lock:
            lock = self._locks.setdefault(one.repository, threading.RLock())
        with lock:
            yield

    def copy(self, source: Named, target: Named) -> None:
        """Bring all branches and tags of a repository to another."""
        refs = "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"
        self.git(target).run("fetch", "--quiet", str(self.git(source).path), *refs)

    def settled(self, one: R, before: dict[str, str], after: dict[str, str], **changes: Any) -> R:
        """Return a record after a push: the first branch of an empty repository is its default one, if main is not."""
        heads = sorted(ref.removeprefix(_HEADS) for ref in after if ref.startswith(_HEADS))
        if not before and heads and one.default_branch not in heads:
            self.git(one).run("symbolic-ref", "HEAD", f"{_HEADS}{heads[0]}")
            changes["default_branch"] = heads[0]
        return self.store.change(type(one), one.id, lambda old: replace(old, **changes))  # type: ignore[type-var]
