"""The forge's addresses."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Urls:
    """Addresses under ``home`` (no slash at the end)."""

    home: str

    @property
    def api(self) -> str:
        return f"{self.home}/api/v3"

    def page(self, repository: str, *path: object) -> str:
        """Return a page's address in a repository."""
        return "/".join([self.home, repository, *(quote(str(part), safe="/.") for part in path)])

    def rest(self, repository: str, *path: object) -> str:
        """Return a REST address in a repository."""
        return "/".join([self.api, "repos", repository, *(quote(str(part), safe="/.{}?") for part in path)])

    def user(self, login: str, *path: object) -> str:
        """Return a REST address of an account."""
        return "/".join([self.api, "users", quote(login), *(str(part) for part in path)])

    def clone(self, repository: str) -> str:
        """Return the address for git."""
        return f"{self.home}/{repository}.git"
