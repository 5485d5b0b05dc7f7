"""Protected branches: what a merge into them requires, and whether a pull request fulfils it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate_local.forge import checks, reviews
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import CommitStatus, Protection, PullRequest, Repository
from tidegate_local.forge.refusals import invalid

_DONE = {"success", "neutral", "skipped"}
LOCKED = "Cannot update this protected ref."
_HOOK = f"""#!/bin/sh
for locked in $LOCAL_FORGE_LOCKED; do
    if [ "$1" = "$locked" ]; then echo "{LOCKED}" >&2; exit 1; fi
done
"""


def of(hosting: Hosting, repository: Repository, branch: str) -> Protection | None:
    """Return what a branch asks for, None when it is not protected."""
    return hosting.store.first(Protection, repository.repository, branch=branch)


def protect(hosting: Hosting, repository: Repository, branch: str, body: Mapping[str, Any]) -> Protection:
    """Protect a branch by approving reviews and checks. Raise Refusal (422)."""
    reviewed, status = body.get("required_pull_request_reviews") or {}, body.get("required_status_checks") or {}
    approvals = reviewed.get("required_approving_review_count", 1 if reviewed else 0)
    if not isinstance(approvals, int) or not 0 <= approvals <= 6:  # noqa: PLR2004 - GitHub's limit
        raise invalid("ProtectedBranch", "required_approving_review_count", "invalid")
    contexts, locked = [str(one) for one in status.get("contexts", [])], body.get("lock_branch") is True
    found = hosting.store.first_or_add(
        Protection, lambda fresh: Protection(fresh, repository.repository, branch), repository.repository, branch=branch
    )
    asked: dict[str, Any] = {"approvals": approvals, "contexts": contexts, "locked": locked}
    return hosting.store.change(Protection, found.id, lambda old: replace(old, **asked))


def is_locked(hosting: Hosting, repository: Repository, ref: str) -> bool:
    """Tell whether nobody may move a branch."""
    asked = of(hosting, repository, ref.removeprefix("refs/heads/"))
    return asked is not None and asked.locked


def push_environment(hosting: Hosting, repository: Repository) -> dict[str, str]:
    """Let a bare repository look at each push before it takes it; return what its hook is told."""
    hook = hosting.git(repository).path / "hooks/update"
    if not hook.exists():
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK, encoding="ascii")
        hook.chmod(0o755)
    locked = [one.branch for one in hosting.store.find(Protection, repository.repository) if one.locked]
    return {"LOCAL_FORGE_LOCKED": " ".join(f"refs/heads/{branch}" for branch in locked)}


def missing(hosting: Hosting, repository: Repository, pull: PullRequest) -> list[str]:
    """Return in GitHub's words what the base branch still asks of a pull request."""
    asked = of(hosting, repository, pull.base_ref)
    if asked is None:
        return []
    verdicts = list(reviews.verdicts(hosting, repository, pull).values())
    results = _results(hosting, repository, pull.head_sha)
    problems = []
    if asked.approvals and "CHANGES_REQUESTED" in verdicts:
        problems.append("Changes were requested by a reviewer with write access.")
    if verdicts.count("APPROVED") < asked.approvals:
        count, plural = asked.approvals, "" if asked.approvals == 1 else "s"
        problems.append(f"At least {count} approving review{plural} is required by reviewers with write access.")
    problems += [f'Required status check "{name}" is expected.' for name in asked.contexts if not results.get(name)]
    return problems


def all_green(hosting: Hosting, repository: Repository, sha: str) -> bool:
    """Tell whether every check and status of a commit has succeeded."""
    return all(_results(hosting, repository, sha).values())


def _results(hosting: Hosting, repository: Repository, sha: str) -> dict[str, bool]:
    """Return by name whether each newest check run and status of a commit has succeeded."""
    statuses = hosting.store.find(CommitStatus, repository.repository, sha=sha)
    runs = checks.latest(checks.runs_of(hosting, repository, sha))
    return {one.context: one.state == "success" for one in statuses} | {
        run.name: run.status == "completed" and run.conclusion in _DONE for run in runs
    }
