"""Git LFS files: fetched from the VCS provider by LFS' batch API.

The program ``git lfs`` is not used: it reads settings of the commit, such as the server (docs/decisions/0203).
https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from runner.faults import CommitRefused, RunnerFault
from runner.workspace import Git
from tidegate.vcs.git.environment import authorization, refusal

#: A pointer is smaller, by LFS' own rule.
_POINTER_BYTES = 1024
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?"
)
_TYPE = "application/vnd.git-lfs+json"
#: Objects of one request, as ``git lfs`` uses, and bytes of all files: the runner's disk has 20 GiB.
_AT_ONCE, _MOST_BYTES = 100, 2 * 1024**3
_SECONDS = 60.0
_CHUNK = 1 << 20
_FORBIDDEN = 403
#: Statuses of a VCS provider without Git LFS, or without it for this repository.
_MISSING = frozenset({404, 405, 410, 422, 501})
_AGAIN = "Request the plan again. If that fails too, ask an operator to check that runners can reach the VCS provider."


@dataclass(frozen=True, slots=True)
class _Pointer:
    """An LFS pointer file, with its object's SHA-256 and size."""

    file: Path
    oid: str
    size: int


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would pass the token on."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


def fetch_large_files(git: Git, token: str) -> int:
    """Replace LFS pointers in the working copy by their files; return how many.

    Raise CommitRefused if the author must fix it, and RunnerFault.
    """
    pointers = list(_pointers(git))
    if sum(each.size for each in pointers) > _MOST_BYTES:
        raise CommitRefused(f"The files in Git LFS exceed {_MOST_BYTES >> 30} GiB. Keep fewer in this commit.")
    for start in range(0, len(pointers), _AT_ONCE):
        some = pointers[start : start + _AT_ONCE]
        downloads = _downloads(git.clone_url, token, some)
        for pointer in some:
            _fetch(pointer, downloads.get(pointer.oid), git.directory)
    return len(pointers)


def _pointers(git: Git) -> Iterator[_Pointer]:
    for name in git.ask("ls-files", "-z")[1].split(b"\0"):
        file = git.directory / os.fsdecode(name)
        if name and not file.is_symlink() and file.is_file() and file.stat().st_size < _POINTER_BYTES:
            found = _POINTER.fullmatch(file.read_bytes())
            if found:
                yield _Pointer(file, found[1].decode("ascii"), int(found[2]))


def _downloads(clone_url: str, token: str, pointers: Sequence[_Pointer]) -> Mapping[str, Any]:
    """Return the downloads by SHA-256; objects that the VCS provider lacks are missing."""
    objects = [{"oid": oid, "size": size} for oid, size in {each.oid: each.size for each in pointers}.items()]
    asked = {"operation": "download", "transfers": ["basic"], "hash_algo": "sha256", "objects": objects}
    headers = {"Accept": _TYPE, "Content-Type": _TYPE} | ({"Authorization": authorization(token)} if token else {})
    url = f"{clone_url.removesuffix('.git')}.git/info/lfs/objects/batch"
    try:
        with _OPENER.open(_request(url, headers, json.dumps(asked).encode()), timeout=_SECONDS) as response:
            answer = json.load(response)
        found = {each["oid"]: each.get("actions", {}).get("download") for each in answer["objects"]}
    except (URLError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, HTTPError) and (refused := _refusal(error.code)):
            raise CommitRefused(f"{refused}, or remove clone.lfs from the default branch's tidegate.yaml.") from error
        raise RunnerFault(
            f"The VCS provider did not return the locations of files in Git LFS ({_why(error)}). {_AGAIN}"
        ) from error
    return {oid: action for oid, action in found.items() if action}


def _refusal(status: int) -> str | None:
    """Return the refusal in an answer, if a retry would not change it."""
    if status == _FORBIDDEN:  # GitHub's answer for an exhausted quota, GitLab's for missing rights.
        return (
            f"The VCS provider refuses Git LFS for this repository (HTTP {status}): the quota is used up, or Tidegate "
            "may not read these files. Check both there"
        )
    if status in _MISSING:
        return f"Git LFS is not enabled for this repository (HTTP {status}). Enable it at the VCS provider"
    return None


def _fetch(pointer: _Pointer, action: Any, top: Path) -> None:
    name = pointer.file.relative_to(top).as_posix()
    if action is None:
        raise CommitRefused(
            f"{name!a}, which this commit contains, is missing in Git LFS. Push it: git lfs push --all origin."
        )
    written, digest, size = top.with_name("large-file"), hashlib.sha256(), 0
    try:
        with (
            _OPENER.open(_request(action["href"], action.get("header") or {}), timeout=_SECONDS) as response,
            written.open("wb") as file,
        ):
            while size <= pointer.size and (chunk := response.read(_CHUNK)):
                digest.update(chunk)
                size += file.write(chunk)
    except (URLError, OSError, ValueError, KeyError, TypeError) as error:
        raise RunnerFault(f"Fetching {name!a} from Git LFS failed ({_why(error)}). {_AGAIN}") from error
    if (size, digest.hexdigest()) != (pointer.size, pointer.oid):
        raise RunnerFault(f"The content of {name!a} in Git LFS differs from what this commit names.")
    written.chmod(pointer.file.stat().st_mode)
    written.replace(pointer.file)


def _request(url: str, headers: Mapping[str, str], body: bytes | None = None) -> Request:
    if refused := refusal(url):
        raise URLError(refused)
    return Request(url, body, dict(headers))  # noqa: S310  # The scheme is HTTPS, as was just asked.


def _why(error: Exception) -> str:
    """Return what happened, for people."""
    if isinstance(error, HTTPError):
        return f"HTTP {error.code}"
    return f"{getattr(error, 'reason', error)}" if isinstance(error, OSError) else "invalid response"
