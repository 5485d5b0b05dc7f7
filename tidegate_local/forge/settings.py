"""Start options of a local forge: its Apps, its people, webhook URLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

#: What the App may do, in GitHub's words. docs/install.md asks for these on github.com, and says which of them are not
#: always needed.
APP_PERMISSIONS = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
APP_EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "push",
    "status",
)


@dataclass(frozen=True, slots=True)
class Person:
    """A user: ``permission`` (admin, write, read, none) holds for every repository of others; ``token`` is also the
    password. Everybody has all rights in their own repositories, and may read public ones.
    """

    login: str
    name: str
    permission: str
    token: str


#: Everybody knows these tokens: the forge listens on this machine only.
PEOPLE = (
    Person("maintainer", "Maintainer", "admin", "maintainer"),
    Person("reviewer", "Reviewer", "write", "reviewer"),
    Person("developer", "Developer", "write", "developer"),
    Person("visitor", "Visitor", "read", "visitor"),
    Person("outsider", "Outsider", "none", "outsider"),
)


@dataclass(frozen=True, slots=True)
class Team:
    """A team, the same in every organization; ``pending`` members were invited and did not answer yet."""

    slug: str
    members: tuple[str, ...]
    pending: tuple[str, ...] = ()


TEAMS = (Team("platform", ("maintainer", "reviewer")),)


@dataclass(frozen=True, slots=True)
class OtherApp:
    """An App that is installed everywhere too, such as CI's. Everybody knows its token."""

    id: int
    slug: str
    name: str
    token: str
    permissions: dict[str, str] = field(
        default_factory=lambda: {"checks": "write", "contents": "read", "metadata": "read", "statuses": "write"}
    )


OTHER_APPS = (
    OtherApp(15368, "github-actions", "GitHub Actions", "github-actions"),
    OtherApp(15369, "other-ci", "Other CI", "other-ci"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The forge's settings. ``token_lifetime`` is in seconds, of installation tokens."""

    app_id: int = 4711
    app_slug: str = "tidegate-local"
    app_name: str = "Tidegate"
    client_id: str = "Iv23liTidegateLocal"
    client_secret: str = "local-client-secret"
    permissions: dict[str, str] = field(default_factory=lambda: dict(APP_PERMISSIONS))
    people: tuple[Person, ...] = PEOPLE
    teams: tuple[Team, ...] = TEAMS
    other_apps: tuple[OtherApp, ...] = OTHER_APPS
    webhook_url: str | None = None
    webhook_secret: str = "local-webhook-secret"
    token_lifetime: float = 3600
    webhook_timeout: float = 10


def app_key(directory: Path) -> str:
    """Return the App's private key (PEM) that lies in ``directory``; make one on first use."""
    path = directory / "app-private-key.pem"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(_new_key())
    return path.read_text(encoding="ascii")


def _new_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
