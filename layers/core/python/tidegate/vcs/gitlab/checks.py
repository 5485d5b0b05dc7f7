"""Check runs on GitLab: commit statuses.

A status has a name, a state, a one-line description, and a link. GitLab shows the newest status of a name on a commit,
which represents the newest check run. The end of a status' link names its check run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urldefrag

from tidegate.rules.errors import ForgeRefused
from tidegate.rules.shortened import shortened
from tidegate.vcs.adapters.addresses import GitLabUrls
from tidegate.vcs.gitlab.access import BAD_REQUEST, NOT_FOUND, GitLabAccess, project
from tidegate.vcs.gitlab.deploy_notes import DEPLOYS, notify_deployments
from tidegate.vcs.rules.check_run import CheckRun, Conclusion

#: Characters of a status' words and link.
MAXIMUM_DESCRIPTION = MAXIMUM_LINK = 255
#: Characters at the end of a link that an external id may take.
MAXIMUM_MARK = 120

_PENDING, _RUNNING, _SUCCESS, _FAILED, _CANCELED = "pending", "running", "success", "failed", "canceled"
_BY_STATUS = {"queued": _PENDING, "in_progress": _RUNNING}
_BY_CONCLUSION = {
    Conclusion.SUCCESS: _SUCCESS,
    Conclusion.NEUTRAL: _SUCCESS,
    Conclusion.SKIPPED: _SUCCESS,
    Conclusion.FAILURE: _FAILED,
    Conclusion.TIMED_OUT: _FAILED,
    Conclusion.CANCELLED: _CANCELED,
    # It waits for people; it has not failed.
    Conclusion.ACTION_REQUIRED: _RUNNING,
}
_Json = Mapping[str, Any]
_NO_TRANSITION = "Cannot transition status"


class GitLabChecks(GitLabUrls):
    """The port ``CheckRunPublisher``. A check run's id is that of its first status.

    ``web`` is the address of Tidegate's pages, or empty.
    """

    _access: GitLabAccess
    web = ""

    def create_check_run(self, repository: str, check_run: CheckRun) -> int:
        """Show it, and return its id, or 0 where GitLab takes no status."""
        every = list(self._ours(repository, check_run.sha, name=check_run.name))
        made = self._show(repository, check_run, every)
        return _first_ids(every).get(_named(check_run.external_id), made)

    def update_check_run(self, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        """Replace what is shown, unless a newer check run of the same name exists."""
        every = list(self._ours(repository, check_run.sha, name=check_run.name))
        newest = _newest(every)
        named = _named(check_run.external_id)
        shown = named if newest is None else _external_id(newest)
        if shown == named or _first_ids(every)[shown] < check_run_id:
            self._show(repository, check_run, every)

    def find_check_run(self, repository: str, sha: str, external_id: str) -> int | None:
        found = self.commit_check_runs(repository, sha)
        return next((number for number, other in found.items() if other == _named(external_id)), None)

    def commit_check_runs(self, repository: str, sha: str) -> Mapping[int, str]:
        return {number: external_id for external_id, number in _first_ids(self._ours(repository, sha)).items()}

    def _ours(self, repository: str, sha: str, **query: str) -> Iterator[Mapping[str, Any]]:
        """Yield our statuses on a commit, including replaced ones; none for an unknown commit."""
        path = f"{project(repository)}/repository/commits/{sha}/statuses"
        try:
            for status in self._access.pages(path, all="true", **query):
                if (status.get("author") or {}).get("id") == self._access.me.id:
                    yield status
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise

    def _show(self, repository: str, check_run: CheckRun, every: Sequence[_Json]) -> int:
        """Publish it, and return the status' id: 0 if GitLab refuses. ``every`` are ours of its name.

        A fork's commit is on no branch of this project. The note of its merge request has the result.
        """
        state, sha = _state(check_run), check_run.sha
        try:
            made = self._set(repository, check_run, state, every)
        except ForgeRefused as error:
            if error.status == NOT_FOUND:
                return 0
            if error.status != BAD_REQUEST or _NO_TRANSITION not in str(error):
                raise
            made = self._replace(repository, check_run, state, every)
        if check_run.name.startswith(DEPLOYS) and state != _PENDING:
            notify_deployments(self._access, repository, sha, lambda: self._ours(repository, sha))
        return made

    def _replace(self, repository: str, check_run: CheckRun, state: str, every: Sequence[_Json]) -> int:
        """Publish a state that GitLab does not allow after the current one.

        A new description of a running state is worth another status only for deployments.
        """
        if state not in {_PENDING, _RUNNING}:
            self._set(repository, check_run, _RUNNING, every)
        elif state == _RUNNING and check_run.name.startswith(DEPLOYS):
            self._set(repository, check_run, _CANCELED, every)
        else:
            return 0
        return self._set(repository, check_run, state, every)

    def _set(self, repository: str, check_run: CheckRun, state: str, every: Sequence[_Json]) -> int:
        """Set the status in its pipeline: otherwise GitLab uses the commit's newest one."""
        path = f"{project(repository)}/statuses/{check_run.sha}"
        body = {
            "state": state,
            "name": check_run.name,
            "description": shortened(check_run.title, MAXIMUM_DESCRIPTION),
            "target_url": self._link(repository, check_run),
        }
        pipeline = _pipeline(every)
        if pipeline:
            try:
                return int(self._access.call("POST", path, body={**body, **pipeline})["id"])
            except ForgeRefused as error:
                if error.status != NOT_FOUND:
                    raise
        return int(self._access.call("POST", path, body=body)["id"])

    def _link(self, repository: str, check_run: CheckRun) -> str:
        """Return the link to the review or details, ending with the check run's id, by which it is found again.

        Without a link, GitLab links a pipeline. It refuses long links: then the link is to a parent page.
        """
        home = f"{self.web}/repositories/{quote(repository)}" if self.web else ""
        ours = (check_run.page_url, check_run.details_url, home)
        pages = (*ours, self.commit_url(repository, check_run.sha), self.web or self.forge_url)
        mark = quote(_named(check_run.external_id), safe="")
        links = [f"{urldefrag(page).url}#{mark}" for page in pages if page]
        return next((link for link in links if len(link) <= MAXIMUM_LINK), links[-1])


def _newest(statuses: Iterable[_Json]) -> _Json | None:
    return max(statuses, key=lambda status: int(status["id"]), default=None)


def _pipeline(statuses: Iterable[_Json]) -> dict[str, Any]:
    """Return the newest status' pipeline, if it is running."""
    newest = _newest(statuses)
    if newest is None or newest.get("status") not in {_PENDING, _RUNNING} or not newest.get("pipeline_id"):
        return {}
    return {"pipeline_id": newest["pipeline_id"], "ref": newest.get("ref")}


def _first_ids(statuses: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of the first status of each check run, by its external id."""
    found: dict[str, int] = {}
    for status in statuses:
        external_id, number = _external_id(status), int(status["id"])
        found[external_id] = min(number, found.get(external_id, number))
    return found


def _external_id(status: Mapping[str, Any]) -> str:
    return unquote(urldefrag(status.get("target_url") or "").fragment)


def _named(external_id: str) -> str:
    """Return an external id for a link: itself, or a digest if it is too long."""
    if len(quote(external_id, safe="")) <= MAXIMUM_MARK:
        return external_id
    return f"sha256-{hashlib.sha256(external_id.encode()).hexdigest()[:40]}"


def _state(check_run: CheckRun) -> str:
    if check_run.conclusion is not None:
        return _BY_CONCLUSION[check_run.conclusion]
    return _BY_STATUS.get(check_run.status, _RUNNING)
