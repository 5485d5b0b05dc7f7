"""Check runs on GitHub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from github.CheckRun import CheckRun as GitHubCheckRun
from github.Repository import Repository

from tidegate.vcs.github.access import GitHubAccess
from tidegate.vcs.rules.check_run import MAXIMUM_ANNOTATIONS, CheckRun

_WRITE_CHECKS = {"checks": "write", "metadata": "read"}


class GitHubChecks:
    """The port ``CheckRunPublisher``."""

    _access: GitHubAccess

    def create_check_run(self, repository: str, check_run: CheckRun) -> int:
        def call(repo: Repository) -> int:
            content = shown(check_run)
            return repo.create_check_run(head_sha=check_run.sha, **content).id

        return self._access.call(repository, _WRITE_CHECKS, call)

    def update_check_run(self, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        def call(repo: Repository) -> None:
            repo.get_check_run(check_run_id).edit(**shown(check_run))

        self._access.call(repository, _WRITE_CHECKS, call)

    def find_check_run(self, repository: str, sha: str, external_id: str) -> int | None:
        found = self.commit_check_runs(repository, sha)
        return max((number for number, other in found.items() if other == external_id), default=None)

    def commit_check_runs(self, repository: str, sha: str) -> Mapping[int, str]:
        ours = self._access.app.app_id

        def call(repo: Repository) -> Mapping[int, str]:
            runs = repo.get_commit(sha).get_check_runs(filter="all")
            return {run.id: run.external_id for run in runs if is_of(run, ours)}

        return self._access.call(repository, _WRITE_CHECKS, call)


def is_of(check_run: GitHubCheckRun, app_id: str) -> bool:
    """Tell whether our App created the check run: others may use any external id. An App's id may be its client id."""
    return not app_id.isdigit() or check_run.app.id == int(app_id)


def shown(check_run: CheckRun) -> dict[str, Any]:
    """Return a check run's content for PyGithub; empty parts remove what was shown before."""
    content: dict[str, Any] = {
        "name": check_run.name,
        "external_id": check_run.external_id,
        "status": check_run.status,
        "output": {"title": check_run.title, "summary": check_run.summary, "text": check_run.text},
        "actions": [
            {"label": action.button.value, "description": action.description, "identifier": action.button.value}
            for action in check_run.actions
        ],
    }
    if check_run.annotations:
        content["output"]["annotations"] = notes_of(check_run)
    if check_run.conclusion is not None:
        content["conclusion"] = check_run.conclusion.value
    if check_run.details_url is not None:
        content["details_url"] = check_run.details_url
    if check_run.started_at is not None:
        content["started_at"] = check_run.started_at
    return content


def notes_of(check_run: CheckRun) -> list[dict[str, Any]]:
    """Return annotations for GitHub, as many as one call takes."""
    return [
        {
            "path": each.path,
            "start_line": each.line,
            "end_line": each.line,
            "annotation_level": each.level.value,
            "title": each.title,
            "message": each.message,
        }
        for each in check_run.annotations[:MAXIMUM_ANNOTATIONS]
    ]
