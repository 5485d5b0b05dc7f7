"""Permissions and teams on GitHub."""

from __future__ import annotations

from urllib.parse import quote

from github import Github, GithubException
from github.Repository import Repository

from tidegate.rules.permission import ROLES, Permission
from tidegate.vcs.github.access import NOT_FOUND, READ_METADATA, GitHubAccess

_READ_MEMBERS = {"members": "read"}


class GitHubPeople:
    """The port ``People``."""

    _access: GitHubAccess

    def permission(self, repository: str, user: str) -> Permission:
        def call(repo: Repository) -> Permission:
            path = f"{repo.url}/collaborators/{quote(user, safe='')}/permission"
            try:
                _, answer = repo.requester.requestJsonAndCheck("GET", path)
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                return Permission.NONE
            # Custom organization roles count as the role on which they are based.
            word = answer.get("role_name") if answer.get("role_name") in ROLES else answer.get("permission")
            return ROLES.get(word, Permission.NONE)

        return self._access.call(repository, READ_METADATA, call)

    def is_team_member(self, repository: str, team: str, user: str) -> bool:
        organization = repository.partition("/")[0]
        names = [quote(name, safe="") for name in (organization, team, user)]
        path = "/orgs/{}/teams/{}/memberships/{}".format(*names)

        def call(client: Github) -> bool:
            try:
                _, answer = client.requester.requestJsonAndCheck("GET", path)
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                return False
            return bool(answer["state"] == "active")

        return self._access.call_organization(repository, _READ_MEMBERS, call)
