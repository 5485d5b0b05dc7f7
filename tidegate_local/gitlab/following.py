"""Merge requests that follow the pushes to their branches."""

from __future__ import annotations

from dataclasses import replace

from tidegate_local.forge.git import NO_COMMIT, GitRefused
from tidegate_local.gitlab import clock, merge_requests, notes
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Approval, MergeRequest, Project, User


def branch_moved(hosting: Hosting, project: Project, branch: str, ends: tuple[str, str], who: User) -> None:
    """Bring merge requests from and to a branch up to date."""
    for one in hosting.store.find(MergeRequest, source=project.repository, source_branch=branch, state="opened"):
        where = hosting.project(one.repository)
        if where is not None and ends[1] == NO_COMMIT:
            merge_requests.close(hosting, where, one, who)
        elif where is not None:
            _commits_came(hosting, where, one, ends[1], who)
    for one in hosting.store.find(MergeRequest, project.repository, target_branch=branch, state="opened"):
        if ends[1] != NO_COMMIT and hosting.git(project).is_ancestor(one.head_sha, ends[1]):
            merge_requests.merged(hosting, project, one, who, {"merge_commit_sha": ends[1]})


def _commits_came(hosting: Hosting, project: Project, one: MergeRequest, sha: str, who: User) -> None:
    git = hosting.git(project)
    merge_requests.bring(hosting, project, one.source, one.iid, sha)
    start = git.branches().get(one.target_branch, one.start_sha)
    try:
        base = git.compare(start, sha).merge_base
        count = git.count(f"{one.head_sha}..{sha}")
    except GitRefused:
        base, count = start, 0
    time = clock.now()
    changed = hosting.store.change(
        MergeRequest,
        one.id,
        lambda old: replace(old, head_sha=sha, base_sha=base, start_sha=start, updated_at=time),
    )
    merge_requests.keep_version(hosting, changed)
    if project.reset_approvals:
        for approval in hosting.store.find(Approval, one.repository, iid=one.iid):
            hosting.store.remove(Approval, approval.id)
    notes.system(hosting, changed, who, f"added {count} commit{'' if count == 1 else 's'}")
    times = {"updated_at": (one.updated_at, changed.updated_at)}
    merge_requests.tell(hosting, project, changed, who, "update", changes=times, oldrev=one.head_sha)
