"""Who asks, and the repositories that they may read."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer


class Me(Answer):
    """Who asks."""

    login: str


class Repository(Answer):
    """A repository that Tidegate knows."""

    name: str
    default_branch: str = ""
    url: str = ""


class Repositories(Answer):
    """All repositories that one may read."""

    repositories: list[Repository]
