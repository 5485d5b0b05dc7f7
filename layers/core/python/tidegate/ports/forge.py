"""The VCS provider's API, and identities there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from tidegate.ports.config_updates import ConfigBranches
from tidegate.vcs.rules.authors import Authors

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.rules.permission import Permission
    from tidegate.vcs.rules.check_run import CheckRun
    from tidegate.vcs.rules.comparison import Comparison
    from tidegate.vcs.rules.headline import Headline
    from tidegate.vcs.rules.pull_request import MergeMethod, PullRequest, PullRequestReview, SeenPullRequest


@dataclass(frozen=True, slots=True)
class Change:
    """Commits of a branch: their merge base, their authors, and the committers of others' commits.

    Both are incomplete if the VCS provider knows no user for an email address, or not all commits were read.
    ``authors`` include co-authors in messages. The provider itself, which commits edits on its pages, is excluded.
    ``forks_once`` tells that there is only one merge base. ``commits`` are all of them, None if there are too many.
    """

    after: str
    authors: Authors
    committers: Authors = field(default_factory=Authors)
    forks_once: bool = False
    commits: tuple[str, ...] | None = ()

    @property
    def fork_sha(self) -> str:
        """The only merge base; empty if there may be several."""
        return self.after if self.forks_once else ""


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A failed webhook delivery of the App: its number and its GUID."""

    id: int
    guid: str
    event: str
    at: datetime


class ForgeUrls(Protocol):
    """URLs at the VCS provider."""

    def check_run_url(self, repository: str, check_run_id: int) -> str:
        """Return the URL of a check run's page."""

    def pull_request_checks_url(self, repository: str, number: int) -> str:
        """Return the URL of the list of a pull request's check runs."""

    def pull_request_url(self, repository: str, number: int) -> str:
        """Return the URL of a pull request's page."""

    def pull_request_ref(self, number: int) -> str:
        """Return git's ref of a pull request's head."""

    def issue_url(self, repository: str, number: int) -> str:
        """Return the URL of an issue's page."""

    def commit_url(self, repository: str, sha: str) -> str:
        """Return the URL of a commit's page."""

    def clone_url(self, repository: str) -> str:
        """Return the repository's HTTPS URL for git."""

    def picture_origin(self) -> str:
        """Return the origin of the pictures of accounts, such as ``https://avatars.githubusercontent.com``."""


class Commits(Protocol):
    """Commits and branches. Raises ForgeUnavailable and ForgeRefused, as all ports of the VCS provider's API do."""

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        """Return how ``head`` relates to ``base``."""

    def change(self, repository: str, base: str, head: str) -> Change:
        """Return the changes of ``head`` that ``base`` (branches or commits) does not have.

        Raise NotFound if they have no common commit.
        """

    def authors(self, repository: str, head: str) -> Authors:
        """Return the authors of a commit and all its ancestors. Raise NotFound."""

    def headline(self, repository: str, sha: str) -> Headline:
        """Return a commit's title and author. Raise NotFound."""

    def branch_head(self, repository: str, branch: str) -> str:
        """Return a branch's head commit. Raise NotFound if there is no such branch."""

    def default_branch(self, repository: str) -> str:
        """Return the name of the default branch."""


class CloneTokens(Protocol):
    """Tokens for git."""

    def clone_token(self, repository: str, others: Collection[str] = ()) -> str:
        """Return a token that can read the contents of this repository and of ``others``, for an hour.

        On GitHub it can read nothing else. Raise RepositoriesUnreadable if another repository cannot be read.
        """


class PullRequestReader(Protocol):
    """Pull requests at the VCS provider."""

    def pull_request(self, repository: str, number: int) -> PullRequest:
        """Return a pull request as it is now. Raise NotFound."""

    def seen_pull_request(self, repository: str, number: int) -> SeenPullRequest:
        """Return a pull request's data for a record, as it is now, in one call. Raise NotFound."""

    def open_pull_requests(self, repository: str) -> Sequence[SeenPullRequest]:
        """Return all open pull requests, by number, in one call for each hundred."""

    def pull_requests_of(self, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        """Return the pull requests that contain a commit, merged or not.

        Raise NotFound if there is no such commit.
        """


class PullRequestMerger(Protocol):
    """Merging."""

    def merge_pull_request(self, repository: str, number: int, sha: str, method: MergeMethod) -> None:
        """Merge an open pull request, if its head is still ``sha``.

        Raise ForgeRefused with the VCS provider's message if it cannot be merged: branch protection, conflicts, another
        head; AppLacksPermission if the App may not write contents.
        """


class Reviews(Protocol):
    """Reviews of pull requests."""

    def reviews(self, repository: str, number: int) -> Sequence[PullRequestReview]:
        """Return the reviews of a pull request, oldest first."""

    def dismiss_review(self, repository: str, number: int, review: int, reason: str) -> None:
        """Dismiss an approval with a reason. Raise ForgeRefused if that is not allowed, or not supported."""


class Comments(Protocol):
    """Comments under pull requests."""

    def comment(self, repository: str, number: int, text: str) -> int:
        """Write a comment (Markdown) under a pull request and return its id."""

    def update_comment(self, repository: str, number: int, comment: int, text: str) -> None:
        """Replace the text of a comment under a pull request. Raise NotFound if it is gone."""

    def our_comments(self, repository: str, number: int, marker: str) -> Mapping[int, str]:
        """Return our App's comments under a pull request that begin with ``marker``, by id, oldest first.

        Others' comments never count, whatever their text.
        """

    def react(self, repository: str, number: int, comment: int, reaction: str) -> None:
        """Put a reaction (GitHub's word, such as ``eyes`` or ``rocket``) on a comment under a pull request."""


class People(Protocol):
    """Permissions of people."""

    def permission(self, repository: str, user: str) -> Permission:
        """Return the permission of ``user`` in the repository; NONE also for an unknown user."""

    def is_team_member(self, repository: str, team: str, user: str) -> bool:
        """Tell whether ``user`` is an active member of a team (its slug) of the repository's organization.

        Raise AppLacksPermission if the App may not read members.
        """


class CheckRunPublisher(Protocol):
    """Check runs of our App at the VCS provider."""

    def create_check_run(self, repository: str, check_run: CheckRun) -> int:
        """Create a check run and return its id."""

    def update_check_run(self, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        """Replace what a check run shows."""

    def find_check_run(self, repository: str, sha: str, external_id: str) -> int | None:
        """Return the id of the newest check run with this external id, if there is one."""

    def commit_check_runs(self, repository: str, sha: str) -> Mapping[int, str]:
        """Return the external ids of all check runs of our App on a commit, by their own ids."""


class ForgeIssues(Protocol):
    """Issues of our App at the VCS provider."""

    def open_issue(self, repository: str, title: str, text: str) -> int:
        """Open an issue (Markdown) and return its number."""

    def write_issue(self, repository: str, issue: int, text: str, *, is_open: bool) -> None:
        """Replace the text of an issue, and open or close it. Raise NotFound if it is gone."""

    def our_issues(self, repository: str, marker: str) -> Sequence[int]:
        """Return the open issues of our App whose text begins with ``marker``, oldest first."""


class Forge(
    Commits,
    CloneTokens,
    PullRequestReader,
    PullRequestMerger,
    Reviews,
    Comments,
    People,
    CheckRunPublisher,
    ForgeIssues,
    ConfigBranches,
    Protocol,
):
    """The VCS provider's whole API in one adapter. Verbs take the part that they need, from ``Ports``."""


class ForgeDeliveries(Protocol):
    """The App's webhook deliveries, as the VCS provider recorded them."""

    def failed(self, since: datetime) -> Sequence[FailedDelivery]:
        """Return deliveries since then of which no attempt has succeeded."""

    def redeliver(self, delivery: int) -> None:
        """Request a redelivery."""


class Accounts(Protocol):
    """Identities at the VCS provider."""

    def login_of(self, token: str) -> str | None:
        """Return the login of a token's owner; None if the token is invalid."""

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        """Return the token for an OAuth code; None if the code is invalid."""

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        """Return the sign-in URL."""
