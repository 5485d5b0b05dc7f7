"""Pull requests between branches of a repository, or from a fork: opened, followed, merged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate_local.forge import clock, forks, protections, shapes
from tidegate_local.forge.git import BareRepository, GitRefused
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Issue, PullRequest, Repository
from tidegate_local.forge.refusals import Refusal, invalid
from tidegate_local.forge.shapes import Json

_RESOURCE = "PullRequest"
#: GitHub finds out in the background whether a pull request merges: webhooks about new commits do not know it yet.
UNKNOWN: Json = {"mergeable": None, "rebaseable": None, "mergeable_state": "unknown"}


def next_number(hosting: Hosting, repository: Repository) -> int:
    """Return the number of the next pull request or issue: they are counted together."""
    name = repository.repository
    return 1 + len(hosting.store.find(PullRequest, name)) + len(hosting.store.find(Issue, name))


def by_number(hosting: Hosting, repository: Repository, number: int) -> PullRequest | None:
    """Return a pull request by its number."""
    return hosting.store.first(PullRequest, repository.repository, number=number)


def open_one(hosting: Hosting, repository: Repository, user: str, request: Json) -> PullRequest:
    """Open a pull request by ``title``, ``head`` (BRANCH or OWNER:BRANCH), ``base``, ``body`` and ``draft``.

    Raise Refusal: 422 for branches that do not exist or have nothing to offer, 403 for a head that ``user`` may not
    write to.
    """
    title, name, base = (_text(request, field) for field in ("title", "head", "base"))
    head, base_sha = forks.head(hosting, repository, name), hosting.git(repository).branches().get(base)
    if head is None or base_sha is None:
        raise invalid(_RESOURCE, "base" if head else "head", "invalid")
    _check_head(hosting, repository, user, head, base)
    forks.bring(hosting, repository, head, f"refs/compared/{head.repository.owner}/{head.branch}")
    if hosting.git(repository).is_ancestor(head.sha, base_sha):
        raise invalid(_RESOURCE, "head", "custom", f"No commits between {base} and {name}")
    fork = None if head.repository.id == repository.id else head.repository.repository
    time, number = clock.now(), next_number(hosting, repository)
    pull = hosting.store.add(
        lambda fresh: PullRequest(
            fresh,
            repository.repository,
            number,
            title,
            request.get("body"),
            user,
            head_ref=head.branch,
            head_sha=head.sha,
            base_ref=base,
            base_sha=base_sha,
            created_at=time,
            updated_at=time,
            draft=request.get("draft") is True,
            fork=fork,
        )
    )
    forks.bring(hosting, repository, head, f"refs/pull/{number}/head")
    tell(hosting, repository, pull, "opened", user)
    return pull


def _text(request: Json, field: str) -> str:
    if not isinstance(request.get(field), str) or not request[field]:
        raise invalid(_RESOURCE, field, "missing_field")
    return str(request[field])


def _check_head(hosting: Hosting, repository: Repository, user: str, head: forks.Head, base: str) -> None:
    person = hosting.identities.person(user)
    if person and hosting.identities.permission(user, head.repository) not in {"write", "admin"}:
        raise Refusal(
            403, f"{user} has no write permission on {head.repository.repository}, which has the head branch."
        )
    same = {"head_ref": head.branch, "base_ref": base, "state": "open"}
    found = hosting.store.find(PullRequest, repository.repository, **same)
    if any(one.head_repository == head.repository.repository for one in found):
        owner = head.repository.owner
        raise invalid(_RESOURCE, "head", "custom", f"A pull request already exists for {owner}:{head.branch}.")


def edit(
    hosting: Hosting, repository: Repository, pull: PullRequest, changes: dict[str, Any], user: str
) -> PullRequest:
    """Change title, body, base branch or state (open, closed) of a pull request. Raise Refusal (422)."""
    state = changes.get("state", pull.state)
    if state not in {"open", "closed"} or (pull.merged_at and state == "open"):
        raise invalid(_RESOURCE, "state", "invalid")
    kept: Json = {name: changes[name] for name in ("title", "body", "state") if name in changes}
    if "base" in changes:
        kept |= _other_base(hosting, repository, changes["base"])
    closed_at = (pull.closed_at or clock.now()) if state == "closed" else None
    changed = hosting.store.change(
        PullRequest, pull.id, lambda old: replace(old, **kept, closed_at=closed_at, updated_at=clock.now())
    )
    action = "edited" if state == pull.state else "reopened" if state == "open" else "closed"
    before: Json = {name: {"from": getattr(pull, name) or ""} for name in ("title", "body") if name in kept}
    if changed.base_ref != pull.base_ref:
        before["base"] = {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}
    tell(hosting, repository, changed, action, user, **({"changes": before} if action == "edited" else {}))
    return changed


def _other_base(hosting: Hosting, repository: Repository, base: object) -> dict[str, str]:
    sha = hosting.git(repository).branches().get(base) if isinstance(base, str) else None
    if sha is None:
        raise invalid(_RESOURCE, "base", "invalid")
    return {"base_ref": str(base), "base_sha": sha}


def set_draft(hosting: Hosting, repository: Repository, pull: PullRequest, user: str, *, draft: bool) -> None:
    """Let a pull request be a draft, or one no more."""
    changed = hosting.store.change(PullRequest, pull.id, lambda old: replace(old, draft=draft, updated_at=clock.now()))
    if pull.draft != draft:
        tell(hosting, repository, changed, "converted_to_draft" if draft else "ready_for_review", user)


def synchronize(hosting: Hosting, repository: Repository, pull: PullRequest, sha: str, user: str) -> None:
    """Follow a push to the head branch."""
    source = hosting.repository(pull.head_repository) or repository
    forks.bring(hosting, repository, forks.Head(source, pull.head_ref, sha), f"refs/pull/{pull.number}/head")
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
    """Return a pull request as its own address answers: with whether it can be merged."""
    return shapes.pull(hosting, pull, _merge_state(hosting, repository, pull))


def _merge_state(hosting: Hosting, repository: Repository, pull: PullRequest) -> Json:
    """Return whether a pull request can be merged, and what is in the way, in GitHub's words."""
    if pull.state != "open":
        return UNKNOWN
    mergeable = is_mergeable(hosting, repository, pull)
    if not mergeable:
        state = "dirty"
    elif pull.draft:
        state = "draft"
    elif protections.missing(hosting, repository, pull):
        state = "blocked"
    else:
        state = "clean" if protections.all_green(hosting, repository, pull.head_sha) else "unstable"
    return {"mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": state}


def with_commit(hosting: Hosting, repository: Repository, sha: str) -> list[PullRequest]:
    """Return the merged pull request that brought a commit to the default branch, else the open ones that have it."""
    git = hosting.git(repository)
    default = git.branches().get(repository.default_branch)
    arrived = default is not None and git.is_ancestor(sha, default)
    found = [
        one for one in hosting.store.find(PullRequest, repository.repository) if one.merged_at or one.state == "open"
    ]
    having = [one for one in found if sha == one.merge_commit_sha or _has(git, one, sha)]
    return [one for one in having if (one.merged_at is not None) == arrived][::-1]


def _has(git: BareRepository, pull: PullRequest, sha: str) -> bool:
    return git.is_ancestor(sha, pull.head_sha) and not git.is_ancestor(sha, pull.base_sha)


def merge_base(git: BareRepository, pull: PullRequest) -> str:
    """Return where the head branch left the base branch."""
    return git.compare(pull.base_sha, pull.head_sha).merge_base


def tell(hosting: Hosting, repository: Repository, pull: PullRequest, action: str, user: str, **more: Any) -> None:
    """Send the pull_request webhook."""
    merge = UNKNOWN if action in {"opened", "reopened", "synchronize"} else None
    shape = shapes.pull(hosting, pull, merge or _merge_state(hosting, repository, pull))
    payload = {"action": action, "number": pull.number, "pull_request": shape, **more}
    hosting.tell("pull_request", repository, user, payload)
