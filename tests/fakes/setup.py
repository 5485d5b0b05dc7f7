"""Setting up the App, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.rules.errors import Conflict, ForgeUnavailable
from tidegate.setup.rules.app_needs import Granted
from tidegate.setup.rules.created_app import CreatedApp, app_secret, webhook_secret
from tidegate.setup.rules.refusals import AlreadySetUp
from tidegate.setup.rules.setup_code import SetupCode


@dataclass(slots=True)
class MemorySetupCodes:
    """The port ``SetupCodes``."""

    code: SetupCode | None = None

    def read(self) -> SetupCode | None:
        return self.code

    def put(self, code: SetupCode) -> None:
        self.code = code

    def begin(self, code: SetupCode) -> None:
        if self.code is None or self.code.digest != code.digest:
            raise Conflict("The setup code")
        self.code = code

    def claim(self, state_digest: str) -> None:
        if self.code is None or self.code.state_digest != state_digest:
            raise Conflict("The setup code")
        self.code = replace(self.code, state_digest="", state_ends=0)

    def remove(self) -> None:
        self.code = None


@dataclass(slots=True)
class MemoryAppSecrets:
    """The port ``AppSecrets``."""

    stored: dict[str, str] = field(default_factory=dict)

    def existing(self) -> list[str]:
        return sorted(self.stored)

    def create(self, app: CreatedApp) -> None:
        for name, text in (("webhook-secret", webhook_secret(app)), ("github-app", app_secret(app))):
            if name in self.stored:
                raise AlreadySetUp([name])
            self.stored[name] = text


@dataclass(slots=True)
class MemoryAppManifests:
    """The port ``AppManifests``: Apps by their code, and what they were granted."""

    apps: dict[str, CreatedApp] = field(default_factory=dict)
    has: Granted | None = None

    def address(self, organization: str, state: str) -> str:
        owner = f"/organizations/{organization}" if organization else ""
        return f"https://forge.example{owner}/settings/apps/new?state={state}"

    def convert(self, code: str) -> CreatedApp | None:
        return self.apps.pop(code, None)

    def granted(self, app: CreatedApp) -> Granted:
        del app  # There is only one.
        if self.has is None:
            raise ForgeUnavailable("no answer")
        return self.has
