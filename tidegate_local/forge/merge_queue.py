"""A merge queue, as far as checks see it: a branch with the merge result, and the webhook that asks for its checks."""

from __future__ import annotations

from tidegate_local.forge import merging, pushes, shapes
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import PullRequest, Repository
from tidegate_local.forge.refusals import Refusal


def enqueue(hosting: Hosting, repository: Repository, pull: PullRequest, user: str) -> str:
    """Put a pull request at the head of the queue; return the commit whose checks are asked for.

    Nothing is merged: that is left to whoever looks at the checks. Raise Refusal (405) when it cannot be merged.
    """
    if pull.state != "open" or pull.draft:
        raise Refusal(405, "Pull Request is not mergeable")
    with hosting.writing(repository):
        git = hosting.git(repository)
        before = git.refs()
        base = before[f"refs/heads/{pull.base_ref}"]
        sha = merging.merge_commit(hosting, git, pull, "merge", user=user, request={})
        ref = f"refs/heads/gh-readonly-queue/{pull.base_ref}/pr-{pull.number}-{base}"
        git.update_ref(ref, sha, before.get(ref, ""))
        pushes.changed(hosting, repository, before, git.refs(), user)
    group = {
        "head_sha": sha,
        "head_ref": ref,
        "base_sha": base,
        "base_ref": f"refs/heads/{pull.base_ref}",
        "head_commit": shapes.simple_commit(git.commit(sha)),
    }
    hosting.tell("merge_group", repository, user, {"action": "checks_requested", "merge_group": group})
    return sha
