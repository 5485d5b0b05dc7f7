"""Which repositories somebody may see."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tidegate.domain.permission import Permission
from tidegate.ports import Catalog, KnownRepository
from tidegate.web.authorization import Authorization

#: Questions to the forge at once: it asks for no more than 100 at a time, of all that an App does.
_AT_ONCE = 8


def readable(catalog: Catalog, authorization: Authorization, login: str) -> list[KnownRepository]:
    """Return the repositories that ``login`` may read, by name."""

    def may_read(known: KnownRepository) -> bool:
        return authorization.permission(login, known.name, known.installation) >= Permission.READ

    repositories = catalog.repositories()
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="permissions") as pool:
        allowed = list(pool.map(may_read, repositories))
    return [known for known, is_allowed in zip(repositories, allowed, strict=True) if is_allowed]
