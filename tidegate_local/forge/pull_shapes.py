"""Pull requests, and issues that they are, as GitHub's JSON has them."""

from __future__ import annotations

from tidegate_local.forge import comment_shapes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import Comment, PullRequest, Repository
from tidegate_local.forge.shapes import Json, node_id


def simple(hosting: Hosting, repository: Repository, pull: PullRequest) -> Json:
    """Return a pull request as lists have it."""
    return {
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "title": pull.title,
        "body": pull.body,
        "user": hosting.account_json(pull.user),
        "labels": [],
        "milestone": None,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "author_association": hosting.identities.association(pull.user, repository),
        "auto_merge": None,
        "draft": pull.draft,
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.closed_at,
        "merged_at": pull.merged_at,
        "merge_commit_sha": pull.merge_commit_sha,
        "head": _end(hosting, _head_repository(hosting, repository, pull), pull.head_ref, pull.head_sha),
        "base": _end(hosting, repository, pull.base_ref, pull.base_sha),
        **_addresses(hosting, pull),
    }


def full(hosting: Hosting, repository: Repository, pull: PullRequest, numbers: Json, merge: Json) -> Json:
    """Return a pull request as its own address answers; ``merge`` says whether and how it can be merged."""
    merged_by = hosting.account_json(pull.merged_by) if pull.merged_by else None
    comments = len(hosting.store.find(Comment, pull.repository, number=pull.number))
    return {
        **simple(hosting, repository, pull),
        **numbers,
        "merged": pull.merged_at is not None,
        **merge,
        "merged_by": merged_by,
        "comments": comments,
        "review_comments": 0,
        "maintainer_can_modify": False,
    }


def _head_repository(hosting: Hosting, repository: Repository, pull: PullRequest) -> Repository:
    found = hosting.repository(pull.fork) if pull.fork else None
    return found or repository


def _end(hosting: Hosting, repository: Repository, ref: str, sha: str) -> Json:
    owner = hosting.owner(repository)
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": hosting.account_json(owner.login),
        "repo": hosting.repository_json(repository),
    }


def _addresses(hosting: Hosting, pull: PullRequest) -> Json:
    urls, name = hosting.urls, pull.repository
    page, rest = urls.page(name, "pull", pull.number), urls.rest(name, "pulls", pull.number)
    issue = urls.rest(name, "issues", pull.number)
    addresses = {
        "url": rest,
        "html_url": page,
        "issue_url": issue,
        "comments_url": f"{issue}/comments",
        "review_comments_url": f"{rest}/comments",
        "review_comment_url": urls.rest(name, "pulls/comments{/number}"),
        "commits_url": f"{rest}/commits",
        "statuses_url": urls.rest(name, "statuses", pull.head_sha),
    }
    names = {"self": "url", "html": "html_url", "issue": "issue_url"} | {
        what: f"{what}_url" for what in ("comments", "review_comments", "review_comment", "commits", "statuses")
    }
    links = {what: {"href": addresses[field]} for what, field in names.items()}
    return {**addresses, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "_links": links}


def issue(hosting: Hosting, repository: Repository, pull: PullRequest) -> Json:
    """Return a pull request seen as an issue, as comment webhooks carry it."""
    urls, name = hosting.urls, repository.repository
    address = urls.rest(name, "issues", pull.number)
    page = urls.page(name, "pull", pull.number)
    return {
        "url": address,
        "repository_url": urls.rest(name),
        "labels_url": f"{address}/labels{{/name}}",
        "comments_url": f"{address}/comments",
        "events_url": f"{address}/events",
        "html_url": page,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "number": pull.number,
        "title": pull.title,
        "user": hosting.account_json(pull.user),
        "labels": [],
        "state": pull.state,
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(hosting.store.find(Comment, name, number=pull.number)),
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.closed_at,
        "author_association": hosting.identities.association(pull.user, repository),
        "active_lock_reason": None,
        "body": pull.body,
        "timeline_url": f"{address}/timeline",
        "performed_via_github_app": None,
        "state_reason": None,
        "draft": pull.draft,
        "reactions": comment_shapes.reactions(address, []),
        "pull_request": {
            "url": urls.rest(name, "pulls", pull.number),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": pull.merged_at,
        },
    }
