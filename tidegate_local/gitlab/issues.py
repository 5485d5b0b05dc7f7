"""Issues: opened, changed, closed, deleted. Webhooks tell nothing of them here."""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate_local.gitlab import clock
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Issue, Project, User
from tidegate_local.gitlab.refusals import improper, invalid
from tidegate_local.gitlab.shapes import Json

LONGEST_TITLE = 255
#: Quick actions that do something here; GitLab takes the lines of all that it knows out of a text.
_QUICK_ACTION = re.compile(r"^\s*/(close|reopen|title|confidential|lock)\b.*\n?", re.MULTILINE)
_STATES = {"close": "closed", "reopen": "opened"}


def of(hosting: Hosting, project: Project) -> list[Issue]:
    """Return a project's issues, oldest first."""
    return hosting.store.find(Issue, project.repository)


def by_iid(hosting: Hosting, project: Project, iid: str) -> Issue | None:
    """Return an issue by its number in the project."""
    return hosting.store.first(Issue, project.repository, iid=int(iid)) if iid.isdecimal() else None


def open_one(hosting: Hosting, project: Project, who: User, title: str, text: str) -> Issue:
    """Open an issue. Raise Refusal (400)."""
    _check_title(title)
    with hosting.writing(project):
        newest = max((one.iid for one in of(hosting, project)), default=0)
        time, words = clock.now(), _QUICK_ACTION.sub("", text)
        made = hosting.store.add(
            lambda fresh: Issue(fresh, project.repository, newest + 1, who.username, title, words, time, time)
        )
    return _acted(hosting, made, who, text)


def edit(hosting: Hosting, one: Issue, who: User, given: Json) -> Issue:
    """Change title, description or (``state_event``) state. Raise Refusal (400)."""
    known = [name for name in ("title", "description", "state_event") if given.get(name) is not None]
    if not known:
        raise improper("title, description, state_event", "are missing, at least one parameter must be provided")
    event, title = given.get("state_event"), str(given.get("title", one.title))
    if event not in {None, *_STATES}:
        raise improper("state_event")
    _check_title(title)
    text = str(given.get("description", one.description))
    words, time = _QUICK_ACTION.sub("", text), clock.now()
    changed = hosting.store.change(
        Issue, one.id, lambda old: replace(old, title=title, description=words, updated_at=time)
    )
    if event is not None:
        changed = _moved(hosting, changed, who, _STATES[event])
    return _acted(hosting, changed, who, text)


def _check_title(title: str) -> None:
    if not title.strip():
        raise invalid("title", "can't be blank")
    if len(title) > LONGEST_TITLE:
        raise invalid("title", f"is too long (maximum is {LONGEST_TITLE} characters)")


def _moved(hosting: Hosting, one: Issue, who: User, state: str) -> Issue:
    """Open or close it; what is so already stays as it is."""
    if one.state == state:
        return one
    closed = (who.username, clock.now()) if state == "closed" else (None, None)
    by, at = closed
    return hosting.store.change(Issue, one.id, lambda old: replace(old, state=state, closed_by=by, closed_at=at))


def _acted(hosting: Hosting, one: Issue, who: User, text: str) -> Issue:
    """Carry out what quick actions in a text say of the state."""
    for found in _QUICK_ACTION.finditer(text):
        if found[1] in _STATES:
            one = _moved(hosting, one, who, _STATES[found[1]])
    return one
