"""Pull requests between branches of one repository: opened, followed, merged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from local.forge import clock, pull_shapes
from local.forge.git import BareRepository, GitRefused
from local.forge.hosting import Hosting
from local.forge.records import PullRequest, Repository
from local.forge.refusals import invalid
from local.forge.shapes import Json

_RESOURCE = "PullRequest"


def by_number(hosting: Hosting, repository: Repository, number: int) -> PullRequest | None:
    """Return a pull request by its number."""
    return hosting.store.first(PullRequest, repository.repository, number=number)


def open_one(  # noqa: PLR0917 - one more than the linter likes, each a different thing
    hosting: Hosting, repository: Repository, user: str, title: str, head: str, base: str, body: str | None = None
) -> PullRequest:
    """Open a pull request from branch ``head`` to branch ``base``. Raise Refusal (422)."""
    head = head.rpartition(":")[2]
    git = hosting.git(repository)
    branches = git.branches()
    for field, branch in (("head", head), ("base", base)):
        if branch not in branches:
            raise invalid(_RESOURCE, field, "invalid")
    if git.is_ancestor(branches[head], branches[base]):
        raise invalid(_RESOURCE, "head", "custom", f"No commits between {base} and {head}")
    if hosting.store.first(PullRequest, repository.repository, head_ref=head, base_ref=base, state="open"):
        owner = repository.owner
        raise invalid(_RESOURCE, "head", "custom", f"A pull request already exists for {owner}:{head}.")
    time, number = clock.now(), 1 + len(hosting.store.find(PullRequest, repository.repository))
    pull = hosting.store.add(
        lambda fresh: PullRequest(
            fresh,
            repository.repository,
            number,
            title,
            body,
            user,
            head,
            branches[head],
            base,
            branches[base],
            time,
            time,
        )
    )
    tell(hosting, repository, pull, "opened", user)
    return pull


def edit(
    hosting: Hosting, repository: Repository, pull: PullRequest, changes: dict[str, Any], user: str
) -> PullRequest:
    """Change title, body or state (open, closed) of a pull request."""
    state = changes.get("state", pull.state)
    if state not in {"open", "closed"} or (pull.merged_at and state == "open"):
        raise invalid(_RESOURCE, "state", "invalid")
    kept = {name: changes[name] for name in ("title", "body", "state") if name in changes}
    closed_at = (pull.closed_at or clock.now()) if state == "closed" else None
    changed = hosting.store.change(
        PullRequest, pull.id, lambda old: replace(old, **kept, closed_at=closed_at, updated_at=clock.now())
    )
    action = "edited" if state == pull.state else "reopened" if state == "open" else "closed"
    before = {name: {"from": getattr(pull, name) or ""} for name in ("title", "body") if name in kept}
    tell(hosting, repository, changed, action, user, **({"changes": before} if action == "edited" else {}))
    return changed


def synchronize(hosting: Hosting, repository: Repository, pull: PullRequest, sha: str, user: str) -> None:
    """Follow a push to the head branch."""
    changed = hosting.store.change(PullRequest, pull.id, lambda old: replace(old, head_sha=sha, updated_at=clock.now()))
    tell(hosting, repository, changed, "synchronize", user, before=pull.head_sha, after=sha)


def base_moved(hosting: Hosting, repository: Repository, pull: PullRequest, sha: str, user: str) -> None:
    """Follow a push to the base branch: a head that it holds now was merged by hand."""
    if hosting.git(repository).is_ancestor(pull.head_sha, sha):
        close_merged(hosting, repository, pull, sha, user)


def close_merged(hosting: Hosting, repository: Repository, pull: PullRequest, sha: str, user: str) -> None:
    """Close a pull request as merged by ``sha``."""
    time = clock.now()
    merged = hosting.store.change(
        PullRequest,
        pull.id,
        lambda old: replace(
            old, state="closed", closed_at=time, merged_at=time, merged_by=user, merge_commit_sha=sha, updated_at=time
        ),
    )
    tell(hosting, repository, merged, "closed", user)


def is_mergeable(hosting: Hosting, repository: Repository, pull: PullRequest) -> bool:
    """Tell whether the branches merge without conflict."""
    git = hosting.git(repository)
    base = git.branches().get(pull.base_ref)
    try:
        return base is not None and bool(git.merged_tree(base, pull.head_sha))
    except GitRefused:
        return False


def details(hosting: Hosting, repository: Repository, pull: PullRequest) -> Json:
    """Return a pull request with the numbers that its own address answers."""
    git = hosting.git(repository)
    try:
        files = git.changed_files(merge_base(git, pull), pull.head_sha)
        commits = git.count(f"{merge_base(git, pull)}..{pull.head_sha}")
    except GitRefused:
        files, commits = [], 0
    mergeable = pull.state == "open" and is_mergeable(hosting, repository, pull)
    numbers = {
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
        "commits": commits,
    }
    return pull_shapes.full(hosting, repository, pull, numbers, mergeable=mergeable)


def merge_base(git: BareRepository, pull: PullRequest) -> str:
    """Return where the head branch left the base branch."""
    return git.compare(pull.base_sha, pull.head_sha).merge_base


def tell(hosting: Hosting, repository: Repository, pull: PullRequest, action: str, user: str, **more: Any) -> None:
    """Send the pull_request webhook."""
    payload = {"action": action, "number": pull.number, "pull_request": details(hosting, repository, pull), **more}
    hosting.tell("pull_request", repository, user, payload)
