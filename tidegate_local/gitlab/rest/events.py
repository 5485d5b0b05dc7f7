"""What happened in a project: here, pushes only."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.records import PushEvent
from tidegate_local.gitlab.refusals import improper
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_NAMES = {"created": "pushed new", "pushed": "pushed to", "removed": "deleted"}
_ACTIONS = {"approved", "closed", "commented", "created", "merged", "pushed", "reopened", "updated"}


@ROUTES.add("GET", "/projects/:id/events", REPORTER)
def events(call: Call) -> Response:
    """List what happened, newest first unless ``sort`` is asc, limited by ``action``."""
    args = call.request.args
    if args.get("action", "pushed") not in _ACTIONS:
        raise improper("action")
    found = (
        call.hosting.store.find(PushEvent, call.project.repository) if args.get("action") in {None, "pushed"} else []
    )
    return page_of(call, found if args.get("sort") == "asc" else found[::-1], lambda one: _show(call, one))


def _show(call: Call, one: PushEvent) -> Json:
    author, who = shapes.named(call.hosting, one.user), call.hosting.identities.named(one.user)
    action = "created" if one.before is None else "removed" if one.after is None else "pushed"
    action = "pushed" if one.refs else action
    kind, _, name = (one.ref or "refs/heads/").removeprefix("refs/").partition("/")
    return {
        "id": one.id,
        "project_id": call.project.id,
        "action_name": _NAMES[action],
        **dict.fromkeys(("target_id", "target_iid", "target_type", "target_title")),
        "author_id": who.id,
        "created_at": one.created_at,
        "author": author,
        "imported": False,
        "imported_from": "none",
        "push_data": {
            "commit_count": one.commits,
            "action": action,
            "ref_type": {"heads": "branch", "tags": "tag"}[kind],
            "commit_from": one.before,
            "commit_to": one.after,
            "ref": name or None,
            "commit_title": _title(call, one),
            "ref_count": one.refs,
        },
        "author_username": one.user,
    }


def _title(call: Call, one: PushEvent) -> str | None:
    return None if one.after is None else call.hosting.git(call.project).commit(one.after).title
