"""Who may do what on GitLab: access levels in place of roles, groups in place of teams."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tidegate.rules.permission import Permission
from tidegate.vcs.gitlab.access import GitLabAccess, project

#: The access levels from which on somebody has a permission. Guests and planners do not read private code.
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
        """Tell whether somebody is a member of the group ``team`` itself, in the repository's topmost group.

        Who is a member of a group above it only is a member of all groups there: that makes nobody one of a team.
        """
        organization = repository.partition("/")[0]
        return self._level(f"/groups/{quote(f'{organization}/{team}', safe='')}/members", user) > 0

    def _level(self, members: str, user: str) -> int:
        """Return somebody's access level among members, 0 for who is none (any more)."""
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
        """Return what everybody may do who has an account: read what is public."""
        found = self._access.find(project(repository))
        return Permission.READ if found is not None and found.get("visibility") == "public" else Permission.NONE
