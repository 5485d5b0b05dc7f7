"""Effects of a push: webhooks, check suites, pull requests brought up to date."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate_local.forge import checks, clock, pulls, shapes
from tidegate_local.forge.git import NO_COMMIT, BareRepository, Commit
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import PullRequest, Repository
from tidegate_local.forge.shapes import Json

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
    repository = hosting.settled(repository, before, after, pushed_at=clock.now())
    tags = [ref for ref in moved if ref.startswith("refs/tags/")]
    silent = set(tags) if len(tags) > MAXIMUM_TAGS else set()
    for ref in sorted(moved - silent):
        move = Move(ref, before.get(ref, NO_COMMIT), after.get(ref, NO_COMMIT), pusher)
        _ref_changed(hosting, repository, move)


def _ref_changed(hosting: Hosting, repository: Repository, move: Move) -> None:
    hosting.tell("push", repository, move.pusher, push_payload(hosting, repository, move))
    if not move.ref.startswith("refs/heads/"):
        return
    branch = move.ref.removeprefix("refs/heads/")
    if move.deleted:
        _close_pulls(hosting, repository, branch, move.pusher)
    else:
        _branch_changed(hosting, repository, branch, move)


def _branch_changed(hosting: Hosting, repository: Repository, branch: str, move: Move) -> None:
    suite = checks.ensure_suite(hosting, repository, move.after, branch, move.before)
    checks.tell_suite(hosting, repository, suite, "requested", move.pusher)
    for where, pull in _pulls_from(hosting, repository, branch):
        pulls.synchronize(hosting, where, pull, move.after, move.pusher)
    for pull in hosting.store.find(PullRequest, repository.repository, state="open", base_ref=branch):
        pulls.base_moved(hosting, repository, pull, move.after, move.pusher)


def _pulls_from(hosting: Hosting, repository: Repository, branch: str) -> list[tuple[Repository, PullRequest]]:
    """Return the open pull requests whose head is a branch, wherever it is to be merged."""
    wanted = {"state": "open", "head_ref": branch}
    found = hosting.store.find(PullRequest, repository.repository, fork=None, **wanted)
    found += hosting.store.find(PullRequest, fork=repository.repository, **wanted)
    return [(where, pull) for pull in found if (where := hosting.repository(pull.repository))]


def _close_pulls(hosting: Hosting, repository: Repository, branch: str, user: str) -> None:
    """Close the pull requests that come from or go to a branch that is gone."""
    into = hosting.store.find(PullRequest, repository.repository, state="open", base_ref=branch)
    for where, pull in [*_pulls_from(hosting, repository, branch), *((repository, pull) for pull in into)]:
        pulls.edit(hosting, where, pull, {"state": "closed"}, user)


def push_payload(hosting: Hosting, repository: Repository, move: Move) -> Json:
    """Return the push webhook's payload."""
    git, urls, name = hosting.git(repository), hosting.urls, repository.repository
    commits = _new_commits(git, repository, move)
    head = None if move.deleted else git.commit(git.resolve(move.after))
    changes = git.changes_of([*commits, *([head] if head else [])])
    shown = {sha: shapes.pushed_commit(hosting, name, one, files) for sha, (one, files) in changes.items()}
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
    }


def _new_commits(git: BareRepository, repository: Repository, move: Move) -> list[Commit]:
    """Return the commits that a branch gained, oldest first."""
    if move.deleted or move.ref.startswith("refs/tags/"):
        return []
    before = git.branches().get(repository.default_branch) if move.created else move.before
    revisions = move.after if before in {None, move.after} else f"{before}..{move.after}"
    return git.log(revisions, MAXIMUM_COMMITS)[::-1]
