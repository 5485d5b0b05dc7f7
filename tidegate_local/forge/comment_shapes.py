"""Comments, reactions and reviews as GitHub's JSON has them."""

from __future__ import annotations

from collections import Counter

from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Comment, Reaction, Review
from tidegate_local.forge.shapes import Json, node_id

_KINDS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def reactions(address: str, found: list[Reaction]) -> Json:
    """Return how often people reacted, and how."""
    counts = Counter(one.content for one in found)
    return {
        "url": f"{address}/reactions",
        "total_count": counts.total(),
        **{kind: counts[kind] for kind in _KINDS},
    }


def reaction(hosting: Hosting, one: Reaction) -> Json:
    """Return one reaction."""
    return {
        "id": one.id,
        "node_id": node_id("Reaction", one.id),
        "user": hosting.account_json(one.user),
        "content": one.content,
        "created_at": one.created_at,
    }


def association(hosting: Hosting, user: str, repository: str) -> str:
    """Return how an author belongs to a repository, in GitHub's words."""
    found = hosting.repository(repository)
    return hosting.identities.association(user, found) if found else "NONE"


def comment(hosting: Hosting, one: Comment) -> Json:
    """Return a comment on a pull request."""
    urls, name = hosting.urls, one.repository
    address = urls.rest(name, "issues/comments", one.id)
    return {
        "id": one.id,
        "node_id": node_id("IssueComment", one.id),
        "url": address,
        "html_url": f"{urls.page(name, 'pull', one.number)}#issuecomment-{one.id}",
        "issue_url": urls.rest(name, "issues", one.number),
        "user": hosting.account_json(one.user),
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "author_association": association(hosting, one.user, name),
        "body": one.body,
        "reactions": reactions(address, hosting.store.find(Reaction, name, comment=one.id)),
        "performed_via_github_app": hosting.app_json() if one.by_app else None,
    }


def review(hosting: Hosting, one: Review) -> Json:
    """Return a review as the API answers it; webhooks write its state in small letters."""
    urls, name = hosting.urls, one.repository
    page = f"{urls.page(name, 'pull', one.number)}#pullrequestreview-{one.id}"
    pull = urls.rest(name, "pulls", one.number)
    return {
        "id": one.id,
        "node_id": node_id("PullRequestReview", one.id),
        "user": hosting.account_json(one.user),
        "body": one.body,
        "state": one.state,
        "html_url": page,
        "pull_request_url": pull,
        "author_association": association(hosting, one.user, name),
        "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
        "commit_id": one.sha,
        **({"submitted_at": one.submitted_at} if one.submitted_at else {}),
    }
