"""Comments on pull requests, and reactions: created, edited, deleted, with webhooks to the App."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate_local.forge import clock, pulls, shapes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Comment, PullRequest, Reaction, Repository
from tidegate_local.forge.refusals import invalid
from tidegate_local.forge.shapes import Json

#: GitHub's limit for a comment's and a review's text.
MAXIMUM_BODY = 65_536
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
_RESOURCE = "IssueComment"


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes; ``by_app`` says that the App does it, for itself or for a person."""

    login: str
    by_app: bool = False


def text_of(body: Any, resource: str = _RESOURCE) -> str:
    """Return a text that can be a comment's. Raise Refusal (422)."""
    if not isinstance(body, str) or not body.strip():
        raise invalid(resource, "body", "missing_field", "Body can't be blank")
    if len(body) > MAXIMUM_BODY:
        raise invalid(resource, "body", "custom", f"Body is too long (maximum is {MAXIMUM_BODY} characters)")
    return body


def of(hosting: Hosting, pull: PullRequest) -> list[Comment]:
    """Return a pull request's comments, oldest first."""
    return hosting.store.find(Comment, pull.repository, number=pull.number)


def create(hosting: Hosting, repository: Repository, pull: PullRequest, author: Author, body: Any) -> Comment:
    """Comment on a pull request. Raise Refusal (422)."""
    text, time = text_of(body), clock.now()
    comment = hosting.store.add(
        lambda fresh: Comment(fresh, pull.repository, pull.number, author.login, text, time, time, by_app=author.by_app)
    )
    _tell(hosting, repository, comment, "created", author.login)
    return comment


def edit(hosting: Hosting, repository: Repository, comment: Comment, user: str, body: Any) -> Comment:
    """Change a comment's text. Raise Refusal (422)."""
    text = text_of(body)
    changed = hosting.store.change(Comment, comment.id, lambda old: replace(old, body=text, updated_at=clock.now()))
    _tell(hosting, repository, changed, "edited", user, changes={"body": {"from": comment.body}})
    return changed


def react(hosting: Hosting, comment: Comment, user: str, content: Any) -> tuple[Reaction, bool]:
    """React to a comment; return the reaction and whether it is new. Raise Refusal (422)."""
    if content not in REACTIONS:
        raise invalid("Reaction", "content", "invalid", f"content must be one of {', '.join(REACTIONS)}")
    wanted = {"comment": comment.id, "user": user, "content": content}
    found = hosting.store.first(Reaction, comment.repository, **wanted)
    if found is not None:
        return found, False
    return hosting.store.add(
        lambda fresh: Reaction(fresh, comment.repository, comment.id, user, content, clock.now())
    ), True


def _tell(
    hosting: Hosting, repository: Repository, comment: Comment, action: str, user: str, *, changes: Json | None = None
) -> None:
    pull = pulls.by_number(hosting, repository, comment.number)
    if pull is not None:
        shown = {"issue": shapes.issue(hosting, pull), "comment": shapes.comment(hosting, comment)}
        changed = {} if changes is None else {"changes": changes}
        hosting.tell("issue_comment", repository, user, {"action": action, **shown, **changed})
