"""git's own ``http-backend`` as a CGI program, on one bare repository."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.git import ENVIRONMENT

_PIECE = 65_536
SERVICES = ("git-upload-pack", "git-receive-pack")


def run(path: Path, request: Request, rest: str, login: str, extra: Mapping[str, str] | None = None) -> Response:
    """Let git answer a request on the bare repository in ``path``; ``rest`` is the address behind it.

    ``extra`` is added to the environment of git and its hooks.
    """
    process = subprocess.Popen(
        ["git", "http-backend"],
        cwd=path,
        env={**_environment(request, str(path), rest, login), **(extra or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    feeder = threading.Thread(target=_feed, args=(process.stdin, request.stream), daemon=True)
    feeder.start()
    output: Any = process.stdout
    status, headers = _head(output)
    return Response(_body(process, feeder, output), status, headers)


def _environment(request: Request, path: str, rest: str, login: str) -> dict[str, str]:
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
        "REMOTE_USER": login,
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
