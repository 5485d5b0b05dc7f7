"""Look whether a pull request fulfils what is required of deploys by hand: who approves it, and who these are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.domain.access import Person, teams_among
from tidegate.domain.permission import Permission
from tidegate.domain.pull_request import PullRequest
from tidegate.domain.requirements import Required, Requirements, approvers, missing_by_root, missing_for_all
from tidegate.domain.revision import is_on_branch
from tidegate.ports import Forge


@dataclass(frozen=True, slots=True)
class RequirementsChecker:
    """Asks the forge for reviews only where approvals are required, and of people only what these depend on.

    ``where`` is an installation of the App and a repository. Every method raises ForgeUnavailable and ForgeRefused.
    """

    forge: Forge

    def for_all(self, where: tuple[int, str], pull_request: PullRequest, wanted: Requirements) -> tuple[str, ...]:
        """Return what is missing, in Markdown, where the same is required of every root."""
        seen = self._compared(where, pull_request, [wanted])
        return missing_for_all(seen, self._approving(where, pull_request, [wanted]), wanted)

    def by_root(self, where: tuple[int, str], pull_request: PullRequest, required: Required) -> tuple[str, ...]:
        """Return what is missing by root and stack, in Markdown."""
        every = [each for wanted in required.values() for each in wanted or ()]
        seen = self._compared(where, pull_request, every)
        return missing_by_root(seen, self._approving(where, pull_request, every), required)

    def _compared(
        self, where: tuple[int, str], pull_request: PullRequest, wanted: Iterable[Requirements]
    ) -> PullRequest:
        """Return the pull request with what its head lacks of the base branch, if that matters."""
        if not any(each.undiverged for each in wanted):
            return pull_request
        newest = self.forge.branch_head(*where, pull_request.base_branch)
        contains = is_on_branch(self.forge.compare(*where, newest, pull_request.head_sha))
        return replace(pull_request, lacks="" if contains else newest)

    def _approving(
        self, where: tuple[int, str], pull_request: PullRequest, wanted: Iterable[Requirements]
    ) -> list[Person]:
        asking = [each for each in wanted if each.asks_people]
        if not asking:
            return []
        logins = approvers(pull_request, self.forge.reviews(*where, pull_request.number))
        teams = teams_among([grantee for each in asking for grantee in each.grantees])
        return [self._person(where, login, teams) for login in logins]

    def _person(self, where: tuple[int, str], login: str, teams: Iterable[str]) -> Person:
        """Return what the forge says of somebody. Who cannot read the repository counts nowhere."""
        permission = self.forge.permission(*where, login)
        if permission < Permission.READ:
            return Person(login, permission)
        owner = where[1].partition("/")[0]
        found = (team for team in teams if self.forge.is_team_member(where[0], owner, team, login))
        return Person(login, permission, frozenset(found))
