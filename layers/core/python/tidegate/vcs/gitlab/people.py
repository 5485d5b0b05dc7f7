"""Permissions on GitLab: access levels for roles, groups for teams."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tidegate.rules.permission import Permission
from tidegate.vcs.gitlab.access import GitLabAccess, project

#: The lowest access level of each permission. Guests and planners do not read private code.
_LEVELS = (
    (50, Permission.ADMIN),
    (40, Permission.MAINTAIN),
    (30, Permission.WRITE),
    (20, Permission.READ),
)


class GitLabPeople:
    """The port ``People``."""

    _access: GitLabAccess

    def permission(self, repository: str, user: str) -> Permission:
        level = self._level(f"{project(repository)}/members/all", user)
        found = next((permission for least, permission in _LEVELS if level >= least), Permission.NONE)
        return found or self._of_everybody(repository)

    def is_team_member(self, repository: str, team: str, user: str) -> bool:
        """Tell whether ``user`` is a direct member of the group ``team`` in the repository's topmost group.

        Members of a parent group are members of all groups below, which does not make them team members.
        """
        organization = repository.partition("/")[0]
        return self._level(f"/groups/{quote(f'{organization}/{team}', safe='')}/members", user) > 0

    def _level(self, members: str, user: str) -> int:
        """Return somebody's access level, 0 for non-members."""
        known = self._user(user)
        found = None if known is None else self._access.find(f"{members}/{known['id']}")
        if found is None or found.get("state") != "active" or found.get("membership_state") not in {None, "active"}:
            return 0
        return int(found["access_level"])

    def _user(self, name: str) -> Any:
        """Return the user with exactly this name, None if there is none."""
        found = self._access.call("GET", "/users", {"username": name})
        return next((each for each in found if each["username"].casefold() == name.casefold()), None)

    def _of_everybody(self, repository: str) -> Permission:
        """Return the permission of every account: read for public projects."""
        found = self._access.find(project(repository))
        return Permission.READ if found is not None and found.get("visibility") == "public" else Permission.NONE
