"""Check runs on GitLab: commit statuses.

A status has a name, a state and one line of words, and a link. GitLab shows the newest status of a name on a commit: it
stands for the check run that was created last. The check run that a status shows is named at the end of its link.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urldefrag

from tidegate.adapters.addresses import GitLabAddresses
from tidegate.adapters.gitlab_access import BAD_REQUEST, NOT_FOUND, GitLabAccess, Query, project
from tidegate.domain.check_run import CheckRun, Conclusion
from tidegate.domain.errors import ForgeRefused
from tidegate.domain.webhook_events import OUR_CHECK_RUNS

#: Characters of a status' words and link.
MAXIMUM_DESCRIPTION = MAXIMUM_LINK = 255

_PENDING, _RUNNING, _SUCCESS, _FAILED, _CANCELED = "pending", "running", "success", "failed", "canceled"
_BY_STATUS = {"queued": _PENDING, "in_progress": _RUNNING}
_BY_CONCLUSION = {
    Conclusion.SUCCESS: _SUCCESS,
    Conclusion.NEUTRAL: _SUCCESS,
    Conclusion.SKIPPED: _SUCCESS,
    Conclusion.FAILURE: _FAILED,
    Conclusion.TIMED_OUT: _FAILED,
    Conclusion.CANCELLED: _CANCELED,
    # It waits for people, and has not failed.
    Conclusion.ACTION_REQUIRED: _RUNNING,
}
#: Names of check runs whose words are worth another status where GitLab does not change those of one that goes on.
_DEPLOYS = f"{OUR_CHECK_RUNS}deploy"
_NO_TRANSITION = "Cannot transition status"


class GitLabChecks(GitLabAddresses):
    """The part of the port ``Forge`` that is about check runs. Their ids are made from what they show."""

    _access: GitLabAccess

    def create_check_run(self, installation: int, repository: str, check_run: CheckRun) -> int:  # noqa: ARG002
        self._show(repository, check_run)
        return check_run_id(check_run.sha, check_run.external_id)

    def update_check_run(self, installation: int, repository: str, check_run_id: int, check_run: CheckRun) -> None:  # noqa: ARG002
        """Replace what is shown, unless another check run of the same name was created since: that one is shown."""
        shown = self._newest(repository, check_run)
        if shown is None or _external_id(shown) == check_run.external_id:
            self._show(repository, check_run)

    def find_check_run(self, installation: int, repository: str, sha: str, external_id: str) -> int | None:
        found = self.commit_check_runs(installation, repository, sha)
        return next((number for number, other in found.items() if other == external_id), None)

    def commit_check_runs(self, installation: int, repository: str, sha: str) -> Mapping[int, str]:  # noqa: ARG002
        every = self._access.pages(_statuses(repository, sha), all="true")
        ids = (_external_id(status) for status in every if self._is_ours(status))
        return {check_run_id(sha, each): each for each in ids}

    def _newest(self, repository: str, check_run: CheckRun) -> Mapping[str, Any] | None:
        """Return the status of ours that GitLab shows under the check run's name."""
        query: Query = {"name": check_run.name, "per_page": 100}
        found = self._access.find(_statuses(repository, check_run.sha), query) or []
        ours = [each for each in found if each["name"] == check_run.name and self._is_ours(each)]
        return max(ours, key=lambda each: int(each["id"]), default=None)

    def _is_ours(self, status: Mapping[str, Any]) -> bool:
        return bool((status.get("author") or {}).get("id") == self._access.me.id)

    def _show(self, repository: str, check_run: CheckRun) -> None:
        try:
            self._set(repository, check_run, _state(check_run))
        except ForgeRefused as error:
            if error.status == NOT_FOUND:
                return  # A fork's commit is on no branch of this project: GitLab takes no status. The note tells.
            if error.status != BAD_REQUEST or _NO_TRANSITION not in str(error):
                raise
            self._replace(repository, check_run)

    def _replace(self, repository: str, check_run: CheckRun) -> None:
        """Show what GitLab does not let follow on what it shows: words of what goes on are changed by a new status."""
        state = _state(check_run)
        if state in {_PENDING, _RUNNING}:
            if check_run.name.startswith(_DEPLOYS) and state == _RUNNING:
                self._set(repository, check_run, _CANCELED)
                self._set(repository, check_run, state)
            return
        self._set(repository, check_run, _RUNNING)
        self._set(repository, check_run, state)

    def _set(self, repository: str, check_run: CheckRun, state: str) -> None:
        body = {
            "state": state,
            "name": check_run.name,
            "description": _shortened(check_run.title),
            "target_url": self._link(repository, check_run),
        }
        self._access.call("POST", f"{project(repository)}/statuses/{check_run.sha}", body=body)

    def _link(self, repository: str, check_run: CheckRun) -> str:
        """Return where more is to be seen, with the check run's own id at the end, by which it is found again."""
        page, _ = urldefrag(check_run.details_url or self.commit_url(repository, check_run.sha))
        whole = f"{page}#{quote(check_run.external_id, safe='')}"
        return whole if len(whole) <= MAXIMUM_LINK else page[:MAXIMUM_LINK]


def check_run_id(sha: str, external_id: str) -> int:
    """Return the number of a check run: the same for the same commit and external id, and above 0."""
    return int(hashlib.sha256(f"{sha}\0{external_id}".encode()).hexdigest()[:12], 16) + 1


def _statuses(repository: str, sha: str) -> str:
    return f"{project(repository)}/repository/commits/{sha}/statuses"


def _external_id(status: Mapping[str, Any]) -> str:
    return unquote(urldefrag(status.get("target_url") or "").fragment)


def _state(check_run: CheckRun) -> str:
    if check_run.conclusion is not None:
        return _BY_CONCLUSION[check_run.conclusion]
    return _BY_STATUS.get(check_run.status, _RUNNING)


def _shortened(text: str) -> str:
    return text if len(text) <= MAXIMUM_DESCRIPTION else f"{text[: MAXIMUM_DESCRIPTION - 1]}…"
