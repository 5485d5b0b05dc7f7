"""May this revision be deployed after the last deployed one?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Deployed, QueueHead
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.lock_text import locked_by
from tidegate.roots.rules.root import Revision
from tidegate.vcs.rules.comparison import Comparison

#: How a branch relates to a commit that it contains.
_CONTAINS = frozenset({Comparison.AHEAD, Comparison.IDENTICAL})
_MOVED_ON = (
    "The deployed revision was merged after this was requested, and the branch does not contain it: applying this "
    "would undo it. Update the branch from its base, and comment tidegate apply again."
)
_DEPLOYED_SINCE = (
    "Another revision was deployed to this root after you requested the destroy, so nothing is destroyed. Request "
    "it again to destroy what is deployed now."
)
_DESTROYS = (
    "This plan destroys everything in the state of this root, as it was last deployed. Reject it if the root's "
    "directory was moved and keeps its backend, because another root then uses that state."
)
_GONE = (
    "{} removed this root after this deployment was requested, and its resources are destroyed. There is "
    "nothing left to do."
)
_COMMIT_IS_GONE = "The commit no longer exists in the repository. Push it again to deploy it."


@dataclass(frozen=True, slots=True)
class Relations:
    """What the VCS provider knows of a revision.

    ``to_deployed``: its relation to the last deployed revision. ``branch``: its branch's relation to it (for a re-run:
    the default branch's). ``branch_to_deployed``: its branch's relation to the last deployed revision. None: not
    requested, because nothing depends on it.
    """

    to_deployed: Comparison | None = None
    branch: Comparison | None = None
    branch_to_deployed: Comparison | None = None


@dataclass(frozen=True, slots=True)
class RevisionVerdict:
    """Whether to deploy, why, what a person must approve first, if anything, and the ending otherwise."""

    allowed: bool
    reason: str
    must_review: str | None = None
    end: State = State.REFUSED


def is_on_branch(branch: Comparison) -> bool:
    """Tell whether a commit is on a branch, given how the branch relates to the commit."""
    return branch in _CONTAINS


def rerun_refusal(revision: Revision, attempted: Deployed | None, branch: Comparison) -> str | None:
    """Return why ``revision`` may not be run again; None when it may.

    ``attempted`` is the root's latest attempt, ``branch`` how the default branch relates to the revision.
    """
    if branch is Comparison.BASE_MISSING:
        return _COMMIT_IS_GONE
    if not is_on_branch(branch):
        return f"{revision.short} is not on the default branch. Only commits on the default branch can be re-run."
    if attempted is not None and attempted.revision.sha != revision.sha:
        last = attempted.revision.short
        return f"The latest deployment of this root was of {last}. Only the latest can be re-run."
    return None


def check_revision(
    deployment: Deployment, deployed: Deployed | None, attempted: Deployed | None, known: Relations
) -> RevisionVerdict:
    """Decide about the deployment's revision (design rule 4, never backwards).

    ``known.to_deployed`` may be None only when nothing was deployed before. Raise ValueError otherwise.
    """
    revision = deployment.revision
    if known.branch is Comparison.BASE_MISSING:
        return _refused(_COMMIT_IS_GONE)
    if deployment.request.trigger is Trigger.RERUN and known.branch is not None:
        refusal = rerun_refusal(revision, attempted, known.branch)
        if refusal is not None:
            return _refused(refusal)
    overtaken = _overtaken(deployment, deployed, known)
    if overtaken is not None:
        return overtaken
    verdict = _compared(revision, deployed, known)
    if deployment.destroys_deployed and verdict.allowed:
        verdict = replace(verdict, must_review=_DESTROYS)
    if verdict.allowed and known.branch is not None and not is_on_branch(known.branch):
        return _gone_from_its_branch(revision, verdict)
    return verdict


def _overtaken(deployment: Deployment, deployed: Deployed | None, known: Relations) -> RevisionVerdict | None:
    """Return why something that happened meanwhile keeps a deployment out, if it does."""
    if deployment.destroys_deployed and (deployed is None or deployed.revision.sha != deployment.revision.sha):
        return _refused(_DEPLOYED_SINCE)
    gone = deployed.orphaned if deployed is not None and deployed.destroyed else None
    if gone is not None and deployment.request.at < gone.at:
        return _refused(_GONE.format(gone.revision[:7]), State.SUPERSEDED)
    return _refused(_MOVED_ON) if _has_moved_on(deployment, deployed, known) else None


def _has_moved_on(deployment: Deployment, deployed: Deployed | None, known: Relations) -> bool:
    """Tell whether an applied pull request lacks what a merge brought, and not only another manual deployment."""
    merged = deployed is not None and deployed.trigger is not Trigger.MANUAL
    return bool(deployment.request.base_sha) and merged and known.to_deployed is Comparison.DIVERGED


def _refused(reason: str, end: State = State.REFUSED) -> RevisionVerdict:
    return RevisionVerdict(False, reason, end=end)


def _gone_from_its_branch(revision: Revision, verdict: RevisionVerdict) -> RevisionVerdict:
    """It was on the branch when it was merged: the branch was rewritten since."""
    gone = f"{revision.short} is no longer on {revision.branch}: the branch was rewritten while this deployment waited."
    reason = f"{gone} {verdict.must_review}" if verdict.must_review else gone
    return RevisionVerdict(True, reason, reason)


def _compared(revision: Revision, deployed: Deployed | None, known: Relations) -> RevisionVerdict:
    if deployed is None:
        return RevisionVerdict(True, "This is the first deployment of this root.")
    last = deployed.revision.short
    if known.to_deployed is None:
        raise ValueError(f"{revision.sha} was not compared with {deployed.revision.sha}")
    if known.to_deployed is Comparison.BEHIND:
        return _behind(last, known.branch_to_deployed)
    if known.to_deployed is Comparison.HEAD_MISSING:
        return _refused(_COMMIT_IS_GONE)
    reason = {
        Comparison.AHEAD: f"It is ahead of {last}, the last deployed revision.",
        Comparison.IDENTICAL: f"It is {last}, the last deployed revision.",
        Comparison.DIVERGED: (
            f"It has diverged from {last}, the last deployed revision. Changes that are only in {last} will be undone."
        ),
        Comparison.BASE_MISSING: (
            f"The last deployed revision, {last}, no longer exists in the repository. Its changes may be undone."
        ),
    }[known.to_deployed]
    return RevisionVerdict(True, reason, None if is_on_branch(known.to_deployed) else reason)


def _behind(last: str, branch: Comparison | None) -> RevisionVerdict:
    """An older revision is superseded if its own branch contains what was deployed; otherwise it is refused."""
    if branch is not None and is_on_branch(branch):
        reason = f"{last}, a newer revision that contains this one, is already deployed. There is nothing left to do."
        return _refused(reason, State.SUPERSEDED)
    return _refused(
        f"It is behind {last}, which is already deployed. Deployments never go backwards. To go back, revert the "
        "change on the default branch and merge the revert."
    )


def renamed(verdict: RevisionVerdict, former: QueueHead) -> RevisionVerdict:
    """Return the verdict about a root that had another name, and so another queue, when it was last deployed.

    The old queue's lock and waiting deployments do not block the new name, so people review the plan first.
    """
    if not verdict.allowed:
        return verdict
    name = former.root_name
    parts = [f"This root was named {name} when it was last deployed. Under its new name it has a new queue."]
    if former.lock is not None:
        parts.append(locked_by(name, former.lock))
    if former.in_flight is not None or former.length:
        parts.append(f"Deployments of {name} are still running or queued. Let them end first.")
    if verdict.must_review:
        parts.append(verdict.must_review)
    return replace(verdict, must_review=" ".join(parts))
