"""Start options of a local forge: its App, its people, webhook URLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

#: What the App may do, in GitHub's words. Tidegate's README asks for these on github.com: to write contents only where
#: pull requests are merged by Tidegate.
APP_PERMISSIONS = {
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
