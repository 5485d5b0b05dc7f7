"""Issues as GitHub's JSON has them."""

from __future__ import annotations

from tidegate_local.forge import comment_shapes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Issue, Repository
from tidegate_local.forge.shapes import Json, node_id


def issue(hosting: Hosting, repository: Repository, one: Issue) -> Json:
    """Return an issue that is no pull request."""
    urls, name = hosting.urls, repository.repository
    address = urls.rest(name, "issues", one.number)
    return {
        "id": one.id,
        "node_id": node_id("Issue", one.id),
        "url": address,
        "repository_url": urls.rest(name),
        "labels_url": f"{address}/labels{{/name}}",
        "comments_url": f"{address}/comments",
        "events_url": f"{address}/events",
        "timeline_url": f"{address}/timeline",
        "html_url": urls.page(name, "issues", one.number),
        "number": one.number,
        "title": one.title,
        "body": one.body,
        "user": hosting.account_json(one.user),
        "state": one.state,
        "state_reason": "completed" if one.state == "closed" else None,
        "labels": [],
        "locked": False,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": 0,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "closed_at": one.closed_at,
        "closed_by": None,
        "author_association": hosting.identities.association(one.user, repository),
        "performed_via_github_app": hosting.app_json() if one.by_app else None,
        "reactions": comment_shapes.reactions(address, []),
    }
