"""Setting up the GitHub App: the one-time code, the App's secrets, and GitHub's manifest flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidegate.setup.rules.app_needs import Granted
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.setup.rules.setup_code import SetupCode


class SetupCodes(Protocol):
    """The only code that is valid now."""

    def read(self) -> SetupCode | None: ...

    def put(self, code: SetupCode) -> None:
        """Store a code in place of the one before."""

    def begin(self, code: SetupCode) -> None:
        """Store the state and the options of a begun creation. Raise Conflict if another code was stored since."""

    def claim(self, state_digest: str) -> None:
        """Take the state, which works once. Raise Conflict."""

    def remove(self) -> None:
        """End the code."""


class AppSecrets(Protocol):
    """The two secrets of the App. They can be created, never changed."""

    def existing(self) -> Sequence[str]:
        """Return the names of those that exist."""

    def create(self, app: CreatedApp) -> None:
        """Store them. Raise AlreadySetUp if one exists."""


class AppManifests(Protocol):
    """GitHub's manifest flow."""

    def address(self, organization: str, state: str) -> str:
        """Return where to send the manifest, for an App of an organization, or of the person's own account."""

    def convert(self, code: str) -> CreatedApp | None:
        """Exchange GitHub's code for the App, once; None for an invalid code. Raise ForgeUnavailable."""

    def granted(self, app: CreatedApp) -> Granted:
        """Ask GitHub, as the App, what it has. Raise ForgeUnavailable, ForgeRefused."""
