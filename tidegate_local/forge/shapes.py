"""GitHub's JSON of accounts, repositories, commits, checks and pull requests: the fields that somebody reads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tidegate_local.forge.git import ChangedFile, Commit, Comparison, Signature
from tidegate_local.forge.records import (
    Account,
    CheckRun,
    CheckSuite,
    Comment,
    CommitStatus,
    Issue,
    Protection,
    PullRequest,
    Reaction,
    Repository,
    Review,
)
from tidegate_local.forge.settings import APP_EVENTS

if TYPE_CHECKING:
    from tidegate_local.forge.hosting import Hosting

Json = dict[str, Any]


def account(hosting: Hosting, who: Account) -> Json:
    """Return a user, an organization or a bot."""
    home = hosting.urls.home
    return {
        "login": who.login,
        "id": who.id,
        "avatar_url": f"{home}/_local/avatars/{who.login}.svg",
        "url": hosting.urls.user(who.login),
        "html_url": f"{home}/{who.login}",
        "type": who.type,
    }


def repository(hosting: Hosting, one: Repository) -> Json:
    """Return a repository."""
    urls, name = hosting.urls, one.repository
    return {
        "id": one.id,
        "name": one.name,
        "full_name": name,
        "owner": account(hosting, hosting.owner(one)),
        "private": one.private,
        "fork": one.fork_of is not None,
        "html_url": urls.page(name),
        "url": urls.rest(name),
        "clone_url": urls.clone(name),
        "default_branch": one.default_branch,
        "archived": False,
        "created_at": one.created_at,
        "updated_at": one.pushed_at,
        "pushed_at": one.pushed_at,
    }


#: GitHub's roles from the weakest on, and how many of them each permission holds.
ROLES = ("pull", "triage", "push", "maintain", "admin")
_HELD = {"read": 1, "write": 3, "admin": 5}


def rights(permission: str) -> Json:
    """Return a permission (admin, write, read, none) as the roles that it holds."""
    return {role: place < _HELD.get(permission, 0) for place, role in enumerate(ROLES)}


def full_repository(hosting: Hosting, one: Repository, permission: str) -> Json:
    """Return a repository as its own address answers somebody with a permission."""
    parent = hosting.repository(one.fork_of) if one.fork_of else None
    above = {} if parent is None else {"parent": repository(hosting, parent)}
    return {**repository(hosting, one), "permissions": rights(permission), **above}


def app(hosting: Hosting, slug: str | None = None) -> Json:
    """Return the App, or another one."""
    settings = hosting.settings
    for other in settings.other_apps:
        if other.slug == slug:
            return {
                "id": other.id,
                "slug": other.slug,
                "owner": hosting.account_json(other.slug),
                "name": other.name,
                "html_url": f"{hosting.urls.home}/apps/{other.slug}",
                "permissions": dict(other.permissions),
                "events": [],
            }
    asked = hosting.manifests.asked()
    return {
        "id": settings.app_id,
        "slug": settings.app_slug,
        "client_id": settings.client_id,
        "owner": hosting.account_json("tidegate"),
        "name": asked.get("name", settings.app_name),
        "html_url": f"{hosting.urls.home}/apps/{settings.app_slug}",
        "permissions": dict(asked.get("default_permissions", settings.permissions)),
        "events": list(asked.get("default_events", APP_EVENTS)),
    }


def installation(hosting: Hosting, owner: Account) -> Json:
    """Return the App's installation on an account; its id is the account's."""
    return {
        "id": owner.id,
        "account": account(hosting, owner),
        "app_id": hosting.settings.app_id,
        "app_slug": hosting.settings.app_slug,
        "target_type": owner.type,
        "permissions": dict(hosting.settings.permissions),
        "events": list(APP_EVENTS),
    }


def commit(hosting: Hosting, name: str, one: Commit) -> Json:
    """Return a commit of the repository ``name`` as lists and comparisons have it."""
    urls = hosting.urls
    return {
        "url": urls.rest(name, "commits", one.sha),
        "sha": one.sha,
        "html_url": urls.page(name, "commit", one.sha),
        "commit": {
            "author": _signature(one.author),
            "committer": _signature(one.committer),
            "message": one.message,
            "tree": {"sha": one.tree, "url": urls.rest(name, "git", "trees", one.tree)},
            "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None},
        },
        "author": hosting.linked_account(one.author.email),
        "committer": hosting.linked_account(one.committer.email),
        "parents": [{"sha": sha, "url": urls.rest(name, "commits", sha)} for sha in one.parents],
    }


def _signature(who: Signature) -> Json:
    return {"name": who.name, "email": who.email, "date": who.date}


def simple_commit(one: Commit) -> Json:
    """Return a commit as check suites carry it."""
    return {
        "id": one.sha,
        "tree_id": one.tree,
        "message": one.message,
        "timestamp": one.committer.date,
        "author": {"name": one.author.name, "email": one.author.email},
        "committer": {"name": one.committer.name, "email": one.committer.email},
    }


def pushed_commit(hosting: Hosting, name: str, one: Commit, files: list[ChangedFile]) -> Json:
    """Return a commit as push webhooks carry it, with the logins of who made it where they are known."""
    simple = simple_commit(one)
    for role, who in (("author", one.author), ("committer", one.committer)):
        if linked := hosting.linked_account(who.email):
            simple[role] = {**simple[role], "username": linked["login"]}
    return {**simple, "distinct": True, "url": hosting.urls.page(name, "commit", one.sha), **names_of(files)}


def names_of(files: list[ChangedFile]) -> dict[str, list[str]]:
    """Return the names that a commit added, removed and modified; a renamed file is in added and removed."""
    kinds = {"added": "added", "copied": "added", "renamed": "added", "removed": "removed"}
    names: dict[str, list[str]] = {"added": [], "removed": [], "modified": []}
    for file in files:
        if file.status == "renamed" and file.previous:
            names["removed"].append(file.previous)
        names[kinds.get(file.status, "modified")].append(file.name)
    return names


def comparison(hosting: Hosting, name: str, which: Comparison, ends: tuple[Commit, Commit], new: list[Commit]) -> Json:
    """Return a comparison; ``ends`` are base and merge base, ``new`` the commits of a page."""
    return {
        "url": hosting.urls.rest(name, "compare", f"{which.base}...{which.head}"),
        "html_url": hosting.urls.page(name, "compare", f"{which.base}...{which.head}"),
        "base_commit": commit(hosting, name, ends[0]),
        "merge_base_commit": commit(hosting, name, ends[1]),
        "status": which.status,
        "ahead_by": which.ahead_by,
        "behind_by": which.behind_by,
        "total_commits": which.ahead_by,
        "commits": [commit(hosting, name, one) for one in new],
    }


def pull_in_check(hosting: Hosting, one: Repository, pull: PullRequest) -> Json:
    """Return the few fields of a pull request that checks carry."""
    repo = {"id": one.id, "url": hosting.urls.rest(one.repository), "name": one.name}
    return {
        "id": pull.id,
        "number": pull.number,
        "url": hosting.urls.rest(pull.repository, "pulls", pull.number),
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": repo},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": repo},
    }


def check_run(hosting: Hosting, run: CheckRun, pulls: list[Json]) -> Json:
    """Return a check run."""
    page = hosting.urls.page(run.repository, "runs", run.id)
    return {
        "id": run.id,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": hosting.urls.rest(run.repository, "check-runs", run.id),
        "html_url": page,
        "details_url": run.details_url or page,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
        },
        "name": run.name,
        "check_suite": {"id": run.suite},
        "app": app(hosting, run.app),
        "pull_requests": pulls,
    }


def check_suite(hosting: Hosting, suite: CheckSuite, runs: list[CheckRun], pulls: list[Json]) -> Json:
    """Return a suite as webhooks carry it; ``runs`` are its newest ones, from which its status follows."""
    status, conclusion = _suite_status(runs)
    return {
        "id": suite.id,
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": status,
        "conclusion": conclusion,
        "url": hosting.urls.rest(suite.repository, "check-suites", suite.id),
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": pulls,
        "app": app(hosting, suite.app),
        "created_at": suite.created_at,
        "updated_at": suite.created_at,
    }


def _suite_status(runs: list[CheckRun]) -> tuple[str, str | None]:
    if any(run.status != "completed" for run in runs) or not runs:
        return ("queued" if all(run.status == "queued" for run in runs) else "in_progress"), None
    worst = ("failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped")
    return "completed", next(name for name in worst if any(run.conclusion == name for run in runs))


def status(hosting: Hosting, one: CommitStatus) -> Json:
    """Return a status of a commit."""
    return {
        "id": one.id,
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "creator": hosting.account_json(one.creator),
    }


def told_status(hosting: Hosting, where: Repository, one: CommitStatus) -> Json:
    """Return a status as its webhook carries it, with the branches that have the commit as their head."""
    git, urls = hosting.git(where), hosting.urls
    url = urls.rest(where.repository, "commits", one.sha)
    heads = [name for name, sha in git.branches().items() if sha == one.sha][:10]
    return {
        "id": one.id,
        "sha": one.sha,
        "name": where.repository,
        "target_url": one.target_url,
        "context": one.context,
        "description": one.description,
        "state": one.state,
        "commit": {**commit(hosting, where.repository, git.commit(one.sha)), "node_id": f"C_{one.sha}"},
        "branches": [{"name": name, "commit": {"sha": one.sha, "url": url}, "protected": False} for name in heads],
        "created_at": one.created_at,
        "updated_at": one.created_at,
    }


def protection(one: Protection) -> Json:
    """Return a branch's protection."""
    asked = {"required_approving_review_count": one.approvals}
    checks = {"strict": False, "contexts": one.contexts, "checks": [{"context": name} for name in one.contexts]}
    return {
        **({"required_pull_request_reviews": asked} if one.approvals else {}),
        **({"required_status_checks": checks} if one.contexts else {}),
        "lock_branch": {"enabled": one.locked},
    }


def reaction(hosting: Hosting, one: Reaction) -> Json:
    """Return one reaction."""
    return {
        "id": one.id,
        "user": hosting.account_json(one.user),
        "content": one.content,
        "created_at": one.created_at,
    }


def comment(hosting: Hosting, one: Comment) -> Json:
    """Return a comment on a pull request."""
    urls, name = hosting.urls, one.repository
    counts = Counter(found.content for found in hosting.store.find(Reaction, name, comment=one.id))
    return {
        "id": one.id,
        "url": urls.rest(name, "issues/comments", one.id),
        "html_url": f"{urls.page(name, 'pull', one.number)}#issuecomment-{one.id}",
        "issue_url": urls.rest(name, "issues", one.number),
        "user": hosting.account_json(one.user),
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "body": one.body,
        "reactions": {"total_count": counts.total(), **counts},
        "performed_via_github_app": app(hosting) if one.by_app else None,
    }


def review(hosting: Hosting, one: Review) -> Json:
    """Return a review as the API answers it; webhooks write its state in lowercase letters."""
    urls, name = hosting.urls, one.repository
    return {
        "id": one.id,
        "user": hosting.account_json(one.user),
        "body": one.body,
        "state": one.state,
        "html_url": f"{urls.page(name, 'pull', one.number)}#pullrequestreview-{one.id}",
        "pull_request_url": urls.rest(name, "pulls", one.number),
        "commit_id": one.sha,
        "submitted_at": one.submitted_at,
    }


def issue(hosting: Hosting, one: Issue | PullRequest) -> Json:
    """Return an issue, or a pull request seen as one."""
    urls, name = hosting.urls, one.repository
    is_pull = isinstance(one, PullRequest)
    page = urls.page(name, "pull" if is_pull else "issues", one.number)
    pull = {"url": urls.rest(name, "pulls", one.number), "html_url": page}
    return {
        "id": one.id,
        "url": urls.rest(name, "issues", one.number),
        "html_url": page,
        "number": one.number,
        "title": one.title,
        "body": one.body,
        "user": hosting.account_json(one.user),
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "closed_at": one.closed_at,
        **({"pull_request": pull} if is_pull else {}),
    }


def pull(hosting: Hosting, one: PullRequest, merge: Json | None = None) -> Json:
    """Return a pull request as lists have it; ``merge`` is what its own address tells besides."""
    urls, name = hosting.urls, one.repository
    known = {"merged": one.merged_at is not None, "merged_by": one.merged_by and hosting.account_json(one.merged_by)}
    return {
        "id": one.id,
        "number": one.number,
        "state": one.state,
        "title": one.title,
        "body": one.body,
        "user": hosting.account_json(one.user),
        "draft": one.draft,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "closed_at": one.closed_at,
        "merged_at": one.merged_at,
        "merge_commit_sha": one.merge_commit_sha,
        "head": _end(hosting, one.head_repository, one.head_ref, one.head_sha),
        "base": _end(hosting, name, one.base_ref, one.base_sha),
        "url": urls.rest(name, "pulls", one.number),
        "html_url": urls.page(name, "pull", one.number),
        **({} if merge is None else {**known, **merge}),
    }


def _end(hosting: Hosting, name: str, ref: str, sha: str) -> Json:
    where = hosting.repository(name)
    owner = name.partition("/")[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": hosting.account_json(owner),
        "repo": where and repository(hosting, where),
    }
