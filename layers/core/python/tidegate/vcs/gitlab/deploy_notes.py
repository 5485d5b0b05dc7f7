"""One note on the merge request that a commit came with: how far the deployments of the commit are.

It is written from the commit's statuses, after they were set. Whoever writes it looks at them once more after that: of
two who write at a time, one finds that the other's is missing. Two who begin a note at a time leave one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidegate.rules.errors import ForgeRefused
from tidegate.texts.markdown import escaped
from tidegate.vcs.gitlab.access import GitLabAccess, project
from tidegate.vcs.gitlab.comments import notes
from tidegate.vcs.rules.events import OUR_CHECK_RUNS

#: What names of statuses of deployments begin with.
DEPLOYS = f"{OUR_CHECK_RUNS}deploy: "
#: How often a note is written until it says what the statuses say.
_ATTEMPTS = 4
_SIGNS = {"success": "✅", "failed": "❌", "canceled": "⏹️", "running": "🔄", "pending": "⏳"}

_Statuses = Iterable[Mapping[str, Any]]


def notify_deployments(access: GitLabAccess, repository: str, sha: str, statuses: Callable[[], _Statuses]) -> None:
    """Write or update the note. ``statuses`` returns those of ours on the commit, replaced ones included.

    What GitLab refuses, such as a note in a locked discussion, is left out: the statuses tell the same.
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
    """Return the number of the merge request that has, or was merged with, exactly this commit."""
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
    """Return our note, if there is one. Of several, which were begun at the same time, the oldest stays."""
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
