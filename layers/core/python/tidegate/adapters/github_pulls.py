"""Pull requests on GitHub: what they are, who reviewed them, and comments under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC

from github import GithubException
from github.Commit import Commit
from github.PullRequest import PullRequest as GitHubPullRequest
from github.PullRequestReview import PullRequestReview as GitHubReview
from github.Repository import Repository

from tidegate.adapters.github_access import NOT_FOUND, UNPROCESSABLE, GitHubAccess
from tidegate.adapters.github_checks import is_of
from tidegate.domain.errors import NotFound
from tidegate.domain.pull_request import PullRequest, PullRequestReview, ReviewVerdict

_READ_PULLS = {"pull_requests": "read", "metadata": "read"}
_READ_WITH_CHECKS = {**_READ_PULLS, "checks": "read", "statuses": "read"}
_WRITE_PULLS = {"pull_requests": "write", "metadata": "read"}
#: Conclusions of a check that hold up nothing.
_HARMLESS = frozenset({"success", "neutral", "skipped"})
#: Whom GitHub names in place of an account that was deleted.
_NOBODY = "ghost"


class GitHubPulls:
    """The part of the port ``Forge`` that is about pull requests."""

    _access: GitHubAccess

    def pull_request(self, installation: int, repository: str, number: int) -> PullRequest:
        ours = self._access.app.app_id

        def call(repo: Repository) -> PullRequest:
            pull = repo.get_pull(number)
            try:
                pull.complete()
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                raise NotFound("pull request", str(number)) from None
            return _read(pull, tuple(sorted(set(_failing(repo.get_commit(pull.head.sha), ours)))))

        return self._access.call(installation, repository, _READ_WITH_CHECKS, call)

    def openers(self, installation: int, repository: str, sha: str) -> Sequence[str]:
        def call(repo: Repository) -> Sequence[str]:
            try:
                pulls = list(repo.get_commit(sha).get_pulls())
            except GithubException as error:
                if error.status not in {NOT_FOUND, UNPROCESSABLE}:
                    raise
                raise NotFound("commit", sha) from None
            return [pull.user.login for pull in pulls if pull.user]

        return self._access.call(installation, repository, _READ_PULLS, call)

    def reviews(self, installation: int, repository: str, number: int) -> Sequence[PullRequestReview]:
        def call(repo: Repository) -> Sequence[PullRequestReview]:
            return [_review(each) for each in repo.get_pull(number).get_reviews() if each.state in set(ReviewVerdict)]

        return self._access.call(installation, repository, _READ_PULLS, call)

    def comment(self, installation: int, repository: str, number: int, text: str) -> None:
        def call(repo: Repository) -> None:
            repo.requester.requestJsonAndCheck("POST", f"{repo.url}/issues/{number}/comments", input={"body": text})

        self._access.call(installation, repository, _WRITE_PULLS, call)

    def react(self, installation: int, repository: str, comment: int, reaction: str) -> None:
        def call(repo: Repository) -> None:
            path = f"{repo.url}/issues/comments/{comment}/reactions"
            repo.requester.requestJsonAndCheck("POST", path, input={"content": reaction})

        self._access.call(installation, repository, _WRITE_PULLS, call)


def _read(pull: GitHubPullRequest, failing: tuple[str, ...]) -> PullRequest:
    return PullRequest(
        number=pull.number,
        head_sha=pull.head.sha,
        head_branch=pull.head.ref,
        base_branch=pull.base.ref,
        author=pull.user.login if pull.user else _NOBODY,
        is_open=pull.state == "open",
        # The repository of a head is gone once its fork was deleted.
        from_fork=pull.head.repo is None or pull.head.repo.full_name != pull.base.repo.full_name,
        mergeable=pull.mergeable,
        failing_checks=failing,
    )


def _failing(commit: Commit, ours: str) -> Iterator[str]:
    """Yield the names of what failed or still runs on a commit, our own check runs left out."""
    for run in commit.get_check_runs(filter="latest"):
        if run.conclusion not in _HARMLESS and not is_of(run, ours):
            yield run.name
    for status in commit.get_combined_status().statuses:
        if status.state != "success":
            yield status.context


def _review(review: GitHubReview) -> PullRequestReview:
    return PullRequestReview(
        by=review.user.login if review.user else _NOBODY,
        verdict=ReviewVerdict(review.state),
        sha=review.commit_id or "",
        at=review.submitted_at.astimezone(UTC).isoformat(timespec="microseconds"),
    )
