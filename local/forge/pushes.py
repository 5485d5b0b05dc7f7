"""What follows a push: webhooks, check suites, pull requests brought up to date."""

from __future__ import annotations

from dataclasses import replace

from local.forge import checks, clock, commit_shapes, pulls
from local.forge.git import NO_COMMIT, BareRepository, Commit
from local.forge.hosting import Hosting
from local.forge.records import PullRequest, Repository
from local.forge.shapes import Json

#: GitHub lists at most this many commits in a push, and sends nothing when more tags come at once.
MAXIMUM_COMMITS, MAXIMUM_TAGS = 2048, 3


def changed(
    hosting: Hosting, repository: Repository, before: dict[str, str], after: dict[str, str], pusher: str
) -> None:
    """Tell what a push changed: ``before`` and ``after`` are full ref name → SHA."""
    moved = {ref for ref in before.keys() | after.keys() if before.get(ref) != after.get(ref)}
    if not moved:
        return
    repository = hosting.store.change(Repository, repository.id, lambda old: replace(old, pushed_at=clock.now()))
    repository = _settle_default_branch(hosting, repository, before, after)
    tags = [ref for ref in moved if ref.startswith("refs/tags/")]
    silent = set(tags) if len(tags) > MAXIMUM_TAGS else set()
    for ref in sorted(moved - silent):
        _ref_changed(hosting, repository, ref, before.get(ref, NO_COMMIT), after.get(ref, NO_COMMIT), pusher)


def _settle_default_branch(
    hosting: Hosting, repository: Repository, before: dict[str, str], after: dict[str, str]
) -> Repository:
    """Make the first branch of an empty repository its default branch, when ``main`` did not come."""
    heads = sorted(ref.removeprefix("refs/heads/") for ref in after if ref.startswith("refs/heads/"))
    if before or not heads or repository.default_branch in heads:
        return repository
    hosting.git(repository).run("symbolic-ref", "HEAD", f"refs/heads/{heads[0]}")
    return hosting.store.change(Repository, repository.id, lambda old: replace(old, default_branch=heads[0]))


def _ref_changed(hosting: Hosting, repository: Repository, ref: str, before: str, after: str, pusher: str) -> None:
    hosting.tell("push", repository, pusher, push_payload(hosting, repository, ref, before, after, pusher))
    if not ref.startswith("refs/heads/") or after == NO_COMMIT:
        return
    branch = ref.removeprefix("refs/heads/")
    suite = checks.ensure_suite(hosting, repository, after, branch, before)
    checks.tell_suite(hosting, repository, suite, "requested", pusher)
    for pull in hosting.store.find(PullRequest, repository.repository, state="open"):
        if pull.head_ref == branch:
            pulls.synchronize(hosting, repository, pull, after, pusher)
        elif pull.base_ref == branch:
            pulls.base_moved(hosting, repository, pull, after, pusher)


def push_payload(hosting: Hosting, repository: Repository, ref: str, before: str, after: str, pusher: str) -> Json:
    """Return the push webhook's payload."""
    git, urls, name = hosting.git(repository), hosting.urls, repository.repository
    commits = _new_commits(git, repository, ref, before, after)
    shown = [commit_shapes.pushed_commit(urls, name, one, git.changes_of(one)) for one in commits]
    created, deleted = before == NO_COMMIT, after == NO_COMMIT
    forced = not created and not deleted and not git.is_ancestor(before, after)
    head = None
    if not deleted:
        commit = git.commit(git.resolve(after))
        head = commit_shapes.pushed_commit(urls, name, commit, git.changes_of(commit))
    end = after[:12] if created else f"{before[:12]}...{after[:12]}"
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": created,
        "deleted": deleted,
        "forced": forced,
        "base_ref": None,
        "compare": urls.page(name, "compare", end),
        "commits": shown,
        "head_commit": head,
        "pusher": {"name": pusher, "email": f"{pusher}@users.noreply.forge.invalid"},
        "repository": _repository_in_push(hosting, repository),
    }


def _new_commits(git: BareRepository, repository: Repository, ref: str, before: str, after: str) -> list[Commit]:
    if after == NO_COMMIT or ref.startswith("refs/tags/"):
        return []
    if before == NO_COMMIT:
        default = git.branches().get(repository.default_branch)
        revisions = after if default in {None, after} else f"{default}..{after}"
    else:
        revisions = f"{before}..{after}"
    return list(reversed(git.log(revisions, MAXIMUM_COMMITS)))


def _repository_in_push(hosting: Hosting, repository: Repository) -> Json:
    """Return the repository as push webhooks have it: with epoch seconds, and the owner's name and address."""
    shape = hosting.repository_json(repository)
    owner = shape["owner"]
    seconds = {name: int(clock.read(shape[name]).timestamp()) for name in ("created_at", "pushed_at")}
    return {
        **shape,
        **seconds,
        "owner": {**owner, "name": owner["login"], "email": None},
        "stargazers": 0,
        "master_branch": repository.default_branch,
    }
