"""git over HTTP: who may fetch and push, and what follows a push."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import git_backend
from tidegate_local.gitlab import protection, pushes
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.identity import Caller
from tidegate_local.gitlab.records import Project
from tidegate_local.gitlab.refusals import Refusal
from tidegate_local.gitlab.settings import DEVELOPER, GUEST, MAINTAINER, REPORTER

_READING = {"api", "read_repository", "write_repository"}
_WRITING = {"api", "write_repository"}
_NOT_FOUND = "The project you were looking for could not be found or you don't have permission to view it."


def answer(hosting: Hosting, request: Request, path: str, rest: str) -> Response:
    """Answer one request of a git client for the project with a full path. Raise Refusal."""
    pushing = "git-receive-pack" in {rest, request.args.get("service")}
    caller = hosting.identities.git_caller(request)
    project = hosting.project(path)
    if project is None and pushing and _may_create(hosting, caller, path):
        project = hosting.create_project(path)
    if project is None or not hosting.sees(caller.user, project):
        raise Refusal(404, _NOT_FOUND)
    _check(hosting, caller, project, pushing=pushing)
    git = hosting.git(project)
    if rest != "git-receive-pack":
        return git_backend.run(git.path, request, rest, caller.user.username)
    with hosting.writing(project):
        before = git.refs()
        ref = hosting.protected_ref(project)
        told = protection.environment(ref, may_push=ref is None or hosting.may_push(caller.user, project, ref))
        response = git_backend.run(git.path, request, rest, caller.user.username, told)
        response.set_data(response.get_data())
        pushes.changed(hosting, project, before, git.refs(), caller.user)
        return response


def _may_create(hosting: Hosting, caller: Caller, path: str) -> bool:
    """Tell whether a push may make a project: a maintainer's does in a group, anybody's in their own namespace."""
    namespace = path.rpartition("/")[0]
    level = hosting.identities.level(caller.user.username, namespace)
    return "/" in path and "write_repository" in caller.scopes and level >= MAINTAINER


def _check(hosting: Hosting, caller: Caller, project: Project, *, pushing: bool) -> None:
    level = hosting.identities.level(caller.user.username, project.repository)
    needed = DEVELOPER if pushing else REPORTER if project.visibility == "private" else 0
    if not {*caller.scopes} & (_WRITING if pushing else _READING):
        raise Refusal(403, "HTTP Basic: Access denied. The provided token has insufficient scope.")
    if level < needed and not (not pushing and level >= GUEST and project.visibility != "private"):
        what = "push code to this project." if pushing else "download code from this project."
        raise Refusal(403, f"You are not allowed to {what}")
