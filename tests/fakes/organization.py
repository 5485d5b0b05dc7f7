"""The organization-wide file in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MemoryOrganizationFile:
    """The port ``OrganizationFile``: ``content`` is what it holds, None while there is none."""

    content: bytes | None = None

    def read(self) -> bytes | None:
        return self.content
