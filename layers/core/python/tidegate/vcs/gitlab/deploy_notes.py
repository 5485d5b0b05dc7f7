"""One note on a commit's merge request: the progress of the commit's deployments.

It is written from the commit's statuses, after they were set, and the statuses are read once more afterwards: of two
concurrent writers, one finds what the other missed. Two concurrent first notes leave one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidegate.rules.errors import ForgeRefused
from tidegate.texts.markdown import escaped
from tidegate.vcs.gitlab.access import GitLabAccess, project
from tidegate.vcs.gitlab.comments import notes
from tidegate.vcs.rules.events import OUR_CHECK_RUNS

#: Prefix of deployments' status names.
DEPLOYS = f"{OUR_CHECK_RUNS}deploy: "
#: Attempts until the note matches the statuses.
_ATTEMPTS = 4
_SIGNS = {"success": "✅", "failed": "❌", "canceled": "⏹️", "running": "🔄", "pending": "⏳"}

_Statuses = Iterable[Mapping[str, Any]]


def notify_deployments(access: GitLabAccess, repository: str, sha: str, statuses: Callable[[], _Statuses]) -> None:
    """Write or update the note. ``statuses`` returns ours on the commit, including replaced ones.

    If GitLab refuses, as in a locked discussion, the note is skipped: the statuses say the same.
    """
    try:
        number = _merge_request(access, repository, sha)
        if number is not None:
            _write(access, repository, number, sha, statuses)
    except ForgeRefused:
        return


def render(sha: str, statuses: _Statuses) -> str:
    """Return the note's Markdown: a line for each root, by its name."""
    shown: dict[str, Mapping[str, Any]] = {}
    for status in sorted(statuses, key=lambda each: int(each["id"])):
        if status["name"].startswith(DEPLOYS):
            shown[status["name"].removeprefix(DEPLOYS)] = status
    rows = [f"| {escaped(name)} | {_words(shown[name])} |" for name in sorted(shown)]
    return "\n".join([_marker(sha), f"**Deployments of {sha[:7]}**", "", "| Root | |", "|---|---|", *rows])


def _merge_request(access: GitLabAccess, repository: str, sha: str) -> int | None:
    """Return the number of the merge request with exactly this commit as its head or merge."""
    found = access.find(f"{project(repository)}/repository/commits/{sha}/merge_requests") or []
    commits = ("merge_commit_sha", "squash_commit_sha", "sha")
    return next((int(each["iid"]) for each in found if sha in {each.get(name) for name in commits}), None)


def _write(access: GitLabAccess, repository: str, number: int, sha: str, statuses: Callable[[], _Statuses]) -> None:
    path, marker, said = notes(repository, number), _marker(sha), ""
    written = _written(access, path, marker)
    for _ in range(_ATTEMPTS):
        text = render(sha, statuses())
        if text == said or (written is not None and text == written["body"]):
            return
        if written is None:
            made = access.call("POST", path, body={"body": text})
            written = _written(access, path, marker) or made
            said = text if written["id"] == made["id"] else ""
        else:
            access.call("PUT", f"{path}/{written['id']}", body={"body": text})
            said = text


def _written(access: GitLabAccess, path: str, marker: str) -> Mapping[str, Any] | None:
    """Return our note, if any. Of several concurrent ones, the oldest stays."""
    every, ours = access.pages(path, sort="asc", order_by="created_at"), access.me.id
    found = [each for each in every if each["author"]["id"] == ours and each["body"].startswith(marker)]
    found.sort(key=lambda each: int(each["id"]))
    for each in found[1:]:
        access.delete(f"{path}/{each['id']}")
    return found[0] if found else None


def _marker(sha: str) -> str:
    return f"<!-- tidegate:deployments {sha} -->"


def _words(status: Mapping[str, Any]) -> str:
    sign, words = _SIGNS.get(status["status"], ""), escaped(status.get("description") or status["status"])
    link = status.get("target_url")
    return f"{sign} [{words}]({link})" if link else f"{sign} {words}"
