"""Approvals of merge requests."""

from __future__ import annotations

from dataclasses import replace

from tidegate_local.gitlab import clock, merge_requests, mergeability, notes
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Approval, MergeRequest, Project, User
from tidegate_local.gitlab.refusals import forbidden, message, not_found, unauthorized
from tidegate_local.gitlab.settings import DEVELOPER


def may_approve(hosting: Hosting, project: Project, one: MergeRequest, who: User) -> bool:
    """Tell whether somebody may approve a merge request, and has not yet."""
    known = any(each.user == who.username for each in mergeability.approvals(hosting, one))
    return hosting.identities.level(who.username, project.repository) >= DEVELOPER and not known


def approve(hosting: Hosting, project: Project, one: MergeRequest, who: User, sha: str | None = None) -> None:
    """Approve a merge request. Raise Refusal: 403, 401 for a second time, 409 when its head is not ``sha``."""
    if hosting.identities.level(who.username, project.repository) < DEVELOPER:
        raise forbidden()
    if sha not in {None, one.head_sha}:
        raise message(409, f"SHA does not match HEAD of source branch: {one.head_sha}")
    with hosting.writing(project):
        if one.state != "opened" or not may_approve(hosting, project, one, who):
            raise unauthorized()
        hosting.store.add(lambda fresh: Approval(fresh, one.repository, one.iid, who.username, clock.now()))
    notes.system(hosting, one, who, "approved this merge request")
    _tell(hosting, project, one, who, "approved" if _enough(hosting, project, one) else "approval")


def unapprove(hosting: Hosting, project: Project, one: MergeRequest, who: User) -> None:
    """Take an approval back. Raise Refusal (404) when there is none."""
    own = [each for each in mergeability.approvals(hosting, one) if each.user == who.username]
    if not own:
        raise not_found()
    before = _enough(hosting, project, one)
    hosting.store.remove(Approval, own[0].id)
    notes.system(hosting, one, who, "unapproved this merge request")
    lost = before and (project.approvals == 0 or not _enough(hosting, project, one))
    _tell(hosting, project, one, who, "unapproved" if lost else "unapproval")


def _enough(hosting: Hosting, project: Project, one: MergeRequest) -> bool:
    return len(mergeability.approvals(hosting, one)) >= project.approvals


def _tell(hosting: Hosting, project: Project, one: MergeRequest, who: User, action: str) -> None:
    changed = hosting.store.change(MergeRequest, one.id, lambda old: replace(old, updated_at=clock.now()))
    times = {"updated_at": (one.updated_at, changed.updated_at)}
    merge_requests.tell(hosting, project, changed, who, action, changes=times)
