"""Git LFS: large files that lie beside a repository, by its batch API and the transfer ``basic``.

https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.refusals import Refusal

#: Below a repository's address for git; an object's own ends with its SHA-256.
OBJECTS = "info/lfs/objects/"
BATCH = f"{OBJECTS}batch"
_TYPE = "application/vnd.git-lfs+json"
_OID = re.compile("[0-9a-f]{64}")


def pointer(content: bytes) -> str:
    """Return what stands in a repository for a file with this content."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest(content)}\nsize {len(content)}\n"


def digest(content: bytes) -> str:
    """Return the name of a content."""
    return hashlib.sha256(content).hexdigest()


def is_writing(request: Request, rest: str) -> bool:
    """Tell whether a request stores a file, or asks where to. Raise Refusal."""
    return request.method == "PUT" or (rest == BATCH and _asked(request)["operation"] == "upload")


def answer(request: Request, repository: Path, rest: str) -> Response:
    """Answer a request about the large files of a repository from somebody who may make it. Raise Refusal."""
    if rest == BATCH:
        objects = [_action(request, repository, each) for each in _asked(request)["objects"]]
        return Response(json.dumps({"transfer": "basic", "objects": objects}), content_type=_TYPE)
    file = _file(repository, rest.removeprefix(OBJECTS))
    if request.method == "PUT":
        return _store(file, request.get_data())
    if not file.exists():
        raise Refusal(404, "Object does not exist")
    return Response(file.read_bytes(), content_type="application/octet-stream")


def _asked(request: Request) -> dict[str, Any]:
    try:
        asked = json.loads(request.get_data())
        return {"operation": str(asked["operation"]), "objects": [*asked["objects"]]}
    except (ValueError, KeyError, TypeError):
        raise Refusal(422, "Body should have operation and objects") from None


def _action(request: Request, repository: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Say of one object where it is, or where to put it; nothing of what is there already."""
    known, oid = {"oid": wanted["oid"], "size": wanted["size"]}, str(wanted["oid"])
    is_there, operation = _file(repository, oid).exists(), _asked(request)["operation"]
    if operation == "download" and not is_there:
        return {**known, "error": {"code": 404, "message": "Object does not exist"}}
    if operation == "upload" and is_there:
        return known
    header = {"Authorization": request.headers["Authorization"]}
    return {
        **known,
        "actions": {operation: {"href": f"{request.base_url.removesuffix('batch')}{oid}", "header": header}},
    }


def _store(file: Path, content: bytes) -> Response:
    if digest(content) != file.name:
        raise Refusal(422, "The content does not match the URL")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return Response()


def _file(repository: Path, oid: str) -> Path:
    if not _OID.fullmatch(oid):
        raise Refusal(404, "Not Found")
    return repository / "lfs" / oid
