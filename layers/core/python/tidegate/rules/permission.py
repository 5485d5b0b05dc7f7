"""A person's permission in a repository at the VCS provider."""

from __future__ import annotations

from enum import IntEnum


class Permission(IntEnum):
    """Roles in a repository; each includes the ones before it."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5


#: The roles by the words that configuration and GitHub have for them.
ROLES = {each.name.lower(): each for each in Permission if each}
