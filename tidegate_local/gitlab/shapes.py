"""GitLab's JSON of people, projects, commits and merge requests: the fields that somebody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate_local.forge.git import ChangedFile, Commit
from tidegate_local.forge.shapes import names_of
from tidegate_local.gitlab import clock, mergeability
from tidegate_local.gitlab.records import Award, Group, Issue, Member, MergeRequest, Note, Pipeline, Project, User

if TYPE_CHECKING:
    from tidegate_local.gitlab.hosting import Hosting

Json = dict[str, Any]
#: People here publish no address, and GitLab's webhooks then write this.
NO_EMAIL = "[REDACTED]"


def user(hosting: Hosting, who: User) -> Json:
    """Return a user."""
    return {
        "id": who.id,
        "username": who.username,
        "name": who.name,
        "state": "active",
        "avatar_url": hosting.urls.avatar(who.username),
        "web_url": hosting.urls.user(who.username),
    }


def named(hosting: Hosting, username: str | None) -> Json | None:
    """Return the user whom a record names, None for nobody."""
    return None if username is None else user(hosting, hosting.identities.named(username))


def member(hosting: Hosting, one: Member) -> Json:
    """Return a member of a group or project."""
    who = user(hosting, hosting.identities.named(one.user))
    return {**who, "access_level": one.access_level, "created_at": one.created_at, "membership_state": "active"}


def group(hosting: Hosting, one: Group) -> Json:
    """Return a group, or the namespace of a project."""
    name, home = one.path.rpartition("/")[2], hosting.urls.home
    page = f"{home}/{one.path}" if one.user else f"{home}/groups/{one.path}"
    return {"id": one.id, "name": name, "path": name, "full_path": one.path, "web_url": page}


def project(hosting: Hosting, one: Project, caller: User | None = None) -> Json:
    """Return a project as its own address answers somebody."""
    urls, path = hosting.urls, one.repository
    origin = hosting.project(one.forked_from) if one.forked_from else None
    level = hosting.identities.level(caller.username, path) if caller else 0
    return {
        "id": one.id,
        "name": one.name,
        "path": one.name,
        "path_with_namespace": path,
        "created_at": one.created_at,
        "default_branch": one.default_branch if hosting.git(one).branches() else None,
        "http_url_to_repo": urls.clone(path),
        "web_url": urls.project(path),
        "last_activity_at": one.last_activity_at,
        "visibility": one.visibility,
        "namespace": group(hosting, hosting.namespace(one.namespace)),
        "archived": False,
        **({"forked_from_project": project(hosting, origin)} if origin else {}),
        "only_allow_merge_if_pipeline_succeeds": one.only_green,
        "merge_method": one.merge_method,
        "approvals_before_merge": one.approvals,
        **({"permissions": {"group_access": {"access_level": level}}} if level else {}),
    }


def commit(hosting: Hosting, where: Project, one: Commit) -> Json:
    """Return a commit."""
    return {
        "id": one.sha,
        "short_id": one.sha[:8],
        "created_at": clock.of_commit(one.committer.date),
        "parent_ids": list(one.parents),
        "title": one.title,
        "message": one.message,
        "author_name": one.author.name,
        "author_email": one.author.email,
        "authored_date": clock.of_commit(one.author.date),
        "committer_name": one.committer.name,
        "committer_email": one.committer.email,
        "committed_date": clock.of_commit(one.committer.date),
        "web_url": hosting.urls.page(where.repository, "commit", one.sha),
    }


def merge_request(hosting: Hosting, where: Project, one: MergeRequest) -> Json:
    """Return a merge request as lists have it."""
    source = hosting.project(one.source) or where
    status, reference = mergeability.of(hosting, where, one), f"!{one.iid}"
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": where.id,
        "title": one.title,
        "description": one.description,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "merge_user": named(hosting, one.merged_by),
        "merged_at": one.merged_at,
        "closed_by": named(hosting, one.closed_by),
        "closed_at": one.closed_at,
        "target_branch": one.target_branch,
        "source_branch": one.source_branch,
        "author": named(hosting, one.author),
        "source_project_id": source.id,
        "target_project_id": where.id,
        "draft": one.draft,
        "merge_status": status.short,
        "detailed_merge_status": status.detailed,
        "sha": one.head_sha,
        "merge_commit_sha": one.merge_commit_sha,
        "squash_commit_sha": one.squash_commit_sha,
        "references": {"short": reference, "relative": reference, "full": f"{one.repository}{reference}"},
        "web_url": hosting.urls.page(one.repository, "merge_requests", one.iid),
        "has_conflicts": status.short == "cannot_be_merged",
    }


def full_merge_request(hosting: Hosting, where: Project, one: MergeRequest) -> Json:
    """Return a merge request as its own address answers."""
    ends = {"base_sha": one.base_sha, "head_sha": one.head_sha, "start_sha": one.start_sha}
    return {**merge_request(hosting, where, one), "diff_refs": ends}


def pipeline(hosting: Hosting, where: Project, one: Pipeline) -> Json:
    """Return a pipeline."""
    page = hosting.urls.page(where.repository, "pipelines", one.id)
    known = {name: getattr(one, name) for name in ("id", "iid", "sha", "ref", "source", "created_at")}
    return {**known, "project_id": where.id, "web_url": page}


def note(hosting: Hosting, where: Project, one: MergeRequest, note: Note) -> Json:
    """Return a note below a merge request."""
    return {
        "id": note.id,
        "body": note.body,
        "author": named(hosting, note.author),
        "created_at": note.created_at,
        "updated_at": note.updated_at,
        "system": note.system,
        "noteable_id": one.id,
        "noteable_type": "MergeRequest",
        "noteable_iid": one.iid,
        "project_id": where.id,
    }


def award(hosting: Hosting, one: Award) -> Json:
    """Return an emoji that was awarded to a note."""
    who = {"user": named(hosting, one.user), "created_at": one.created_at}
    return {"id": one.id, "name": one.name, **who, "awardable_id": one.note, "awardable_type": "Note"}


def issue(hosting: Hosting, where: Project, one: Issue) -> Json:
    """Return an issue."""
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": where.id,
        "title": one.title,
        "description": one.description,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "closed_at": one.closed_at,
        "closed_by": named(hosting, one.closed_by),
        "author": named(hosting, one.author),
        "web_url": hosting.urls.page(one.repository, "issues", one.iid),
    }


def hook_user(who: User) -> Json:
    """Return a user as webhooks carry one."""
    return {"id": who.id, "name": who.name, "username": who.username, "email": NO_EMAIL}


def hook_project(hosting: Hosting, one: Project) -> Json:
    """Return a project as webhooks carry it."""
    urls, path = hosting.urls, one.repository
    return {
        "id": one.id,
        "name": one.name,
        "web_url": urls.project(path),
        "git_http_url": urls.clone(path),
        "path_with_namespace": path,
        "default_branch": one.default_branch,
    }


def hook_commit(hosting: Hosting, where: Project, one: Commit) -> Json:
    """Return a commit as webhooks carry it."""
    return {
        "id": one.sha,
        "message": one.message,
        "title": one.title,
        "timestamp": one.committer.date,
        "url": hosting.urls.page(where.repository, "commit", one.sha),
        "author": {"name": one.author.name, "email": NO_EMAIL},
    }


def pushed_commit(hosting: Hosting, where: Project, one: Commit, files: list[ChangedFile]) -> Json:
    """Return a commit with the names of the files that it changed."""
    return {**hook_commit(hosting, where, one), **names_of(files)}


def hook_merge_request(hosting: Hosting, where: Project, one: MergeRequest) -> Json:
    """Return a merge request as webhooks carry it."""
    source = hosting.project(one.source) or where
    status = mergeability.unchecked(one)
    same = ("id", "iid", "title", "description", "state", "draft", "source_branch", "target_branch", "merge_commit_sha")
    return {
        **{name: getattr(one, name) for name in same},
        "author_id": hosting.identities.named(one.author).id,
        "created_at": clock.in_hook(one.created_at),
        "updated_at": clock.in_hook(one.updated_at),
        "detailed_merge_status": status.detailed,
        "merge_status": status.short,
        "last_commit": hook_commit(hosting, where, hosting.git(where).commit(one.head_sha)),
        "source": hook_project(hosting, source),
        "source_project_id": source.id,
        "target": hook_project(hosting, where),
        "target_project_id": where.id,
        "url": hosting.urls.page(one.repository, "merge_requests", one.iid),
    }


def hook_note(hosting: Hosting, where: Project, one: MergeRequest, note: Note) -> Json:
    """Return a note as webhooks carry it."""
    return {
        "author_id": hosting.identities.named(note.author).id,
        "created_at": clock.in_hook(note.created_at),
        "updated_at": clock.in_hook(note.updated_at),
        "id": note.id,
        "note": note.body,
        "noteable_id": one.id,
        "noteable_type": "MergeRequest",
        "project_id": where.id,
        "system": note.system,
        "url": f"{hosting.urls.page(one.repository, 'merge_requests', one.iid)}#note_{note.id}",
    }
