"""git and Git LFS over HTTP: who may fetch and push, and what follows a push."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import git_backend, large_files, protections, pushes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.identity import Caller
from tidegate_local.forge.records import Repository
from tidegate_local.forge.refusals import Refusal


def answer(hosting: Hosting, request: Request, owner: str, name: str, rest: str) -> Response:
    """Answer one request of a git client. Raise Refusal."""
    large = rest.startswith(large_files.OBJECTS)
    if not large and rest not in {"info/refs", *git_backend.SERVICES}:
        raise Refusal(404, "Not Found")
    pushing = "git-receive-pack" in {rest, request.args.get("service")} or (
        large and large_files.is_writing(request, rest)
    )
    caller = _caller(hosting, request)
    repository = hosting.repository(f"{owner}/{name}")
    if repository is None and pushing and caller.kind == "person" and _may_create(caller, owner):
        repository = hosting.create_repository(owner, name)
    there = None if repository is None else hosting.identities.at(caller, repository)
    if repository is None or there is None:
        raise Refusal(404, "Repository not found.")
    caller = there
    if not caller.may("contents:write" if pushing else "contents:read"):
        raise Refusal(403, "Write access to repository not granted." if pushing else "Repository access not granted.")
    if large:
        return large_files.answer(request, hosting.git(repository).path, rest)
    if rest != "git-receive-pack":
        return git_backend.run(hosting.git(repository).path, request, rest, caller.login)
    with hosting.writing(repository):
        return _push(hosting, request, repository, caller)


def _caller(hosting: Hosting, request: Request) -> Caller:
    challenge = {"WWW-Authenticate": 'Basic realm="forge"'}
    try:
        caller = hosting.identities.caller(request)
    except Refusal as refusal:
        raise Refusal(401, refusal.message, headers=challenge) from None
    if caller is None or caller.kind == "app":
        raise Refusal(401, "Authentication required", headers=challenge)
    return caller


def _may_create(caller: Caller, owner: str) -> bool:
    return caller.may("contents:write") or caller.login == owner


def _push(hosting: Hosting, request: Request, repository: Repository, caller: Caller) -> Response:
    """Take a push completely, then tell about it, then answer."""
    git = hosting.git(repository)
    before = git.refs()
    told = protections.push_environment(hosting, repository)
    response = git_backend.run(git.path, request, "git-receive-pack", caller.login, told)
    response.set_data(response.get_data())
    pushes.changed(hosting, repository, before, git.refs(), caller.login)
    return response
