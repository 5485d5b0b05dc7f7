"""The forge's API, and who somebody is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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
    at: datetime


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


class Commits(Protocol):
    """Commits and branches. Raises ForgeUnavailable and ForgeRefused, as all ports of the forge's API do."""

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        """Tell how ``head`` relates to ``base``."""

    def change(self, repository: str, base: str, head: str) -> Change:
        """Return what ``head`` changes that ``base`` (branches or commits) does not have.

        Raise NotFound when they have no commit in common.
        """

    def authors(self, repository: str, head: str) -> Authors:
        """Return who made all that a commit has, from the first of its repository on. Raise NotFound."""

    def branch_head(self, repository: str, branch: str) -> str:
        """Return the commit that a branch is at. Raise NotFound when there is no such branch."""

    def default_branch(self, repository: str) -> str:
        """Return the name of the default branch."""


class CloneTokens(Protocol):
    """What git reads repositories with."""

    def clone_token(self, repository: str, others: Collection[str] = ()) -> str:
        """Return a token that can read the contents of this repository and of ``others``, for an hour.

        On GitHub it can read nothing else. Raise RepositoriesUnreadable where one of the others cannot be read.
        """


class PullRequestReader(Protocol):
    """Pull requests, as the forge has them."""

    def pull_request(self, repository: str, number: int) -> PullRequest:
        """Return a pull request as it is now. Raise NotFound."""

    def seen_pull_request(self, repository: str, number: int) -> SeenPullRequest:
        """Return what a record holds of a pull request, as it is now, in one call. Raise NotFound."""

    def open_pull_requests(self, repository: str) -> Sequence[SeenPullRequest]:
        """Return all open pull requests, by number, in one call for each hundred."""

    def pull_requests_of(self, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        """Return the pull requests that a commit came with, or is a part of, merged or not.

        Raise NotFound when there is no such commit.
        """


class PullRequestMerger(Protocol):
    """Merging."""

    def merge_pull_request(self, repository: str, number: int, sha: str, method: MergeMethod) -> None:
        """Merge an open pull request, if its head is still ``sha``.

        Raise ForgeRefused with the forge's own words when it cannot be merged: branch protection, conflicts, another
        head; AppLacksPermission when the App may not write contents.
        """


class Reviews(Protocol):
    """Reviews of pull requests."""

    def reviews(self, repository: str, number: int) -> Sequence[PullRequestReview]:
        """Return the reviews of a pull request, oldest first."""

    def dismiss_review(self, repository: str, number: int, review: int, reason: str) -> None:
        """Take an approval away, and show the reason. Raise ForgeRefused where that is not allowed, or not known."""


class Comments(Protocol):
    """Comments under pull requests."""

    def comment(self, repository: str, number: int, text: str) -> int:
        """Write a comment (Markdown) under a pull request and return its id."""

    def update_comment(self, repository: str, number: int, comment: int, text: str) -> None:
        """Replace the text of a comment under a pull request. Raise NotFound when it is gone."""

    def our_comments(self, repository: str, number: int, marker: str) -> Mapping[int, str]:
        """Return the comments of our App under a pull request whose text begins with ``marker``, by id, oldest first.

        Those of others are none of ours, whatever their text.
        """

    def react(self, repository: str, number: int, comment: int, reaction: str) -> None:
        """Put a reaction (GitHub's word, such as ``eyes`` or ``rocket``) on a comment under a pull request."""


class People(Protocol):
    """What people may do."""

    def permission(self, repository: str, user: str) -> Permission:
        """Return what ``user`` may do in the repository; NONE also when there is no such user."""

    def is_team_member(self, repository: str, team: str, user: str) -> bool:
        """Tell whether ``user`` is an active member of a team (its slug) of the organization that has the repository.

        Raise AppLacksPermission when the App may not read members.
        """


class CheckRunPublisher(Protocol):
    """Check runs of our App, on the forge."""

    def create_check_run(self, repository: str, check_run: CheckRun) -> int:
        """Create a check run and return its id."""

    def update_check_run(self, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        """Replace what a check run shows."""

    def find_check_run(self, repository: str, sha: str, external_id: str) -> int | None:
        """Return the id of the newest check run with this external id, if there is one."""

    def commit_check_runs(self, repository: str, sha: str) -> Mapping[int, str]:
        """Return the external ids of all check runs of our App on a commit, by their own ids."""


class ForgeIssues(Protocol):
    """Issues of our own on the forge."""

    def open_issue(self, repository: str, title: str, text: str) -> int:
        """Open an issue (Markdown) and return its number."""

    def write_issue(self, repository: str, issue: int, text: str, *, is_open: bool) -> None:
        """Replace the text of an issue, and open or close it. Raise NotFound when it is gone."""

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
    Protocol,
):
    """The forge's whole API, which one adapter has. Verbs take the part that they need, from ``Ports``."""


class ForgeDeliveries(Protocol):
    """The App's own webhook deliveries, as the forge recorded them."""

    def failed(self, since: datetime) -> Sequence[FailedDelivery]:
        """Return deliveries since then of which no attempt has succeeded."""

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
