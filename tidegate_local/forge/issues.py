"""Issues: opened, edited, closed. They send no webhooks, because the App does not subscribe to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate_local.forge import clock, pulls
from tidegate_local.forge.comments import MAXIMUM_BODY, Author
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Issue, Repository
from tidegate_local.forge.refusals import invalid
from tidegate_local.forge.shapes import Json

_RESOURCE = "Issue"
_LONGEST_TITLE = 256
_STATES = ("open", "closed")


def of(hosting: Hosting, repository: Repository) -> list[Issue]:
    """Return a repository's issues that are no pull requests, newest first."""
    return hosting.store.find(Issue, repository.repository)[::-1]


def by_number(hosting: Hosting, repository: Repository, number: int) -> Issue | None:
    """Return an issue by its number; None also if that is a pull request's."""
    return hosting.store.first(Issue, repository.repository, number=number)


def create(hosting: Hosting, repository: Repository, author: Author, request: Json) -> Issue:
    """Open an issue. Raise Refusal (422)."""
    title, body = _title(request.get("title")), _body(request.get("body"))
    number, time = pulls.next_number(hosting, repository), clock.now()
    return hosting.store.add(
        lambda fresh: Issue(
            fresh, repository.repository, number, title, body, author.login, time, time, by_app=author.by_app
        )
    )


def edit(hosting: Hosting, issue: Issue, request: Json) -> Issue:
    """Change title, text or state of an issue. Raise Refusal (422)."""
    changes: dict[str, Any] = {"updated_at": clock.now()}
    if "title" in request:
        changes["title"] = _title(request["title"])
    if "body" in request:
        changes["body"] = _body(request["body"])
    if "state" in request:
        if request["state"] not in _STATES:
            raise invalid(_RESOURCE, "state", "invalid")
        changes["state"] = request["state"]
        closed = issue.closed_at or clock.now()
        changes["closed_at"] = closed if request["state"] == "closed" else None
    return hosting.store.change(Issue, issue.id, lambda old: replace(old, **changes))


def _title(title: Any) -> str:
    if not isinstance(title, str) or not title.strip():
        raise invalid(_RESOURCE, "title", "missing_field", "Title can't be blank")
    if len(title) > _LONGEST_TITLE:
        raise invalid(_RESOURCE, "title", "custom", f"Title is too long (maximum is {_LONGEST_TITLE} characters)")
    return title


def _body(body: Any) -> str | None:
    if body is not None and not isinstance(body, str):
        raise invalid(_RESOURCE, "body", "invalid")
    if body is not None and len(body) > MAXIMUM_BODY:
        raise invalid(_RESOURCE, "body", "custom", f"Body is too long (maximum is {MAXIMUM_BODY} characters)")
    return body
