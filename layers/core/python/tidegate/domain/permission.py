"""What a person may do in a repository, as the forge says."""

from __future__ import annotations

from enum import IntEnum


class Permission(IntEnum):
    """Rights in a repository; each includes the ones before it."""

    NONE = 0
    READ = 1
    WRITE = 2
    ADMIN = 3
