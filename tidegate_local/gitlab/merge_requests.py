"""Merge requests: opened, changed, closed, merged, and told about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate_local.forge.git import GitRefused
from tidegate_local.gitlab import clock, notes, shapes, webhooks
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import DRAFT, MergeRequest, Project, User, Version
from tidegate_local.gitlab.refusals import Refusal, forbidden, improper, invalid
from tidegate_local.gitlab.settings import DEVELOPER
from tidegate_local.gitlab.shapes import Json

#: Fields that changed, before and after.
Changes = Mapping[str, tuple[Any, Any]]
STATE_IDS = {"opened": 1, "closed": 2, "merged": 3, "locked": 4}


def of(hosting: Hosting, project: Project) -> list[MergeRequest]:
    """Return a project's merge requests, oldest first."""
    return hosting.store.find(MergeRequest, project.repository)


def by_iid(hosting: Hosting, project: Project, iid: int) -> MergeRequest | None:
    """Return a merge request by its number in the project."""
    return hosting.store.first(MergeRequest, project.repository, iid=iid)


def open_one(hosting: Hosting, source: Project, target: Project, who: User, request: Json) -> MergeRequest:
    """Open a merge request from ``source_branch`` of a project to ``target_branch`` of it or of where it comes from.

    Raise Refusal: 403 for those who may not, 400 for branches that are not there, 409 when there is one already.
    """
    if hosting.identities.level(who.username, source.repository) < DEVELOPER:
        raise forbidden()
    branches = {"source_branch": hosting.git(source).branches(), "target_branch": hosting.git(target).branches()}
    for field, known in branches.items():
        if request[field] not in known:
            raise invalid(field, "does not exist")
    with hosting.writing(target):
        _check_new(hosting, source, target, request)
        head = branches["source_branch"][request["source_branch"]]
        start = branches["target_branch"][request["target_branch"]]
        made = _record(hosting, source, target, who, request=request, ends=(start, head))
    changes = {"merge_status": ("preparing", "unchecked"), "updated_at": (made.created_at, made.updated_at)}
    tell(hosting, target, made, who, "open", changes=changes)
    return made


def _record(
    hosting: Hosting, source: Project, target: Project, who: User, *, request: Json, ends: tuple[str, str]
) -> MergeRequest:
    """Write down a new merge request; ``ends`` are the commits that its target and source branches are at."""
    (start, head), iid, time = ends, 1 + len(of(hosting, target)), clock.now()
    bring(hosting, target, source.repository, iid, head)
    made = hosting.store.add(
        lambda fresh: MergeRequest(
            fresh,
            target.repository,
            iid,
            source.repository,
            request["source_branch"],
            request["target_branch"],
            str(request["title"]),
            str(request.get("description") or ""),
            who.username,
            head_sha=head,
            base_sha=_merge_base(hosting, target, start, head),
            start_sha=start,
            created_at=time,
            updated_at=time,
            squash=request.get("squash") is True,
            remove_source_branch=request.get("remove_source_branch") is True,
        )
    )
    keep_version(hosting, made)
    return made


def _check_new(hosting: Hosting, source: Project, target: Project, request: Json) -> None:
    branch, into = request["source_branch"], request["target_branch"]
    if source.id == target.id and branch == into:
        why = "You can't use same project/branch for source and target"
        raise Refusal(422, {"error": [why]})
    same = {"source": source.repository, "source_branch": branch, "target_branch": into, "state": "opened"}
    found = hosting.store.first(MergeRequest, target.repository, **same)
    if found is not None:
        why = f"Another open merge request already exists for this source branch: !{found.iid}"
        raise Refusal(409, {"message": [why]})


def bring(hosting: Hosting, target: Project, source: str, iid: int, sha: str) -> None:
    """Let a merge request's ref in its project name a commit, and have it there."""
    ref, git = f"refs/merge-requests/{iid}/head", hosting.git(target)
    there = hosting.project(source)
    if source == target.repository or there is None:
        git.run("update-ref", ref, sha)
    else:
        git.fetch(hosting.git(there), sha, ref)


def _merge_base(hosting: Hosting, project: Project, start: str, head: str) -> str:
    try:
        return hosting.git(project).compare(start, head).merge_base
    except GitRefused:
        return start


def keep_version(hosting: Hosting, one: MergeRequest) -> None:
    """Remember what a merge request shows now."""
    shas = one.head_sha, one.base_sha, one.start_sha
    hosting.store.add(lambda fresh: Version(fresh, one.repository, one.iid, *shas, clock.now()))


def edit(hosting: Hosting, project: Project, one: MergeRequest, who: User, request: Json) -> MergeRequest:
    """Change title, description, target branch, squash, or (``state_event`` close, reopen) the state. Raise Refusal."""
    if who.username != one.author and hosting.identities.level(who.username, project.repository) < DEVELOPER:
        raise forbidden()
    event = request.get("state_event")
    if event not in {None, "close", "reopen"}:
        raise improper("state_event")
    names = ("title", "description", "target_branch", "squash", "remove_source_branch")
    wanted = {name: request[name] for name in names if name in request}
    if "target_branch" in wanted:
        wanted |= _other_target(hosting, project, one, wanted["target_branch"])
    changed = _replace(hosting, one, wanted)
    differences = {
        name: (getattr(one, name), getattr(changed, name))
        for name in ("title", "draft", "description", "target_branch", "squash")
        if getattr(one, name) != getattr(changed, name)
    }
    if differences:
        _note_changes(hosting, one, changed, who)
        times = {"updated_at": (one.updated_at, changed.updated_at)}
        tell(hosting, project, changed, who, "update", changes={**differences, **times})
    if event == "close":
        return close(hosting, project, changed, who)
    return reopen(hosting, project, changed, who) if event == "reopen" else changed


def _other_target(hosting: Hosting, project: Project, one: MergeRequest, branch: str) -> Json:
    start = hosting.git(project).branches().get(branch)
    if start is None:
        raise invalid("target_branch", "does not exist")
    return {"start_sha": start, "base_sha": _merge_base(hosting, project, start, one.head_sha)}


def _note_changes(hosting: Hosting, old: MergeRequest, new: MergeRequest, who: User) -> None:
    if old.draft != new.draft:
        notes.system(hosting, new, who, f"marked this merge request as **{'draft' if new.draft else 'ready'}**")
    if old.target_branch != new.target_branch:
        text = f"changed target branch from `{old.target_branch}` to `{new.target_branch}`"
        notes.system(hosting, new, who, text)


def with_draft(title: str, *, draft: bool) -> str:
    """Return a title that says whether the merge request is a draft."""
    plain = title.removeprefix(DRAFT)
    return f"{DRAFT}{plain}" if draft else plain


def _replace(hosting: Hosting, one: MergeRequest, fields: Json) -> MergeRequest:
    time = clock.now()
    return hosting.store.change(MergeRequest, one.id, lambda old: replace(old, **fields, updated_at=time))


def close(hosting: Hosting, project: Project, one: MergeRequest, who: User) -> MergeRequest:
    """Close an open merge request."""
    if one.state != "opened":
        return one
    fields = {"state": "closed", "closed_by": who.username, "closed_at": clock.now()}
    return _other_state(hosting, project, one, who, action="close", fields=fields)


def reopen(hosting: Hosting, project: Project, one: MergeRequest, who: User) -> MergeRequest:
    """Open a closed merge request again, with the commits that its branch has now."""
    if one.state != "closed":
        return one
    source = hosting.project(one.source)
    head = hosting.git(source).branches().get(one.source_branch) if source else None
    fields: Json = {"state": "opened", "closed_by": None, "closed_at": None}
    if head is not None and head != one.head_sha:
        bring(hosting, project, one.source, one.iid, head)
        fields |= {"head_sha": head, "base_sha": _merge_base(hosting, project, one.start_sha, head)}
    changed = _other_state(hosting, project, one, who, action="reopen", fields=fields)
    if changed.head_sha != one.head_sha:
        keep_version(hosting, changed)
    return changed


def merged(hosting: Hosting, project: Project, one: MergeRequest, who: User, commits: Json) -> MergeRequest:
    """Close a merge request as merged; ``commits`` are its merge_commit_sha and squash_commit_sha."""
    fields = {"state": "merged", "merged_by": who.username, "merged_at": clock.now(), **commits}
    return _other_state(hosting, project, one, who, action="merge", fields=fields)


def _other_state(
    hosting: Hosting, project: Project, one: MergeRequest, who: User, *, action: str, fields: Json
) -> MergeRequest:
    changed = _replace(hosting, one, fields)
    said = {"close": "closed", "reopen": "reopened", "merge": "merged"}
    notes.system(hosting, changed, who, said[action])
    ids = STATE_IDS[one.state], STATE_IDS[changed.state]
    changes = {"state_id": ids, "updated_at": (one.updated_at, changed.updated_at)}
    tell(hosting, project, changed, who, action, changes=changes)
    return changed


def tell(
    hosting: Hosting,
    project: Project,
    one: MergeRequest,
    who: User,
    action: str,
    *,
    changes: Changes,
    oldrev: str | None = None,
) -> None:
    """Send the merge request hook; ``oldrev`` is the commit before a push."""
    shape = shapes.hook_merge_request(hosting, project, one)
    shape |= {"action": action} | ({"oldrev": oldrev} if oldrev else {})
    parts = {
        "object_kind": "merge_request",
        "object_attributes": shape,
        "changes": {name: {"previous": old, "current": new} for name, (old, new) in changes.items()},
    }
    webhooks.tell_of(hosting, project, "Merge Request Hook", who, parts)
