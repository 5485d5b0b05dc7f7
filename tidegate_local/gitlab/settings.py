"""Start options of a local GitLab: its people, the product's bot, webhook URLs."""

from __future__ import annotations

from dataclasses import dataclass

#: GitLab's access levels.
NO_ACCESS, GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 0, 10, 20, 30, 40, 50


@dataclass(frozen=True, slots=True)
class Person:
    """A user, with their access level in every top group. Their name is also their token and password."""

    username: str
    name: str
    access_level: int


#: Everybody knows these tokens: this GitLab listens on this machine only.
PEOPLE = (
    Person("maintainer", "Maintainer", OWNER),
    Person("reviewer", "Reviewer", MAINTAINER),
    Person("developer", "Developer", DEVELOPER),
    Person("visitor", "Visitor", REPORTER),
    Person("outsider", "Outsider", NO_ACCESS),
)


@dataclass(frozen=True, slots=True)
class Team:
    """A subgroup of every top group, and who its direct members are (as developers)."""

    path: str
    members: tuple[str, ...]


TEAMS = (Team("platform", ("maintainer", "reviewer")),)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a local GitLab.

    The bot has ``bot_level`` in every top group, as the user of a group access token has. ``bot_token`` has the scope
    api, ``clone_token`` read_repository only.
    """

    bot: str = "tidegate-bot"
    bot_level: int = MAINTAINER
    bot_token: str = "glpat-local-tidegate-bot"
    clone_token: str = "glpat-local-tidegate-read"
    client_id: str = "tidegate-local"
    client_secret: str = "local-client-secret"
    application: str = "Tidegate"
    people: tuple[Person, ...] = PEOPLE
    teams: tuple[Team, ...] = TEAMS
    webhook_url: str | None = None
    webhook_secret: str = "local-webhook-secret"
    webhook_timeout: float = 10
