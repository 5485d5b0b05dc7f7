"""Whether a merge request can be merged, in GitLab's words."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate_local.forge.git import GitRefused
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Approval, MergeRequest, Project, Status


@dataclass(frozen=True, slots=True)
class MergeStatus:
    """GitLab's ``merge_status`` and ``detailed_merge_status``."""

    short: str
    detailed: str

    @property
    def conflicts(self) -> bool:
        """Whether the branches do not merge."""
        return self.short == "cannot_be_merged"


def unchecked(one: MergeRequest) -> MergeStatus:
    """Return what webhooks say: GitLab finds out in the background."""
    return MergeStatus("unchecked", "unchecked") if one.state == "opened" else MergeStatus("can_be_merged", "not_open")


def of(hosting: Hosting, project: Project, one: MergeRequest) -> MergeStatus:
    """Return whether a merge request can be merged, and what is in the way."""
    if one.state != "opened":
        return MergeStatus("can_be_merged", "not_open")
    if not _merges(hosting, project, one):
        return MergeStatus("cannot_be_merged", "need_rebase" if project.merge_method == "ff" else "conflict")
    return MergeStatus("can_be_merged", _in_the_way(hosting, project, one) or "mergeable")


def _merges(hosting: Hosting, project: Project, one: MergeRequest) -> bool:
    git = hosting.git(project)
    target = git.branches().get(one.target_branch)
    if target is None:
        return False
    if project.merge_method == "ff":
        return git.is_ancestor(target, one.head_sha)
    try:
        return bool(git.merged_tree(target, one.head_sha))
    except GitRefused:
        return False


def _in_the_way(hosting: Hosting, project: Project, one: MergeRequest) -> str | None:
    if one.draft:
        return "draft_status"
    if len(approvals(hosting, one)) < project.approvals:
        return "not_approved"
    statuses = hosting.store.find(Status, project.repository, sha=one.head_sha, retried=0)
    if not project.only_green:
        return None
    if any(each.status in {"pending", "running"} for each in statuses):
        return "ci_still_running"
    return None if statuses and all(each.status in {"success", "skipped"} for each in statuses) else "ci_must_pass"


def approvals(hosting: Hosting, one: MergeRequest) -> list[Approval]:
    """Return a merge request's approvals, oldest first."""
    return hosting.store.find(Approval, one.repository, iid=one.iid)
