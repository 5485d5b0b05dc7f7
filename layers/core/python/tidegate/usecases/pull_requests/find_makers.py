"""Find out who made the commits of a pull request: their approvals do not count."""

from __future__ import annotations

from tidegate.domain.deploys.authors import UNKNOWN, Authors
from tidegate.domain.errors import NotFound
from tidegate.ports import Forge


def makers(forge: Forge, where: tuple[int, str], base: str, head: str) -> Authors:
    """Return the authors and committers of what ``head`` has and ``base`` (commits or branches) has not.

    They are known once all commits were looked at: an address that belongs to nobody must not ask for one approval more
    than a set has owners. ``where`` is an installation of the App and a repository. Raise ForgeUnavailable and
    ForgeRefused.
    """
    try:
        change = forge.change(*where, base, head)
    except NotFound:
        return UNKNOWN
    return Authors(change.authors.and_also(change.committers).logins, change.committers.known)
