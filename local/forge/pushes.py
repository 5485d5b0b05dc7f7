"""What follows a push: webhooks, check suites, pull requests brought up to date."""

from __future__ import annotations

from dataclasses import dataclass, replace

from local.forge import checks, clock, commit_shapes, pulls
from local.forge.git import NO_COMMIT, BareRepository, Commit
from local.forge.hosting import Hosting
from local.forge.records import PullRequest, Repository
from local.forge.shapes import Json

#: GitHub lists at most this many commits in a push, and sends nothing when more tags come at once.
MAXIMUM_COMMITS, MAXIMUM_TAGS = 2048, 3


@dataclass(frozen=True, slots=True)
class Move:
    """A ref that a push moved; forty zeros stand for a ref that was not there before, or is not any more."""

    ref: str
    before: str
    after: str
    pusher: str

    @property
    def created(self) -> bool:
        return self.before == NO_COMMIT

    @property
    def deleted(self) -> bool:
        return self.after == NO_COMMIT


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
        move = Move(ref, before.get(ref, NO_COMMIT), after.get(ref, NO_COMMIT), pusher)
        _ref_changed(hosting, repository, move)


def _settle_default_branch(
    hosting: Hosting, repository: Repository, before: dict[str, str], after: dict[str, str]
) -> Repository:
    """Make the first branch of an empty repository its default branch, when ``main`` did not come."""
    heads = sorted(ref.removeprefix("refs/heads/") for ref in after if ref.startswith("refs/heads/"))
    if before or not heads or repository.default_branch in heads:
        return repository
    hosting.git(repository).run("symbolic-ref", "HEAD", f"refs/heads/{heads[0]}")
    return hosting.store.change(Repository, repository.id, lambda old: replace(old, default_branch=heads[0]))


def _ref_changed(hosting: Hosting, repository: Repository, move: Move) -> None:
    hosting.tell("push", repository, move.pusher, push_payload(hosting, repository, move))
    if not move.ref.startswith("refs/heads/") or move.deleted:
        return
    branch = move.ref.removeprefix("refs/heads/")
    suite = checks.ensure_suite(hosting, repository, move.after, branch, move.before)
    checks.tell_suite(hosting, repository, suite, "requested", move.pusher)
    for pull in hosting.store.find(PullRequest, repository.repository, state="open"):
        if pull.head_ref == branch:
            pulls.synchronize(hosting, repository, pull, move.after, move.pusher)
        elif pull.base_ref == branch:
            pulls.base_moved(hosting, repository, pull, move.after, move.pusher)


def push_payload(hosting: Hosting, repository: Repository, move: Move) -> Json:
    """Return the push webhook's payload."""
    git, urls, name = hosting.git(repository), hosting.urls, repository.repository
    commits = _new_commits(git, repository, move)
    head = None if move.deleted else git.commit(git.resolve(move.after))
    changes = git.changes_of([*commits, *([head] if head else [])])
    shown = {sha: commit_shapes.pushed_commit(urls, name, one, files) for sha, (one, files) in changes.items()}
    end = move.after[:12] if move.created else f"{move.before[:12]}...{move.after[:12]}"
    return {
        "ref": move.ref,
        "before": move.before,
        "after": move.after,
        "created": move.created,
        "deleted": move.deleted,
        "forced": not (move.created or move.deleted or git.is_ancestor(move.before, move.after)),
        "base_ref": None,
        "compare": urls.page(name, "compare", end),
        "commits": [shown[one.sha] for one in commits],
        "head_commit": shown[head.sha] if head else None,
        "pusher": {"name": move.pusher, "email": f"{move.pusher}@users.noreply.forge.invalid"},
        "repository": _repository_in_push(hosting, repository),
    }


def _new_commits(git: BareRepository, repository: Repository, move: Move) -> list[Commit]:
    """Return the commits that a branch gained, oldest first."""
    if move.deleted or move.ref.startswith("refs/tags/"):
        return []
    before = git.branches().get(repository.default_branch) if move.created else move.before
    revisions = move.after if before in {None, move.after} else f"{before}..{move.after}"
    return git.log(revisions, MAXIMUM_COMMITS)[::-1]


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
