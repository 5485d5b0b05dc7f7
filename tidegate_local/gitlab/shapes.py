"""People, projects and commits as GitLab's API writes them."""

from __future__ import annotations

from typing import Any

from tidegate_local.forge.git import ChangedFile, Commit
from tidegate_local.gitlab import clock
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Group, Member, Project, User

Json = dict[str, Any]
SINCE = "2020-01-01T00:00:00.000Z"
_LINKS = {"self": "", "repo_branches": "/repository/branches"}
VISIBILITY_LEVELS = {"private": 0, "internal": 10, "public": 20}


def user(hosting: Hosting, who: User) -> Json:
    """Return a user as everything else carries them."""
    return {
        "id": who.id,
        "username": who.username,
        "public_email": "",
        "name": who.name,
        "state": "active",
        "locked": False,
        "avatar_url": hosting.urls.avatar(who.username),
        "web_url": hosting.urls.user(who.username),
    }


def named(hosting: Hosting, username: str | None) -> Json | None:
    """Return the user whom a record names, None for nobody."""
    return None if username is None else user(hosting, hosting.identities.named(username))


def full_user(hosting: Hosting, who: User) -> Json:
    """Return a user as their own address answers."""
    nothing = dict.fromkeys(("bio", "location", "linkedin", "twitter", "discord", "website_url", "github"), "")
    return {
        **user(hosting, who),
        "created_at": SINCE,
        **nothing,
        "organization": "",
        "job_title": "",
        "pronouns": None,
        "bot": who.bot,
        "work_information": None,
        "followers": 0,
        "following": 0,
        "local_time": None,
        "is_followed": False,
    }


def member(hosting: Hosting, one: Member) -> Json:
    """Return a member of a group or project."""
    return {
        **user(hosting, hosting.identities.named(one.user)),
        "access_level": one.access_level,
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "membership_state": "active",
    }


def namespace(hosting: Hosting, path: str) -> Json:
    """Return the namespace of a project."""
    group = hosting.namespace(path)
    above = path.rpartition("/")[0]
    page = hosting.urls.user(path) if group.user else f"{hosting.urls.home}/groups/{path}"
    return {
        "id": group.id,
        "name": path.rpartition("/")[2],
        "path": path.rpartition("/")[2],
        "kind": "user" if group.user else "group",
        "full_path": path,
        "parent_id": hosting.namespace(above).id if above else None,
        "avatar_url": None,
        "web_url": page,
    }


def group(hosting: Hosting, one: Group) -> Json:
    """Return a group."""
    above = one.path.rpartition("/")[0]
    return {
        "id": one.id,
        "web_url": f"{hosting.urls.home}/groups/{one.path}",
        "name": one.path.rpartition("/")[2],
        "path": one.path.rpartition("/")[2],
        "description": "",
        "visibility": "private",
        "avatar_url": None,
        "full_name": one.path.replace("/", " / "),
        "full_path": one.path,
        "created_at": one.created_at,
        "parent_id": hosting.namespace(above).id if above else None,
    }


def basic_project(hosting: Hosting, one: Project) -> Json:
    """Return a project as lists of limited detail have it."""
    urls, path = hosting.urls, one.repository
    return {
        "id": one.id,
        "description": one.description,
        "name": one.name,
        "name_with_namespace": path.replace("/", " / "),
        "path": one.name,
        "path_with_namespace": path,
        "created_at": one.created_at,
        "default_branch": one.default_branch if hosting.git(one).branches() else None,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": urls.ssh(path),
        "http_url_to_repo": urls.clone(path),
        "web_url": urls.project(path),
        "readme_url": None,
        "forks_count": len(hosting.store.find(Project, forked_from=path)),
        "avatar_url": None,
        "star_count": 0,
        "last_activity_at": one.last_activity_at,
        "visibility": one.visibility,
        "namespace": namespace(hosting, one.namespace),
    }


def project(hosting: Hosting, one: Project, caller: User | None) -> Json:
    """Return a project as its own address answers somebody."""
    address = f"{hosting.urls.api}/projects/{one.id}"
    origin = hosting.project(one.forked_from) if one.forked_from else None
    levels = None if caller is None else _permissions(hosting, one, caller)
    links = {name: f"/{name}" for name in ("issues", "merge_requests", "labels", "events", "members", "cluster_agents")}
    return {
        **basic_project(hosting, one),
        "_links": {name: f"{address}{path}" for name, path in (links | _LINKS).items()},
        "empty_repo": not hosting.git(one).branches(),
        "archived": False,
        "merge_requests_enabled": True,
        "jobs_enabled": True,
        "creator_id": hosting.identities.users()[0].id,
        **({"forked_from_project": basic_project(hosting, origin)} if origin else {}),
        "only_allow_merge_if_pipeline_succeeds": one.only_green,
        "allow_merge_on_skipped_pipeline": None,
        "only_allow_merge_if_all_discussions_are_resolved": False,
        "remove_source_branch_after_merge": True,
        "merge_method": one.merge_method,
        "squash_option": "default_off",
        "approvals_before_merge": one.approvals,
        **({"permissions": levels} if levels else {}),
    }


def _permissions(hosting: Hosting, one: Project, caller: User) -> Json:
    direct = [each for each in hosting.identities.direct(one.repository) if each.user == caller.username]
    inherited = hosting.identities.level(caller.username, one.namespace)
    level = max((each.access_level for each in direct), default=0)
    return {
        "project_access": {"access_level": level, "notification_level": 3} if level else None,
        "group_access": {"access_level": inherited, "notification_level": 3} if inherited else None,
    }


def commit(hosting: Hosting, project: Project, one: Commit) -> Json:
    """Return a commit as lists have it."""
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
        "trailers": {},
        "extended_trailers": {},
        "web_url": hosting.urls.page(project.repository, "commit", one.sha),
    }


def diff(file: ChangedFile, patch: str | None) -> Json:
    """Return a changed file."""
    return {
        "diff": f"{patch}\n" if patch else "",
        "collapsed": False,
        "too_large": False,
        "new_path": file.name,
        "old_path": file.previous or file.name,
        "a_mode": file.modes[0].removeprefix(":").replace("000000", "0"),
        "b_mode": file.modes[1].replace("000000", "0"),
        "new_file": file.status == "added",
        "renamed_file": file.status == "renamed",
        "deleted_file": file.status == "removed",
        "generated_file": False,
    }


def diffs(hosting: Hosting, project: Project, before: str, after: str) -> list[Json]:
    """Return the files that differ between two commits."""
    git = hosting.git(project)
    patches = git.patches(before, after)
    return [diff(file, patches.get(file.name)) for file in git.changed_files(before, after)]
