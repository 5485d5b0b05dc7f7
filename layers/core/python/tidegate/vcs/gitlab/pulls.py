"""Merge requests and approvals on GitLab."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.rules.timestamp import LONG_AGO
from tidegate.vcs.gitlab.access import GitLabAccess, moment, project
from tidegate.vcs.gitlab.comments import notes
from tidegate.vcs.rules.events import OUR_CHECK_RUNS
from tidegate.vcs.rules.headline import picture
from tidegate.vcs.rules.pull_request import (
    PullRequest,
    PullRequestReview,
    PullRequestSpec,
    ReviewVerdict,
    SeenPullRequest,
)

#: GitLab's placeholder for deleted accounts.
_NOBODY = "ghost"
#: Commit statuses that do not block: a manual job has not failed.
_HARMLESS = frozenset({"success", "skipped", "manual"})
#: GitLab's system notes for approvals and their withdrawal.
_APPROVED = "approved this merge request"
#: The method that squashes.
_SQUASH = "squash"
_MERGEABLE = {"can_be_merged": True, "cannot_be_merged": False}
#: Refusals of a merge without a reason, with the known causes.
_UNTOLD = {
    401: "Tidegate's user may not merge into this branch: allow it in the project's protected branches",
    405: "",
    422: "",
}
#: Reasons that prevent a merge, by GitLab's words (``detailed_merge_status``).
_IN_THE_WAY = {
    "approvals_syncing": "GitLab is still counting approvals",
    "ci_must_pass": "the pipeline must succeed",
    "ci_still_running": "the pipeline is still running",
    "conflict": "the branches conflict",
    "discussions_not_resolved": "all threads must be resolved",
    "draft_status": "it is a draft",
    "need_rebase": "its branch must be rebased",
    "not_approved": "required approvals are missing",
    "not_open": "it is no longer open",
}

_Json = Mapping[str, Any]


class GitLabPulls:
    """The ports ``PullRequestReader``, ``PullRequestMerger`` and ``Reviews``."""

    _access: GitLabAccess

    def pull_request(self, repository: str, number: int) -> PullRequest:
        found = self._merge_request(repository, number)
        return PullRequest(
            number=found["iid"],
            head_sha=found["sha"],
            head_branch=found["source_branch"],
            base_branch=found["target_branch"],
            author=_author(found),
            is_open=found["state"] == "opened",
            from_fork=_is_from_fork(found),
            mergeable=False if found.get("has_conflicts") else _MERGEABLE.get(found.get("merge_status", "")),
            failing_checks=tuple(sorted(set(self._failing(repository, found["sha"])))),
            merged=found["state"] == "merged",
        )

    def seen_pull_request(self, repository: str, number: int) -> SeenPullRequest:
        return _seen(repository, self._merge_request(repository, number))

    def open_pull_requests(self, repository: str) -> Sequence[SeenPullRequest]:
        path = f"{project(repository)}/merge_requests"
        every = self._access.pages(path, state="opened", order_by="created_at", sort="asc")
        found = [_seen(repository, each) for each in every if each["sha"]]
        return sorted(found, key=lambda each: each.spec.number)

    def merge_pull_request(
        self,
        repository: str,
        number: int,
        sha: str,
        method: str,
    ) -> None:
        """Merge it by the project's method; ``method`` decides only about squashing.

        GitLab's refusal has no reason; the merge request has.
        """
        body = {"sha": sha, "squash": method == _SQUASH}
        try:
            self._access.call("PUT", f"{project(repository)}/merge_requests/{number}/merge", body=body)
        except ForgeRefused as error:
            if error.status not in _UNTOLD:
                raise
            status = str(self._merge_request(repository, number).get("detailed_merge_status") or error.problem)
            problem = _UNTOLD[error.status] or _IN_THE_WAY.get(status) or status.replace("_", " ")
            raise ForgeRefused(error.status, problem) from None

    def pull_requests_of(self, repository: str, sha: str) -> Sequence[SeenPullRequest]:
        found = self._access.find(f"{project(repository)}/repository/commits/{sha}/merge_requests")
        if found is None:
            raise NotFound("commit", sha)
        return [_seen(repository, each) for each in found]

    def reviews(self, repository: str, number: int) -> Sequence[PullRequestReview]:
        """Return the approvals. GitLab does not store their commit: it is the head at the time of the approval."""
        path = f"{project(repository)}/merge_requests/{number}"
        given = self._access.call("GET", f"{path}/approvals")["approved_by"]
        if not given:
            return []
        heads = list(self._access.pages(f"{path}/versions"))
        told = {} if all(each.get("approved_at") for each in given) else self._told(repository, number)
        found = [(each["user"], each.get("approved_at") or told.get(each["user"]["id"])) for each in given]
        reviews = (_review(user["username"], at, heads) for user, at in found)
        return sorted(reviews, key=lambda review: review.at or LONG_AGO)

    def dismiss_review(self, repository: str, number: int, review: int, reason: str) -> None:
        raise ForgeRefused(405, "On GitLab, only the approver can revoke an approval")

    def _told(self, repository: str, number: int) -> Mapping[int, str]:
        """Return each user's last approval by the system notes: approvals have a time only since GitLab 18."""
        every = self._access.pages(notes(repository, number), sort="asc", order_by="created_at")
        said = (each for each in every if each["system"] and each["body"] == _APPROVED)
        return {each["author"]["id"]: each["created_at"] for each in said}

    def _merge_request(self, repository: str, number: int) -> Any:
        """Return its JSON. GitLab ignores the case of a project's path; the JSON has the real one."""
        found = self._access.find(f"{project(repository)}/merge_requests/{number}")
        if found is None or found["references"]["full"] != f"{repository}!{number}":
            raise NotFound("merge request", f"{repository}!{number}")
        return found

    def _failing(self, repository: str, sha: str) -> Iterator[str]:
        """Yield the names of failed or running jobs and statuses of others on a commit."""
        ours = self._access.me.id
        for each in self._access.pages(f"{project(repository)}/repository/commits/{sha}/statuses"):
            is_ours = each["name"].startswith(OUR_CHECK_RUNS) and each["author"]["id"] == ours
            if not is_ours and not each.get("allow_failure") and each["status"] not in _HARMLESS:
                yield each["name"]


def _seen(repository: str, request: _Json) -> SeenPullRequest:
    """Return a merge request from its JSON, single or from a list (which lacks the base's commit)."""
    spec = PullRequestSpec(
        repository,
        request["iid"],
        request["source_branch"],
        request["target_branch"],
        request["sha"],
        (request.get("diff_refs") or {}).get("start_sha") or request["sha"],
        _author(request),
        request["title"],
        request.get("draft") is True,
        _is_from_fork(request),
        avatar=picture(str((request.get("author") or {}).get("avatar_url") or "")),
    )
    merged = request["state"] == "merged"
    made = request.get("merge_commit_sha") or request.get("squash_commit_sha") or request["sha"]
    opened_at = moment(request["created_at"])
    return SeenPullRequest(spec, request["state"] == "opened", merged, opened_at, made if merged else "")


def _author(request: _Json) -> str:
    return str((request.get("author") or {}).get("username") or _NOBODY)


def _is_from_fork(request: _Json) -> bool:
    return bool(request["source_project_id"] != request["target_project_id"])


def _review(by: str, at: str | None, heads: Iterable[_Json]) -> PullRequestReview:
    """Return an approval. One with an unknown time has no commit, and so does not count."""
    if at is None:
        return PullRequestReview(by, ReviewVerdict.APPROVED, "", None)
    given = moment(at)
    before = [head for head in heads if moment(head["created_at"]) <= given]
    newest = max(before, key=lambda head: (moment(head["created_at"]), head["id"]), default=None)
    return PullRequestReview(by, ReviewVerdict.APPROVED, newest["head_commit_sha"] if newest else "", given)
