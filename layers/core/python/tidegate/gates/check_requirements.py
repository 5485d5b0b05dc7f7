"""Check a pull request against apply requirements: its approvals, and the people who gave them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tidegate.deploys.rules.revision import is_on_branch
from tidegate.policies.rules.apply_requirements import (
    Merged,
    Required,
    approvers,
    missing_by_root,
    missing_for_all,
)
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Ports
from tidegate.rules.access import Person, teams_among
from tidegate.rules.permission import Permission
from tidegate.vcs.find_makers import makers
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestSpec

#: Later than every review: when the base branch changed but Tidegate has not processed that yet.
_NOT_SEEN_YET = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RequirementsChecker:
    """Reads reviews only if approvals are required, and permissions only of people whom these depend on.

    ``records`` have the pushes to a pull request; if ``merged``, also since when it has its base branch. Every method
    raises ForgeUnavailable and ForgeRefused.
    """

    ports: Ports
    merged: bool = True

    def for_all(self, repository: str, pull_request: PullRequest, wanted: Requirements) -> tuple[str, ...]:
        """Return what is missing, in Markdown, if all roots have the same requirements."""
        seen, approving = self._looked_at(repository, pull_request, [wanted])
        return missing_for_all(seen, approving, wanted)

    def by_root(self, repository: str, pull_request: PullRequest, required: Required) -> tuple[str, ...]:
        """Return what is missing by root and stack, in Markdown."""
        every = [each for wanted in required.values() for each in wanted or ()]
        seen, approving = self._looked_at(repository, pull_request, every)
        return missing_by_root(seen, approving, required)

    def of_merged(
        self, repository: str, number: int, base: str, wanted: Iterable[Requirements], *, head: str = ""
    ) -> Merged:
        """Return a pull request with its approvals. ``base`` is the commit into which it was merged, if known.

        Approvals are of ``head``, or else of the pull request's own head, which was merged.
        """
        found = self.ports.pull_request_reader.pull_request(repository, number)
        found = replace(found, head_sha=head or found.head_sha)
        asking = [each for each in wanted if each.asks_people]
        if not asking:
            return Merged(found)
        after = base or self.ports.pull_request_reader.seen_pull_request(repository, number).spec.base_sha
        record = self._record(repository, number)
        made_by = makers(self.ports.commits, repository, after, found.head_sha, record.pushes if record else ())
        seen = replace(found, base_since=self._base_since(found, record), made_by=made_by)
        logins = approvers(seen, self.ports.reviews.reviews(repository, number))
        return Merged(seen, self.people(repository, logins, asking))

    def people(self, repository: str, logins: Iterable[str], wanted: Iterable[Requirements]) -> tuple[Person, ...]:
        """Return the permissions and teams of people, as far as requirements depend on them."""
        teams = teams_among([grantee for each in wanted for grantee in each.grantees])
        return tuple(self._person(repository, login, teams) for login in logins)

    def _looked_at(
        self, repository: str, pull_request: PullRequest, wanted: Iterable[Requirements]
    ) -> tuple[PullRequest, list[Person]]:
        """Return the pull request with all that the requirements depend on, and its approvals."""
        compared = self._compared(repository, pull_request, wanted)
        asking = [each for each in wanted if each.asks_people]
        return self._approved(repository, compared, asking) if asking else (compared, [])

    def _compared(self, repository: str, pull_request: PullRequest, wanted: Iterable[Requirements]) -> PullRequest:
        """Return the pull request with what its head lacks of the base branch, if that matters."""
        if not any(each.undiverged for each in wanted):
            return pull_request
        newest = self.ports.commits.branch_head(repository, pull_request.base_branch)
        contains = is_on_branch(self.ports.commits.compare(repository, newest, pull_request.head_sha))
        return replace(pull_request, lacks="" if contains else newest)

    def _approved(
        self, repository: str, pull_request: PullRequest, asking: Iterable[Requirements]
    ) -> tuple[PullRequest, list[Person]]:
        reviews = self.ports.reviews.reviews(repository, pull_request.number)
        record = self._record(repository, pull_request.number)
        seen = replace(pull_request, base_since=self._base_since(pull_request, record))
        pushes = record.pushes if record else ()
        seen = replace(seen, made_by=makers(self.ports.commits, repository, seen.base_branch, seen.head_sha, pushes))
        return seen, list(self.people(repository, approvers(seen, reviews), tuple(asking)))

    def _record(self, repository: str, number: int) -> PullRequestSpec | None:
        """Return the record; None for a pull request older than the installation."""
        found = self.ports.pull_requests.many([(repository, number)])
        return found[0].spec if found else None

    def _base_since(self, pull_request: PullRequest, record: PullRequestSpec | None) -> datetime | None:
        """Return since when it has its base branch, if that matters and is known."""
        if record is None or not self.merged:
            return None
        return record.base_since if record.base == pull_request.base_branch else _NOT_SEEN_YET

    def _person(self, repository: str, login: str, teams: Iterable[str]) -> Person:
        """Return a person's permissions. A person without read access counts nowhere."""
        permission = self.ports.people.permission(repository, login)
        if permission < Permission.READ:
            return Person(login, permission)
        found = (team for team in teams if self.ports.people.is_team_member(repository, team, login))
        return Person(login, permission, frozenset(found))
