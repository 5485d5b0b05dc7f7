"""Commits, diffs and comparisons as GitHub's JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate_local.forge.git import ChangedFile, Commit, Comparison, Signature
from tidegate_local.forge.urls import Urls

Json = dict[str, Any]
#: Gives the account that an e-mail address belongs to as JSON, or None.
Linked = Callable[[str], Json | None]


def commit(urls: Urls, repository: str, one: Commit, linked: Linked) -> Json:
    """Return a commit as lists and comparisons have it, linked to the accounts of who made it."""
    return {
        "url": urls.rest(repository, "commits", one.sha),
        "sha": one.sha,
        "node_id": f"C_{one.sha}",
        "html_url": urls.page(repository, "commit", one.sha),
        "comments_url": urls.rest(repository, "commits", one.sha, "comments"),
        "commit": _git_commit(urls, repository, one),
        "author": linked(one.author.email),
        "committer": linked(one.committer.email),
        "parents": [
            {"sha": sha, "url": urls.rest(repository, "commits", sha), "html_url": urls.page(repository, "commit", sha)}
            for sha in one.parents
        ],
    }


def _git_commit(urls: Urls, repository: str, one: Commit) -> Json:
    return {
        "url": urls.rest(repository, "git", "commits", one.sha),
        "author": _signature(one.author),
        "committer": _signature(one.committer),
        "message": one.message,
        "comment_count": 0,
        "tree": {"sha": one.tree, "url": urls.rest(repository, "git", "trees", one.tree)},
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }


def _signature(who: Signature) -> Json:
    return {"name": who.name, "email": who.email, "date": who.date}


def diff_entry(urls: Urls, repository: str, sha: str, file: ChangedFile, patch: str | None) -> Json:
    """Return a changed file."""
    entry = {
        "sha": file.blob,
        "filename": file.name,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": urls.page(repository, "blob", sha, file.name),
        "raw_url": urls.page(repository, "raw", sha, file.name),
        "contents_url": f"{urls.rest(repository, 'contents', file.name)}?ref={sha}",
    }
    optional = {"patch": patch, "previous_filename": file.previous}
    return entry | {name: value for name, value in optional.items() if value is not None}


def simple_commit(one: Commit) -> Json:
    """Return a commit as check suites carry it."""
    return {
        "id": one.sha,
        "tree_id": one.tree,
        "message": one.message,
        "timestamp": one.committer.date,
        "author": {"name": one.author.name, "email": one.author.email},
        "committer": {"name": one.committer.name, "email": one.committer.email},
    }


def pushed_commit(urls: Urls, repository: str, one: Commit, files: list[ChangedFile], linked: Linked) -> Json:
    """Return a commit as push webhooks carry it, with the logins of who made it where they are known."""
    by_status = {"added": "added", "copied": "added", "removed": "removed"}
    names: dict[str, list[str]] = {"added": [], "removed": [], "modified": []}
    for file in files:
        if file.previous and file.status == "renamed":
            names["removed"].append(file.previous)
            names["added"].append(file.name)
        else:
            names[by_status.get(file.status, "modified")].append(file.name)
    simple = simple_commit(one)
    for role, who in (("author", one.author), ("committer", one.committer)):
        if account := linked(who.email):
            simple[role] = {**simple[role], "username": account["login"]}
    return {
        **simple,
        "distinct": True,
        "url": urls.page(repository, "commit", one.sha),
        **names,
    }


def detailed_commit(urls: Urls, repository: str, one: Commit, files: list[Json], linked: Linked) -> Json:
    """Return a commit with its files, as its own address answers."""
    additions, deletions = (sum(file[what] for file in files) for what in ("additions", "deletions"))
    stats = {"additions": additions, "deletions": deletions, "total": additions + deletions}
    return {**commit(urls, repository, one, linked), "stats": stats, "files": files}


def comparison(
    urls: Urls,
    repository: str,
    which: Comparison,
    *,
    ends: tuple[Commit, Commit],
    commits: list[Commit],
    files: list[Json],
    linked: Linked,
) -> Json:
    """Return a comparison; ``ends`` are base and merge base."""
    page = urls.page(repository, "compare", f"{which.base}...{which.head}")
    return {
        "url": urls.rest(repository, "compare", f"{which.base}...{which.head}"),
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": commit(urls, repository, ends[0], linked),
        "merge_base_commit": commit(urls, repository, ends[1], linked),
        "status": which.status,
        "ahead_by": which.ahead_by,
        "behind_by": which.behind_by,
        "total_commits": which.ahead_by,
        "commits": [commit(urls, repository, one, linked) for one in commits],
        "files": files,
    }
