"""Addresses of a local GitLab."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Urls:
    """Addresses under ``home`` (no slash at the end)."""

    home: str

    @property
    def api(self) -> str:
        return f"{self.home}/api/v4"

    def project(self, path: str) -> str:
        """Return a project's page."""
        return f"{self.home}/{path}"

    def page(self, path: str, *rest: object) -> str:
        """Return a page of a project."""
        return "/".join([self.home, path, "-", *(quote(str(part), safe="/.") for part in rest)])

    def user(self, username: str) -> str:
        """Return a person's page."""
        return f"{self.home}/{username}"

    def avatar(self, username: str) -> str:
        """Return a person's picture."""
        return f"{self.home}/_local/avatars/{username}.svg"

    def clone(self, path: str) -> str:
        """Return a project's address for git over HTTP."""
        return f"{self.home}/{path}.git"

    def ssh(self, path: str) -> str:
        """Return a project's address for git over SSH, which nobody answers here."""
        return f"git@gitlab.invalid:{path}.git"
