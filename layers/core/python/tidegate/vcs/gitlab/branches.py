"""Branches, files and checks of config repositories on GitLab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.gitlab.access import NOT_FOUND, GitLabAccess, moment, project
from tidegate.vcs.gitlab.commits import GitLabCommits
from tidegate.vcs.rules.check_report import CheckReport, Source

#: What reports a job of a pipeline. GitLab has no Apps.
JOBS = "gitlab-ci"

_PLAIN = frozenset({"100644", "100755"})
#: GitLab's states in the words of GitHub's REST API. A job is skipped if one of an earlier stage has failed, which is
#: no pass as on GitHub: like a cancelled one, it says nothing.
_STATES = {
    "success": "success",
    "failed": "failure",
    "running": "in_progress",
    "canceled": "cancelled",
    "canceling": "cancelled",
    "skipped": "cancelled",
}
_WAITS = "queued"
#: Why a job has failed (``failure_reason``) although nothing has judged the commit.
_INFRASTRUCTURE = {
    "job_execution_timeout": "timed_out",
    "stuck_or_timeout_failure": "timed_out",
    "runner_system_failure": "startup_failure",
    "scheduler_failure": "startup_failure",
    "data_integrity_failure": "startup_failure",
    "api_failure": "startup_failure",
}
_Json = Mapping[str, Any]


class GitLabBranches(GitLabCommits):
    """The port ``ConfigBranches``."""

    _access: GitLabAccess

    def branch_heads(self, repository: str, branches: Sequence[str]) -> Mapping[str, str]:
        return dict(self._heads(repository, branches))

    def _heads(self, repository: str, branches: Sequence[str]) -> Iterator[tuple[str, str]]:
        for branch in branches:
            try:
                yield branch, self.branch_head(repository, branch)
            except NotFound:
                continue

    def check_reports(
        self, repository: str, branch: str, commits: Sequence[str]
    ) -> Mapping[str, Sequence[CheckReport]]:
        """Return the reports of each commit: one call for it, and one for each of its pipelines."""
        return {each: list(self._reports(repository, branch, each)) for each in commits}

    def _reports(self, repository: str, branch: str, commit: str) -> Iterator[CheckReport]:
        """Yield the reports of a commit.

        GitLab lists jobs and statuses together, and who may push can set a status of any name, which hides the job of
        this name. So jobs are those that the pipeline lists itself, hidden ones included; judges take the newest. Jobs
        and statuses have numbers of one sequence.
        """
        try:
            listed = list(self._access.pages(f"{project(repository)}/repository/commits/{commit}/statuses"))
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            return
        pipelines = sorted({each["pipeline_id"] for each in listed if each.get("pipeline_id")})
        jobs = {each["id"]: each for pipeline in pipelines for each in self._jobs(repository, pipeline)}
        yield from (_report(each, is_job=True) for each in jobs.values() if each["ref"] == branch)
        yield from (_report(each, is_job=False) for each in listed if each["id"] not in jobs)

    def _jobs(self, repository: str, pipeline: int) -> Iterator[_Json]:
        yield from self._access.pages(f"{project(repository)}/pipelines/{pipeline}/jobs", include_retried="true")

    def file_content(self, repository: str, commit: str, path: str) -> bytes | None:
        """Return a plain file: its directory's list tells it from a link, and its object's id."""
        home, where = path.rpartition("/")[0], f"{project(repository)}/repository"
        try:
            listed = self._access.pages(f"{where}/tree", ref=commit, path=home)
            found = next((each for each in listed if each["path"] == path and each["mode"] in _PLAIN), None)
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            return None
        return self._access.content(f"{where}/blobs/{quote(found['id'])}/raw") if found else None

    def request_check(self, repository: str, report: CheckReport) -> bool:
        """Retry a job. A status cannot be requested."""
        if report.app != JOBS:
            return False
        try:
            self._access.call("POST", f"{project(repository)}/jobs/{report.number}/retry")
        except ForgeRefused:
            return False
        return True

    def write_token(self, repository: str) -> str:
        """Return the token of Tidegate's user: GitLab has none that is limited to a repository and an hour."""
        return self._access.credentials().token


def _report(status: _Json, *, is_job: bool) -> CheckReport:
    login = str((status.get("author") or {}).get("username", "")).lower()
    app = JOBS if is_job else f"@{login}" if login else ""
    source = Source.CHECK_RUN if is_job else Source.STATUS
    started = status.get("started_at")
    return CheckReport(
        source, status["name"], app, _result(status), int(status["id"]), moment(started) if started else None
    )


def _result(status: _Json) -> str:
    state, reason = str(status["status"]), str(status.get("failure_reason"))
    if state == "failed" and reason in _INFRASTRUCTURE:
        return _INFRASTRUCTURE[reason]
    return _STATES.get(state, _WAITS)
