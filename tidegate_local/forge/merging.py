"""Merging a pull request: by a merge commit, squashed, or rebased, as GitHub does."""

from __future__ import annotations

from tidegate_local.forge import protections, pulls, pushes
from tidegate_local.forge.git import BareRepository, GitRefused, Signature
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import PullRequest, Repository
from tidegate_local.forge.refusals import Refusal, invalid
from tidegate_local.forge.shapes import Json

METHODS = ("merge", "squash", "rebase")


def merge(hosting: Hosting, repository: Repository, pull: PullRequest, user: str, request: Json) -> str:
    """Merge by ``merge_method`` (merge, squash, rebase) and return the new commit.

    Raise Refusal: 405 when it cannot be merged, 409 when the head is not ``sha``, 422 for an unknown method.
    """
    method = request.get("merge_method") or "merge"
    if method not in METHODS:
        raise invalid("PullRequest", "merge_method", "invalid")
    if request.get("sha") not in {None, pull.head_sha}:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    if pull.state != "open":
        raise Refusal(405, "Pull Request is not mergeable")
    if pull.draft:
        raise Refusal(405, "Pull Request is still a draft")
    if missing := protections.missing(hosting, repository, pull):
        raise Refusal(405, missing[0])
    with hosting.writing(repository):
        git = hosting.git(repository)
        before = git.refs()
        sha = merge_commit(hosting, git, pull, method, user=user, request=request)
        git.update_ref(f"refs/heads/{pull.base_ref}", sha, before[f"refs/heads/{pull.base_ref}"])
        pulls.close_merged(hosting, repository, pull, sha, user)
        pushes.changed(hosting, repository, before, git.refs(), user)
    return sha


def merge_commit(
    hosting: Hosting, git: BareRepository, pull: PullRequest, method: str, *, user: str, request: Json
) -> str:
    """Make the commit that merges a pull request into its base branch by a method. Raise Refusal (405)."""
    base = git.branches()[pull.base_ref]
    person = hosting.identities.account(user)
    who = Signature(person.name or user, f"{user}@users.noreply.forge.invalid", "")
    try:
        if method == "rebase":
            return _rebased(git, base, pull.head_sha, who)
        tree = git.merged_tree(base, pull.head_sha)
    except GitRefused:
        raise Refusal(405, "Pull Request is not mergeable") from None
    parents: tuple[str, ...]
    if method == "squash":
        title, parents = f"{pull.title} (#{pull.number})", (base,)
    else:
        title = f"Merge pull request #{pull.number} from {pull.head_repository.partition('/')[0]}/{pull.head_ref}"
        parents = (base, pull.head_sha)
    text = request.get("commit_message") or (pull.title if method == "merge" else pull.body or "")
    message = f"{request.get('commit_title') or title}\n\n{text}".strip()
    return git.commit_tree(tree, parents, message, who, who)


def _rebased(git: BareRepository, base: str, head: str, who: Signature) -> str:
    """Return the last of ``head``'s commits, each made again on ``base``."""
    for commit in reversed(git.log(f"{base}..{head}", 1000)):
        if len(commit.parents) != 1:
            raise GitRefused("merge commits cannot be rebased")
        tree = git.picked_tree(commit, base)
        base = git.commit_tree(tree, (base,), commit.message, commit.author, who)
    return base
