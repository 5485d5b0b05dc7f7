"""Notes below merge requests, and emoji awarded to them."""

from __future__ import annotations

from dataclasses import replace

from tidegate_local.gitlab import clock, shapes, webhooks
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Award, MergeRequest, Note, Project, User
from tidegate_local.gitlab.refusals import message

MAXIMUM_BODY = 1_000_000
#: The emoji that can be awarded here: some of GitLab's.
EMOJI = frozenset({"confused", "eyes", "heart", "laughing", "rocket", "tada", "thumbsdown", "thumbsup", "x"})
_ALIASES = {"+1": "thumbsup", "-1": "thumbsdown"}


def of(hosting: Hosting, one: MergeRequest) -> list[Note]:
    """Return the notes below a merge request, oldest first, what GitLab itself wrote included."""
    return hosting.store.find(Note, one.repository, iid=one.iid)


def system(hosting: Hosting, one: MergeRequest, who: User, text: str) -> None:
    """Let GitLab write below a merge request what somebody did; no webhook tells it."""
    _add(hosting, one, who, text, system=True)


def _add(hosting: Hosting, one: MergeRequest, who: User, text: str, *, system: bool = False) -> Note:
    time = clock.now()
    return hosting.store.add(
        lambda fresh: Note(fresh, one.repository, one.iid, who.username, text, time, time, system=system)
    )


def create(hosting: Hosting, project: Project, one: MergeRequest, who: User, text: str) -> Note:
    """Write below a merge request. Raise Refusal (400) for a text that is empty or too long."""
    _check(text)
    note = _add(hosting, one, who, text)
    _tell(hosting, project, one, note, who=who, action="create")
    return note


def edit(hosting: Hosting, project: Project, one: MergeRequest, note: Note, *, who: User, text: str) -> Note:
    """Change a note's text. Raise Refusal (400)."""
    _check(text)
    time = clock.now()
    changed = hosting.store.change(Note, note.id, lambda old: replace(old, body=text, updated_at=time))
    _tell(hosting, project, one, changed, who=who, action="update")
    return changed


def delete(hosting: Hosting, note: Note) -> None:
    """Delete a note and what was awarded to it; no webhook tells it."""
    for award in awards(hosting, note):
        hosting.store.remove(Award, award.id)
    hosting.store.remove(Note, note.id)


def _check(text: str) -> None:
    why = "can't be blank" if not text.strip() else "is too long (maximum is 1000000 characters)"
    if not text.strip() or len(text) > MAXIMUM_BODY:
        raise message(400, f'400 Bad request - Note {{:note=>["{why}"]}}')


def awards(hosting: Hosting, note: Note) -> list[Award]:
    """Return what was awarded to a note."""
    return hosting.store.find(Award, note.repository, note=note.id)


def award(hosting: Hosting, note: Note, who: User, name: str) -> Award:
    """Award an emoji to a note. Raise Refusal (404, as GitLab does) for unknown ones and for a second time."""
    name = _ALIASES.get(name, name)
    if name not in EMOJI:
        raise message(404, "404 Award Emoji Name is not a valid emoji name Not Found")
    fresh: list[int] = []

    def make(number: int) -> Award:
        fresh.append(number)
        return Award(number, note.repository, note.id, who.username, name, clock.now())

    same = {"note": note.id, "user": who.username, "name": name}
    found = hosting.store.first_or_add(Award, make, note.repository, **same)
    if not fresh:
        raise message(404, "404 Award Emoji Name has already been taken Not Found")
    return found


def _tell(hosting: Hosting, project: Project, one: MergeRequest, note: Note, *, who: User, action: str) -> None:
    parts = {
        "object_kind": "note",
        "project_id": project.id,
        "object_attributes": {**shapes.hook_note(hosting, project, one, note), "action": action},
        "merge_request": shapes.hook_merge_request(hosting, project, one),
    }
    webhooks.tell_of(hosting, project, "Note Hook", who, parts)
