"""What GitLab's webhooks carry about people, projects and commits."""

from __future__ import annotations

from tidegate_local.forge.git import ChangedFile, Commit
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Project, User
from tidegate_local.gitlab.shapes import VISIBILITY_LEVELS, Json

#: People here publish no address, and GitLab then writes this.
NO_EMAIL = "[REDACTED]"


def user(hosting: Hosting, who: User) -> Json:
    """Return a user."""
    return {
        "id": who.id,
        "name": who.name,
        "username": who.username,
        "avatar_url": hosting.urls.avatar(who.username),
        "email": NO_EMAIL,
    }


def project(hosting: Hosting, one: Project) -> Json:
    """Return a project."""
    urls, path = hosting.urls, one.repository
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "web_url": urls.project(path),
        "avatar_url": None,
        "git_ssh_url": urls.ssh(path),
        "git_http_url": urls.clone(path),
        "namespace": one.namespace.rpartition("/")[2],
        "visibility_level": VISIBILITY_LEVELS[one.visibility],
        "path_with_namespace": path,
        "default_branch": one.default_branch,
        "ci_config_path": None,
        "homepage": urls.project(path),
        "url": urls.ssh(path),
        "ssh_url": urls.ssh(path),
        "http_url": urls.clone(path),
    }


def repository(hosting: Hosting, one: Project) -> Json:
    """Return a project in the old form that merge request and note hooks still have."""
    shape = project(hosting, one)
    return {name: shape[name] for name in ("name", "url", "description", "homepage")}


def pushed_repository(hosting: Hosting, one: Project) -> Json:
    """Return a project in the old form that push hooks still have."""
    shape = project(hosting, one)
    return repository(hosting, one) | {
        name: shape[name] for name in ("git_http_url", "git_ssh_url", "visibility_level")
    }


def commit(hosting: Hosting, where: Project, one: Commit) -> Json:
    """Return a commit."""
    return {
        "id": one.sha,
        "message": one.message,
        "title": one.title,
        "timestamp": one.committer.date,
        "url": hosting.urls.page(where.repository, "commit", one.sha),
        "author": {"name": one.author.name, "email": NO_EMAIL},
    }


def pushed_commit(hosting: Hosting, where: Project, one: Commit, files: list[ChangedFile]) -> Json:
    """Return a commit with the names of the files that it changed; a renamed file is in added and removed."""
    names: dict[str, list[str]] = {"added": [], "modified": [], "removed": []}
    for file in files:
        if file.status == "renamed" and file.previous:
            names["removed"].append(file.previous)
        kind = {"added": "added", "copied": "added", "renamed": "added", "removed": "removed"}
        names[kind.get(file.status, "modified")].append(file.name)
    return {**commit(hosting, where, one), **names}
