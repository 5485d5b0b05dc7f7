"""Reviews of pull requests: written, dismissed, with webhooks to the App, and their effect on merging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate_local.forge import clock, shapes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import PullRequest, Repository, Review
from tidegate_local.forge.refusals import Refusal, invalid

EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
_RESOURCE = "PullRequestReview"
_MAXIMUM_BODY = 65_536


def create(hosting: Hosting, repository: Repository, pull: PullRequest, user: str, body: Mapping[str, Any]) -> Review:
    """Review a pull request by ``event`` (APPROVE, REQUEST_CHANGES, COMMENT).

    Raise Refusal (422) for an unknown event, a text that is missing or too long, a verdict on one's own work.
    """
    event, text, sha = body.get("event"), body.get("body") or "", body.get("commit_id") or pull.head_sha
    if event not in EVENTS:
        raise invalid(_RESOURCE, "event", "invalid", f"event must be one of {', '.join(EVENTS)}")
    if not isinstance(text, str) or len(text) > _MAXIMUM_BODY:
        raise invalid(_RESOURCE, "body", "custom", f"Body is too long (maximum is {_MAXIMUM_BODY} characters)")
    if event in {"REQUEST_CHANGES", "COMMENT"} and not text.strip():
        raise invalid(_RESOURCE, "body", "missing_field", "Body can't be blank")
    if user == pull.user and event in {"APPROVE", "REQUEST_CHANGES"}:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise Refusal(422, "Unprocessable Entity", [f"Can not {verb} your own pull request"])
    state, time = EVENTS[event], clock.now()
    review = hosting.store.add(lambda fresh: Review(fresh, pull.repository, pull.number, user, state, text, sha, time))
    _tell(hosting, repository, pull, review, user)
    return review


def dismiss(hosting: Hosting, repository: Repository, pull: PullRequest, review: Review, user: str) -> Review:
    """Let a verdict count no more. Raise Refusal (422) for a review without one."""
    if review.state not in {"APPROVED", "CHANGES_REQUESTED"}:
        raise Refusal(
            422, "Unprocessable Entity", ["Can not dismiss a review that neither approves nor requests changes"]
        )
    dismissed = hosting.store.change(Review, review.id, lambda old: replace(old, state="DISMISSED"))
    _tell(hosting, repository, pull, dismissed, user)
    return dismissed


def of(hosting: Hosting, pull: PullRequest) -> list[Review]:
    """Return a pull request's reviews, oldest first."""
    return hosting.store.find(Review, pull.repository, number=pull.number)


def verdicts(hosting: Hosting, repository: Repository, pull: PullRequest) -> dict[str, str]:
    """Return the last verdict (APPROVED or CHANGES_REQUESTED) of each reviewer who may write."""
    newest = {one.user: one.state for one in of(hosting, pull) if one.state != "COMMENTED"}
    may_write = {user for user in newest if hosting.identities.permission(user, repository) in {"write", "admin"}}
    return {user: state for user, state in newest.items() if user in may_write and state != "DISMISSED"}


def _tell(hosting: Hosting, repository: Repository, pull: PullRequest, review: Review, user: str) -> None:
    action = "dismissed" if review.state == "DISMISSED" else "submitted"
    shape = {**shapes.review(hosting, review), "state": review.state.lower(), "body": review.body or None}
    payload = {"action": action, "review": shape, "pull_request": shapes.pull(hosting, pull)}
    hosting.tell("pull_request_review", repository, user, payload)
