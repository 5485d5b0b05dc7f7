"""Merging a merge request: by a merge commit or fast-forward, squashed or not."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate_local.forge.git import BareRepository, GitRefused, Signature
from tidegate_local.gitlab import merge_requests, mergeability, pushes
from tidegate_local.gitlab.hosting import NO_REPLY, Hosting
from tidegate_local.gitlab.records import MergeRequest, Project, User
from tidegate_local.gitlab.refusals import message, unauthorized
from tidegate_local.gitlab.shapes import Json


@dataclass(frozen=True, slots=True)
class _Made:
    """The new head of the target branch, and the commits that were made for it."""

    head: str
    commits: Json


def merge(hosting: Hosting, project: Project, one: MergeRequest, who: User, request: Json) -> MergeRequest:
    """Merge; ``request`` may hold sha, squash, both commit messages and should_remove_source_branch, as in GitLab.

    Raise Refusal: 401 for those who may not push to the target branch, 405 when something is in the way, 409 when the
    head is not ``sha``, 422 for conflicts.
    """
    target = f"refs/heads/{one.target_branch}"
    if not hosting.may_push(who, project, target):
        raise unauthorized()
    with hosting.writing(project):
        one = hosting.store.get(MergeRequest, one.id)  # somebody may have merged it while this call waited
        _check(hosting, project, one, request)
        git = hosting.git(project)
        before = git.refs()
        made = _commits(hosting, project, one, before[target], who=who, request=request)
        git.update_ref(target, made.head, before[target])
        done = merge_requests.merged(hosting, project, one, who, made.commits)
        pushes.changed(hosting, project, before, git.refs(), who)
    if request.get("should_remove_source_branch") in {True, "true"} or one.remove_source_branch:
        _remove_source(hosting, one, who)
    return done


def _check(hosting: Hosting, project: Project, one: MergeRequest, request: Json) -> None:
    status = mergeability.of(hosting, project, one)
    if not status.conflicts and status.detailed != "mergeable":
        raise message(405, "405 Method Not Allowed")
    if request.get("sha") not in {None, one.head_sha}:
        raise message(409, f"SHA does not match HEAD of source branch: {one.head_sha}")
    if status.conflicts:
        raise message(422, "Branch cannot be merged")


def _commits(hosting: Hosting, project: Project, one: MergeRequest, target: str, *, who: User, request: Json) -> _Made:
    git, person = hosting.git(project), Signature(who.name, f"{who.id}-{who.username}@{NO_REPLY}", "")
    head, commits = one.head_sha, {}
    squash = request.get("squash", one.squash)
    if squash in {True, "true"}:
        text = request.get("squash_commit_message") or one.title
        head = git.commit_tree(f"{head}^{{tree}}", (one.base_sha,), text, person, person)
        commits = {"squash_commit_sha": head}
    if project.merge_method == "ff":
        return _Made(head, commits)
    merge_commit = _merge_commit(git, one, (target, head), person, request.get("merge_commit_message"))
    return _Made(merge_commit, {**commits, "merge_commit_sha": merge_commit})


def _merge_commit(
    git: BareRepository, one: MergeRequest, parents: tuple[str, str], person: Signature, text: str | None
) -> str:
    subject = f"Merge branch '{one.source_branch}' into '{one.target_branch}'"
    default = f"{subject}\n\n{one.title}\n\nSee merge request {one.repository}!{one.iid}"
    try:
        tree = git.merged_tree(*parents)
    except GitRefused:
        raise message(422, "Branch cannot be merged") from None
    return git.commit_tree(tree, parents, text or default, person, person)


def _remove_source(hosting: Hosting, one: MergeRequest, who: User) -> None:
    source = hosting.project(one.source)
    if source and one.source_branch in hosting.git(source).branches() and one.source_branch != source.default_branch:
        pushes.set_ref(hosting, source, f"refs/heads/{one.source_branch}", None, who)
