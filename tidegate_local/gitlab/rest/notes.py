"""Notes below merge requests, and emoji awarded to them."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import notes, shapes
from tidegate_local.gitlab.records import Award, MergeRequest, Note
from tidegate_local.gitlab.refusals import forbidden, improper, not_found
from tidegate_local.gitlab.rest.merge_requests import merge_request_of
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import GUEST, MAINTAINER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_IN = "/projects/:id/merge_requests/:iid/notes"


def _show(call: Call, one: MergeRequest, note: Note) -> Json:
    nothing = dict.fromkeys(("type", "attachment"))
    return {
        "id": note.id,
        **nothing,
        "body": note.body,
        "author": shapes.named(call.hosting, note.author),
        "created_at": note.created_at,
        "updated_at": note.updated_at,
        "system": note.system,
        "noteable_id": one.id,
        "noteable_type": "MergeRequest",
        "project_id": call.project.id,
        "resolvable": False,
        "confidential": False,
        "internal": False,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": one.iid,
        "commands_changes": {},
    }


def _note(call: Call, one: MergeRequest) -> Note:
    for note in notes.of(call.hosting, one):
        if str(note.id) == call.path["note"]:
            return note
    raise not_found()


@ROUTES.add("GET", _IN, GUEST)
def list_notes(call: Call) -> Response:
    """List notes, newest first unless ``sort`` is asc; GitLab's own are among them."""
    one, by = merge_request_of(call), call.request.args.get("order_by", "created_at")
    if by not in {"created_at", "updated_at"}:
        raise improper("order_by")
    found = sorted(notes.of(call.hosting, one), key=lambda note: (getattr(note, by), note.id))
    if call.request.args.get("sort", "desc") == "desc":
        found.reverse()
    return page_of(call, found, lambda note: _show(call, one, note))


@ROUTES.add("POST", _IN, GUEST)
def create(call: Call) -> Response:
    one, text = merge_request_of(call), str(call.needed("body")["body"])
    return answer(_show(call, one, notes.create(call.hosting, call.project, one, call.user, text)), 201)


@ROUTES.add("GET", f"{_IN}/:note", GUEST)
def note_of(call: Call) -> Response:
    one = merge_request_of(call)
    return answer(_show(call, one, _note(call, one)))


def _own(call: Call, one: MergeRequest) -> Note:
    note = _note(call, one)
    if note.system or (note.author != call.user.username and call.level < MAINTAINER):
        raise forbidden()
    return note


@ROUTES.add("PUT", f"{_IN}/:note", GUEST)
def edit(call: Call) -> Response:
    """Change the text of one's own note; maintainers change those of others too."""
    one, text = merge_request_of(call), str(call.needed("body")["body"])
    if not text.strip():
        raise improper("body", "is empty")
    changed = notes.edit(call.hosting, call.project, one, _own(call, one), who=call.user, text=text)
    return answer(_show(call, one, changed))


@ROUTES.add("DELETE", f"{_IN}/:note", GUEST)
def delete(call: Call) -> Response:
    notes.delete(call.hosting, _own(call, merge_request_of(call)))
    return Response(status=204)


def _award(call: Call, one: Award) -> Json:
    return {
        "id": one.id,
        "name": one.name,
        "user": shapes.named(call.hosting, one.user),
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "awardable_id": one.note,
        "awardable_type": "Note",
        "url": None,
    }


@ROUTES.add("GET", f"{_IN}/:note/award_emoji", GUEST)
def awards(call: Call) -> Response:
    note = _note(call, merge_request_of(call))
    return page_of(call, notes.awards(call.hosting, note), lambda one: _award(call, one))


@ROUTES.add("POST", f"{_IN}/:note/award_emoji", GUEST)
def award(call: Call) -> Response:
    """Award an emoji (``name``); a second time is refused as not found, as GitLab does."""
    note, name = _note(call, merge_request_of(call)), str(call.needed("name")["name"])
    return answer(_award(call, notes.award(call.hosting, note, call.user, name)), 201)
