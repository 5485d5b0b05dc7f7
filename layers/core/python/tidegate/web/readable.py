"""Which repositories a person may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.ports import KnownRepository, RepositoryIndex
from tidegate.rules.permission import Permission
from tidegate.web.authorization import Authorization


@dataclass(frozen=True, slots=True)
class Readable:
    """The repositories that a person may read, by name, and how many are not checked yet."""

    repositories: list[KnownRepository]
    unchecked: int = 0


def readable(repository_index: RepositoryIndex, authorization: Authorization, login: str) -> Readable:
    """Return the repositories that ``login`` may read. In a large installation, the list fills up within minutes."""
    every = repository_index.repositories()
    permissions = authorization.listed(login, every)
    may_read = [permission is not None and permission >= Permission.READ for permission in permissions]
    return Readable([one for one, is_read in zip(every, may_read, strict=True) if is_read], permissions.count(None))


def newest(repositories: Iterable[KnownRepository], most: int) -> list[KnownRepository]:
    """Return the repositories that were pushed to last."""
    return sorted(repositories, key=lambda each: each.seen_at, reverse=True)[:most]
