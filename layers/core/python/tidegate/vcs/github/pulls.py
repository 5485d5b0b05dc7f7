"""Pull requests and reviews on GitHub."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from github import GithubException
from github.Commit import Commit
from github.PullRequest import PullRequest as GitHubPullRequest
from github.PullRequestReview import PullRequestReview as GitHubReview
from github.Repository import Repository

from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import timestamp_from
from tidegate.vcs.github.access import NOT_FOUND, READ_CONTENTS, UNPROCESSABLE, GitHubAccess
from tidegate.vcs.github.checks import is_of
from tidegate.vcs.rules.events import OUR_CHECK_RUNS
from tidegate.vcs.rules.headline import picture
from tidegate.vcs.rules.pull_request import (
    MergeMethod,
    PullRequest,
    PullRequestReview,
    PullRequestSpec,
    ReviewVerdict,
    SeenPullRequest,
)

_READ_PULLS = {"pull_requests": "read", "metadata": "read"}
_MERGE = {"contents": "write", "metadata": "read"}
_WRITE_PULLS = {"pull_requests": "write", "metadata": "read"}
_READ_WITH_CHECKS = {**_READ_PULLS, "checks": "read", "statuses": "read"}
#: Statuses of a commit that are read: so many pages of as many as GitHub gives at once.
_STATUS_PAGES, _PER_PAGE = 10, 100
#: Conclusions of a check that do not block.
_HARMLESS = frozenset({"success", "neutral", "skipped"})
#: GitHub's placeholder for deleted accounts.
_NOBODY = "ghost"

#: A check or status: its name, and whether it does not block.
_Check = tuple[str, bool]


class GitHubPulls:
    """The ports ``PullRequestReader``, ``PullRequestMerger`` and ``Reviews``."""

    _access: GitHubAccess

    def pull_request(self, repository: str, number: int) -> PullRequest:
        ours = self._access.app.app_id

        def call(repo: Repository) -> tuple[GitHubPullRequest, Sequence[_Check]]:
            pull = repo.get_pull(number)
            try:
                pull.complete()
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                raise NotFound("pull request", str(number)) from None
            return pull, list(_checks(repo.get_commit(pull.head.sha), ours))

        pull, checks = self._access.call(repository, _READ_WITH_CHECKS, call)
        seen = {name for name, _ in checks}
        missing = {name for name in self._required(repository, pull.base.ref) if name not in seen}
        return _read(pull, tuple(sorted(missing | {name for name, is_good in checks if not is_good})))

    def _required(self, repository: str, branch: str) -> Sequence[str]:
        """Return the checks of others that branch protection requires, also those that have not begun."""

        def call(repo: Repository) -> Sequence[str]:
            try:
                _, answer = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/branches/{quote(branch)}")
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                return []  # Nothing protects a branch that is gone.
            required = answer.get("protection", {}).get("required_status_checks") or {}
            return [name for name in required.get("contexts", ()) if not name.startswith(OUR_CHECK_RUNS)]

        return self._access.call(repository, READ_CONTENTS, call)

    def seen_pull_request(self, repository: str, number: int) -> SeenPullRequest:
        def call(repo: Repository) -> SeenPullRequest:
            try:
                _, answer = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/pulls/{number}")
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                raise NotFound("pull request", str(number)) from None
            return _seen(repository, answer)

        return self._access.call(repository, _READ_PULLS, call)

    def open_pull_requests(self, repository: str) -> Sequence[SeenPullRequest]:
        def call(repo: Repository) -> Sequence[SeenPullRequest]:
            found: list[SeenPullRequest] = []
            for page in itertools.count(1):
                path = f"{repo.url}/pulls?state=open&sort=created&direction=asc&per_page={_PER_PAGE}&page={page}"
                _, answer = repo.requester.requestJsonAndCheck("GET", path)
                found += [_seen(repository, each) for each in answer]
                if len(answer) < _PER_PAGE:
                    break
            return sorted(found, key=lambda each: each.spec.number)

        return self._access.call(repository, _READ_PULLS, call)

    def merge_pull_request(self, repository: str, number: int, sha: str, method: MergeMethod) -> None:
        def call(repo: Repository) -> None:
            wanted = {"sha": sha, "merge_method": method.value}
            repo.requester.requestJsonAndCheck("PUT", f"{repo.url}/pulls/{number}/merge", input=wanted)

        self._access.call(repository, _MERGE, call)

    def pull_requests_of(self, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        def call(repo: Repository) -> Sequence[SeenPullRequest]:
            try:
                path = f"{repo.url}/commits/{quote(sha)}/pulls?per_page={_PER_PAGE}"
                _, answer = repo.requester.requestJsonAndCheck("GET", path)
            except GithubException as error:
                if error.status not in {NOT_FOUND, UNPROCESSABLE}:
                    raise
                raise NotFound("commit", sha) from None
            return [_seen(repository, each) for each in answer]

        return self._access.call(repository, _READ_PULLS, call)

    def reviews(self, repository: str, number: int) -> Sequence[PullRequestReview]:
        def call(repo: Repository) -> Sequence[PullRequestReview]:
            return [_review(each) for each in repo.get_pull(number).get_reviews() if each.state in set(ReviewVerdict)]

        return self._access.call(repository, _READ_PULLS, call)

    def dismiss_review(self, repository: str, number: int, review: int, reason: str) -> None:
        def call(repo: Repository) -> None:
            path = f"{repo.url}/pulls/{number}/reviews/{review}/dismissals"
            repo.requester.requestJsonAndCheck("PUT", path, input={"message": reason, "event": "DISMISS"})

        self._access.call(repository, _WRITE_PULLS, call)


def _read(pull: GitHubPullRequest, failing: tuple[str, ...]) -> PullRequest:
    return PullRequest(
        number=pull.number,
        head_sha=pull.head.sha,
        head_branch=pull.head.ref,
        base_branch=pull.base.ref,
        author=pull.user.login if pull.user else _NOBODY,
        is_open=pull.state == "open",
        # The head repository is None after its fork was deleted.
        from_fork=pull.head.repo is None or pull.head.repo.full_name != pull.base.repo.full_name,
        mergeable=pull.mergeable,
        merged=pull.merged_at is not None,
        failing_checks=failing,
    )


def _seen(repository: str, pull: Mapping[str, Any]) -> SeenPullRequest:
    """Return a pull request from its JSON, single or from a list (which lacks merge data)."""
    head, base = pull["head"], pull["base"]
    spec = PullRequestSpec(
        repository,
        pull["number"],
        head["ref"],
        base["ref"],
        head["sha"],
        base["sha"],
        pull["user"]["login"] if pull["user"] else _NOBODY,
        pull["title"],
        pull.get("draft") is True,
        # The head repository is None after its fork was deleted.
        head["repo"] is None or head["repo"]["id"] != base["repo"]["id"],
        avatar=picture(str((pull["user"] or {}).get("avatar_url") or "")),
    )
    opened_at = timestamp_from(pull["created_at"])
    merged = pull["merged_at"] is not None
    # If it is not merged, this is GitHub's test merge commit.
    merge_sha = (pull.get("merge_commit_sha") or "") if merged else ""
    return SeenPullRequest(spec, pull["state"] == "open", merged, opened_at, merge_sha)


def _checks(commit: Commit, ours: str) -> Iterator[_Check]:
    """Yield the checks and statuses on a commit, without our own check runs."""
    for run in commit.get_check_runs(filter="latest"):
        if not is_of(run, ours):
            yield run.name, run.conclusion in _HARMLESS
    for page in range(1, _STATUS_PAGES + 1):
        path = f"{commit.url}/status?per_page={_PER_PAGE}&page={page}"
        _, answer = commit.requester.requestJsonAndCheck("GET", path)
        yield from ((status["context"], status["state"] == "success") for status in answer["statuses"])
        if page * _PER_PAGE >= answer["total_count"]:
            return
    yield "more statuses than Tidegate reads", False


def _review(review: GitHubReview) -> PullRequestReview:
    return PullRequestReview(
        by=review.user.login if review.user else _NOBODY,
        verdict=ReviewVerdict(review.state),
        sha=review.commit_id or "",
        at=timestamp_from(review.submitted_at),
        id=review.id,
    )
