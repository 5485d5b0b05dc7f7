"""Accounts, repositories and the App as GitHub's JSON has them."""

from __future__ import annotations

import base64
from typing import Any

from tidegate_local.forge.records import Account, Repository
from tidegate_local.forge.settings import APP_EVENTS, Settings
from tidegate_local.forge.urls import Urls

Json = dict[str, Any]

#: When the App and everybody came here.
SINCE = "2020-01-01T00:00:00Z"
#: REST addresses of a repository: the path's first part is the name, unless it is given.
_REPOSITORY_URLS = {
    "archive": "{archive_format}{/ref}",
    "assignees": "assignees{/user}",
    "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}",
    "collaborators": "collaborators{/collaborator}",
    "comments": "comments{/number}",
    "commits": "commits{/sha}",
    "compare": "compare/{base}...{head}",
    "contents": "contents/{+path}",
    "git_commits": "git/commits{/sha}",
    "git_refs": "git/refs{/sha}",
    "git_tags": "git/tags{/sha}",
    "issue_comment": "issues/comments{/number}",
    "issue_events": "issues/events{/number}",
    "issues": "issues{/number}",
    "keys": "keys{/key_id}",
    "labels": "labels{/name}",
    "milestones": "milestones{/number}",
    "notifications": "notifications{?since,all,participating}",
    "pulls": "pulls{/number}",
    "releases": "releases{/id}",
    "statuses": "statuses/{sha}",
    "trees": "git/trees{/sha}",
} | {
    name: name
    for name in [
        "contributors",
        "deployments",
        "downloads",
        "events",
        "forks",
        "hooks",
        "languages",
        "merges",
        "stargazers",
        "subscribers",
        "subscription",
        "tags",
        "teams",
    ]
}
_USER_URLS = {
    "followers": "",
    "following": "{/other_user}",
    "gists": "{/gist_id}",
    "starred": "{/owner}{/repo}",
    "subscriptions": "",
    "organizations": "",
    "repos": "",
    "events": "{/privacy}",
    "received_events": "",
}


def node_id(kind: str, number: int) -> str:
    """Return a GraphQL id in GitHub's old form."""
    text = f"{len(kind):03}:{kind}{number}"
    return base64.b64encode(text.encode()).decode()


def account(urls: Urls, who: Account) -> Json:
    """Return a simple user."""
    short = {"organizations": "orgs"}
    addresses = {
        f"{name}_url": urls.user(who.login, short.get(name, name)) + template for name, template in _USER_URLS.items()
    }
    return {
        "login": who.login,
        "id": who.id,
        "node_id": node_id("User", who.id),
        "gravatar_id": "",
        "avatar_url": f"{urls.home}/_local/avatars/{who.login}.svg",
        "url": urls.user(who.login),
        "html_url": f"{urls.home}/{who.login}",
        **addresses,
        "type": who.type,
        "site_admin": False,
    }


def minimal_repository(urls: Urls, repository: Repository, owner: Account) -> Json:
    """Return a minimal repository: what lists and commits carry."""
    name = repository.repository
    return {
        "id": repository.id,
        "node_id": node_id("Repository", repository.id),
        "name": repository.name,
        "full_name": name,
        "owner": account(urls, owner),
        "private": repository.private,
        "html_url": urls.page(name),
        "description": repository.description or None,
        "fork": repository.fork_of is not None,
        "url": urls.rest(name),
        **{f"{what}_url": f"{urls.rest(name)}/{path}" for what, path in _REPOSITORY_URLS.items()},
    }


def repository(urls: Urls, one: Repository, owner: Account) -> Json:
    """Return a repository with all that GitHub shows of it to a caller with access."""
    numbers = (
        "forks",
        "forks_count",
        "open_issues",
        "open_issues_count",
        "size",
        "stargazers_count",
        "watchers",
        "watchers_count",
    )
    yes = (
        "has_issues",
        "has_projects",
        "has_downloads",
        "allow_squash_merge",
        "allow_merge_commit",
        "allow_rebase_merge",
    )
    no = (
        "has_wiki",
        "has_pages",
        "has_discussions",
        "archived",
        "disabled",
        "is_template",
        "allow_forking",
        "web_commit_signoff_required",
        "allow_auto_merge",
        "delete_branch_on_merge",
    )
    return {
        **minimal_repository(urls, one, owner),
        "clone_url": urls.clone(one.repository),
        "git_url": f"git:{urls.clone(one.repository).partition(':')[2]}",
        "svn_url": urls.page(one.repository),
        "ssh_url": urls.clone(one.repository),
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": one.default_branch,
        "topics": [],
        "custom_properties": {},
        "visibility": "private" if one.private else "public",
        "created_at": one.created_at,
        "updated_at": one.pushed_at,
        "pushed_at": one.pushed_at,
        **dict.fromkeys(numbers, 0),
        **dict.fromkeys(yes, True),
        **dict.fromkeys(no, False),
    }


#: GitHub's roles from the weakest on, and how many of them each permission holds.
ROLES = ("pull", "triage", "push", "maintain", "admin")
_HELD = {"read": 1, "write": 3, "admin": 5}


def rights(permission: str) -> Json:
    """Return a permission (admin, write, read, none) as the roles that it holds."""
    return {role: place < _HELD.get(permission, 0) for place, role in enumerate(ROLES)}


def full_repository(urls: Urls, one: Repository, owner: Account, permission: str) -> Json:
    """Return a repository as its own address answers somebody with a permission."""
    return {
        **repository(urls, one, owner),
        "network_count": 0,
        "subscribers_count": 0,
        "permissions": rights(permission),
    }


def app(urls: Urls, settings: Settings, owner: Account) -> Json:
    """Return the App."""
    return {
        "id": settings.app_id,
        "slug": settings.app_slug,
        "node_id": node_id("App", settings.app_id),
        "client_id": settings.client_id,
        "owner": account(urls, owner),
        "name": settings.app_name,
        "description": "GitOps for Terraform and OpenTofu",
        "external_url": urls.home,
        "html_url": f"{urls.home}/apps/{settings.app_slug}",
        "created_at": SINCE,
        "updated_at": SINCE,
        "permissions": dict(settings.permissions),
        "events": list(APP_EVENTS),
    }


def installation(urls: Urls, settings: Settings, owner: Account) -> Json:
    """Return the App's installation on an account; its id is the account's."""
    return {
        "id": owner.id,
        "client_id": settings.client_id,
        "account": account(urls, owner),
        "repository_selection": "all",
        "access_tokens_url": f"{urls.api}/app/installations/{owner.id}/access_tokens",
        "repositories_url": f"{urls.api}/installation/repositories",
        "html_url": f"{urls.home}/settings/installations/{owner.id}",
        "app_id": settings.app_id,
        "app_slug": settings.app_slug,
        "target_id": owner.id,
        "target_type": owner.type,
        "permissions": dict(settings.permissions),
        "events": list(APP_EVENTS),
        "created_at": SINCE,
        "updated_at": SINCE,
        "single_file_name": None,
        "suspended_by": None,
        "suspended_at": None,
    }
