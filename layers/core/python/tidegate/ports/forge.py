"""The forge's API, and who somebody is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tidegate.vcs.rules.authors import Authors

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.rules.permission import Permission
    from tidegate.vcs.rules.check_run import CheckRun
    from tidegate.vcs.rules.comparison import Comparison
    from tidegate.vcs.rules.pull_request import MergeMethod, PullRequest, PullRequestReview, SeenPullRequest


@dataclass(frozen=True, slots=True)
class Change:
    """Commits of a branch: the commit that they come after, who made them, and who committed what others made.

    Neither are known where the forge knows nobody by an address, or not all commits were read. ``authors`` are also
    those whom the messages name besides. The forge itself, which commits what people edit on its pages, is nobody.
    ``forks_once`` tells that they are known to come after no other commit of the other branch. ``commits`` are all of
    them, None where there are more than are read.
    """

    after: str
    authors: Authors
    committers: Authors = field(default_factory=Authors)
    forks_once: bool = False
    commits: tuple[str, ...] | None = ()

    @property
    def fork_sha(self) -> str:
        """The one commit that both branches come after; empty where there may be several."""
        return self.after if self.forks_once else ""


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A webhook delivery of the App that the forge could not hand over: its number and its GUID."""

    id: int
    guid: str
    event: str
    at: str


class ForgeUrls(Protocol):
    """Where things are on the forge."""

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        """Return the address of a check run's page."""

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        """Return the address of the list of all check runs of a pull request."""

    def pull_request_url(self, repository: str, number: int) -> str:
        """Return the address of a pull request's page."""

    def pull_request_ref(self, number: int) -> str:
        """Return what git calls the head of a pull request."""

    def issue_url(self, repository: str, number: int) -> str:
        """Return the address of an issue's page."""

    def commit_url(self, repository: str, sha: str) -> str:
        """Return the address of a commit's page."""

    def clone_url(self, repository: str) -> str:
        """Return the repository's HTTPS address for git."""


class Forge(ForgeUrls, Protocol):
    """The forge's API for one repository at a time. Raises ForgeUnavailable and ForgeRefused."""

    def compare(self, installation: int, repository: str, base: str, head: str) -> Comparison:
        """Tell how ``head`` relates to ``base``."""

    def change(self, installation: int, repository: str, base: str, head: str) -> Change:
        """Return what ``head`` changes that ``base`` (branches or commits) does not have.

        Raise NotFound when they have no commit in common.
        """

    def authors(self, installation: int, repository: str, head: str) -> Authors:
        """Return who made all that a commit has, from the first of its repository on. Raise NotFound."""

    def permission(self, installation: int, repository: str, user: str) -> Permission:
        """Return what ``user`` may do in the repository; NONE also when there is no such user."""

    def branch_head(self, installation: int, repository: str, branch: str) -> str:
        """Return the commit that a branch is at. Raise NotFound when there is no such branch."""

    def default_branch(self, installation: int, repository: str) -> str:
        """Return the name of the default branch."""

    def pull_request(self, installation: int, repository: str, number: int) -> PullRequest:
        """Return a pull request as it is now. Raise NotFound."""

    def seen_pull_request(self, installation: int, repository: str, number: int) -> SeenPullRequest:
        """Return what a record holds of a pull request, as it is now, in one call. Raise NotFound."""

    def open_pull_requests(self, installation: int, repository: str) -> Sequence[SeenPullRequest]:
        """Return all open pull requests, by number, in one call for each hundred."""

    def merge_pull_request(
        self, installation: int, repository: str, number: int, sha: str, method: MergeMethod
    ) -> None:
        """Merge an open pull request, if its head is still ``sha``.

        Raise ForgeRefused with the forge's own words when it cannot be merged: branch protection, conflicts, another
        head; AppLacksPermission when the App may not write contents.
        """

    def pull_requests_of(self, installation: int, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        """Return the pull requests that a commit came with, or is a part of, merged or not.

        Raise NotFound when there is no such commit.
        """

    def reviews(self, installation: int, repository: str, number: int) -> Sequence[PullRequestReview]:
        """Return the reviews of a pull request, oldest first."""

    def dismiss_review(self, installation: int, repository: str, number: int, review: int, reason: str) -> None:
        """Take an approval away, and show the reason. Raise ForgeRefused where that is not allowed, or not known."""

    def comment(self, installation: int, repository: str, number: int, text: str) -> int:
        """Write a comment (Markdown) under a pull request and return its id."""

    def update_comment(self, installation: int, repository: str, number: int, comment: int, text: str) -> None:
        """Replace the text of a comment under a pull request. Raise NotFound when it is gone."""

    def our_comments(self, installation: int, repository: str, number: int, marker: str) -> Mapping[int, str]:
        """Return the comments of our App under a pull request whose text begins with ``marker``, by id, oldest first.

        Those of others are none of ours, whatever their text.
        """

    def react(self, installation: int, repository: str, number: int, comment: int, reaction: str) -> None:
        """Put a reaction (GitHub's word, such as ``eyes`` or ``rocket``) on a comment under a pull request."""

    def is_team_member(self, installation: int, organization: str, team: str, user: str) -> bool:
        """Tell whether ``user`` is an active member of a team (its slug) of the organization."""

    def create_check_run(self, installation: int, repository: str, check_run: CheckRun) -> int:
        """Create a check run and return its id."""

    def update_check_run(self, installation: int, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        """Replace what a check run shows."""

    def find_check_run(self, installation: int, repository: str, sha: str, external_id: str) -> int | None:
        """Return the id of the newest check run with this external id, if there is one."""

    def commit_check_runs(self, installation: int, repository: str, sha: str) -> Mapping[int, str]:
        """Return the external ids of all check runs of our App on a commit, by their own ids."""

    def clone_token(self, installation: int, repository: str, others: Collection[str] = ()) -> str:
        """Return a token that can read the contents of this repository and of ``others``, for an hour.

        On GitHub it can read nothing else. Raise RepositoriesUnreadable where one of the others cannot be read.
        """


class ForgeDeliveries(Protocol):
    """The App's own webhook deliveries, as the forge recorded them."""

    def failed(self, since: str) -> Sequence[FailedDelivery]:
        """Return deliveries since then (ISO 8601) of which no attempt has succeeded."""

    def redeliver(self, delivery: int) -> None:
        """Ask the forge to deliver once more."""


class Accounts(Protocol):
    """Who somebody is at the forge."""

    def login_of(self, token: str) -> str | None:
        """Return the login of a token's owner; None for a token that is not valid."""

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        """Return the token that an OAuth code stands for; None for a code that is not valid."""

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        """Return the address where a person signs in."""
