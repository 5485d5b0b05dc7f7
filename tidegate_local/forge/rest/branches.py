"""Branches, their protection, and git refs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge import commit_shapes, protections, pushes
from tidegate_local.forge.refusals import Refusal, invalid
from tidegate_local.forge.routing import Call, Routes, answer

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"


@ROUTES.add("GET", f"{_IN}/branches/<path:branch>", "contents:read")
def branch(call: Call) -> Response:
    name, git, urls = call.path["branch"], call.hosting.git(call.repository), call.hosting.urls
    sha = git.branches().get(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    one, where = protections.of(call.hosting, call.repository, name), call.repository.repository
    address = urls.rest(where, "branches", name)
    return answer(
        {
            "name": name,
            "commit": commit_shapes.commit(urls, where, git.commit(sha), call.hosting.linked_account),
            "_links": {"self": address, "html": urls.page(where, "tree", name)},
            "protected": one is not None,
            "protection": protections.shape(call.hosting, one) if one else {"enabled": False},
            "protection_url": f"{address}/protection",
        }
    )


@ROUTES.add("GET", f"{_IN}/branches/<path:branch>/protection", "administration:read")
def protection(call: Call) -> Response:
    one = protections.of(call.hosting, call.repository, call.path["branch"])
    if one is None:
        raise Refusal(404, "Branch not protected")
    return answer(protections.shape(call.hosting, one))


@ROUTES.add("PUT", f"{_IN}/branches/<path:branch>/protection", "administration:admin")
def protect(call: Call) -> Response:
    name = call.path["branch"]
    if name not in call.hosting.git(call.repository).branches():
        raise Refusal(404, "Branch not found")
    return answer(
        protections.shape(call.hosting, protections.protect(call.hosting, call.repository, name, call.body()))
    )


@ROUTES.add("POST", f"{_IN}/git/refs", "contents:write")
def create_ref(call: Call) -> Response:
    body = call.body()
    ref, sha = body.get("ref"), _sha(body)
    if not isinstance(ref, str):
        raise invalid("Reference", "ref", "missing_field")
    pushes.create_ref(call.hosting, call.repository, ref, sha, call.caller.login)
    return _ref(call, ref, sha, 201)


@ROUTES.add("PATCH", f"{_IN}/git/refs/<path:ref>", "contents:write")
def move_ref(call: Call) -> Response:
    ref, body = f"refs/{call.path['ref']}", call.body()
    sha, force = _sha(body), body.get("force") is True
    pushes.move_ref(call.hosting, call.repository, ref, sha, call.caller.login, force=force)
    return _ref(call, ref, sha, 200)


@ROUTES.add("DELETE", f"{_IN}/git/refs/<path:ref>", "contents:write")
def delete_ref(call: Call) -> Response:
    pushes.delete_ref(call.hosting, call.repository, f"refs/{call.path['ref']}", call.caller.login)
    return Response(status=204)


def _sha(body: Mapping[str, Any]) -> str:
    sha = body.get("sha")
    if not isinstance(sha, str) or not re.fullmatch(r"[0-9a-f]{40}", sha):
        raise invalid("Reference", "sha", "invalid", "sha is a commit's SHA of 40 characters")
    return sha


def _ref(call: Call, ref: str, sha: str, status: int) -> Response:
    urls, where = call.hosting.urls, call.repository.repository
    return answer(
        {
            "ref": ref,
            "node_id": f"REF_{sha}",
            "url": urls.rest(where, "git", ref),
            "object": {"type": "commit", "sha": sha, "url": urls.rest(where, "git/commits", sha)},
        },
        status,
    )
