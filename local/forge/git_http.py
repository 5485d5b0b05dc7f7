"""git over HTTP, by git's own ``http-backend`` as a CGI program."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from typing import IO, Any

from werkzeug.wrappers import Request, Response

from local.forge import pushes
from local.forge.git import ENVIRONMENT
from local.forge.hosting import Hosting
from local.forge.identity import Caller
from local.forge.records import Repository
from local.forge.refusals import Refusal

_PIECE = 65_536
_SERVICES = ("git-upload-pack", "git-receive-pack")


def answer(hosting: Hosting, request: Request, owner: str, name: str, rest: str) -> Response:
    """Answer one request of a git client. Raise Refusal."""
    if rest not in {"info/refs", *_SERVICES}:
        raise Refusal(404, "Not Found")
    pushing = "git-receive-pack" in {rest, request.args.get("service")}
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
    if rest != "git-receive-pack":
        return _run(hosting, request, repository, rest, caller)
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
    response = _run(hosting, request, repository, "git-receive-pack", caller)
    response.set_data(response.get_data())
    pushes.changed(hosting, repository, before, git.refs(), caller.login)
    return response


def _run(hosting: Hosting, request: Request, repository: Repository, rest: str, caller: Caller) -> Response:
    git = hosting.git(repository)
    process = subprocess.Popen(
        ["git", "http-backend"],
        cwd=git.path,
        env=_environment(request, str(git.path), rest, caller),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    feeder = threading.Thread(target=_feed, args=(process.stdin, request.stream), daemon=True)
    feeder.start()
    output: Any = process.stdout
    status, headers = _head(output)
    return Response(_body(process, feeder, output), status, headers)


def _environment(request: Request, path: str, rest: str, caller: Caller) -> dict[str, str]:
    """Return CGI's variables; a body of unknown length is read to its end by http-backend."""
    given = {
        "CONTENT_TYPE": request.content_type,
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding"),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol"),
        "CONTENT_LENGTH": None if request.content_length is None else str(request.content_length),
    }
    return {
        **os.environ,
        **ENVIRONMENT,
        "GIT_PROJECT_ROOT": path,
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{rest}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.query_string.decode("ascii", "replace"),
        "REMOTE_USER": caller.login,
        "REMOTE_ADDR": request.remote_addr or "",
        **{name: value for name, value in given.items() if value},
    }


def _feed(pipe: IO[bytes], stream: IO[bytes]) -> None:
    try:
        with pipe:
            while piece := stream.read(_PIECE):
                pipe.write(piece)
    except (OSError, ValueError):
        return  # git ended before it read everything, or the client went away


def _head(output: IO[bytes]) -> tuple[int, list[tuple[str, str]]]:
    status, headers = 200, []
    while line := output.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers.append((name, value.strip()))
    return status, headers


def _body(process: subprocess.Popen[bytes], feeder: threading.Thread, output: IO[bytes]) -> Iterator[bytes]:
    try:
        while piece := output.read(_PIECE):
            yield piece
    finally:
        output.close()
        process.wait()
        feeder.join()
