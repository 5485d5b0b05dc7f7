"""May a deployment be run again by *Re-run* or *Re-run all*?"""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.lineage import Lineage
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.request import DeployedCommits, DeploymentRequest, Rerun, Trigger
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.deploys.rules.root_settings import PolicyChecks
from tidegate.deploys.rules.state import State, is_final
from tidegate.roots.rules.root import Revision, deployment_id

#: States that *Re-run failed* runs again. A refused or superseded deployment would end the same way.
_FAILED = frozenset(
    {
        State.PLAN_FAILED,
        State.APPLY_FAILED,
        State.REJECTED,
        State.REVIEW_EXPIRED,
        State.GATE_EXPIRED,
        State.CANCELLED,
        State.OUTCOME_UNKNOWN,
        State.ENGINE_FAULT,
    }
)
_NEVER_LET_IN = frozenset({State.REFUSED, State.SUPERSEDED})


def state_refusal(deployment: Deployment, *, only_failed: bool) -> str | None:
    """Return why a deployment in this state is not run again, None if it may be.

    ``only_failed`` tells that one failed check was to be run again, not all of a commit.
    """
    if not is_final(deployment.state):
        return "This deployment has not ended yet, so it cannot be re-run."
    if not only_failed or deployment.state in _FAILED:
        return None
    if deployment.state in _NEVER_LET_IN:
        return "This deployment never started, for the reason below, so there is nothing to re-run."
    return "This deployment succeeded. Only failed deployments are re-run. To re-run every root, use Re-run all checks."


def attempt_refusal(deployment: Deployment, attempted: Deployed | None) -> str | None:
    """Return why this attempt at its revision is not run again, None if it is.

    ``attempted`` is the root's latest attempt, of the same revision.
    """
    if attempted is None or attempted.deployment == deployment.id or deployment.state in _NEVER_LET_IN:
        return None
    return "This deployment was run again already: the newest check of this root on this commit counts."


def run_again(old: Deployment, branch: str, by: str, at: datetime, request: str) -> Deployment:
    """Return the deployment that runs ``old`` again, asked for by ``by`` at ``at``.

    ``request`` tells this demand from others, and ``branch`` is the one that the revision is on. It is asked for after
    ``old`` in any case, so that it is the newest of its change also where demands overtake each other.
    """
    asked = max(at, old.request.at + timedelta(microseconds=1))
    authors = tuple(dict.fromkeys((*old.commits.authors, old.request.by)))
    apart = old.stack if old.shared else ""
    return Deployment(
        id=deployment_id(old.repository, old.root.name, old.revision.sha, f"rerun {request}", apart),
        repository=old.repository,
        root=old.root,
        revision=Revision(old.revision.sha, branch),
        request=DeploymentRequest(
            Trigger.RERUN,
            by,
            asked,
            pull_request=old.request.pull_request,
            destroy=old.request.destroy,
            headline=old.request.headline,
        ),
        stack=old.stack,
        within=old.within,
        tags=old.tags,
        shared=old.shared,
        changed_at=asked,
        rerun=Rerun(
            of=old.id,
            manual=old.request.trigger is Trigger.MANUAL or old.rerun.manual,
            first_requested_at=old.rerun.first_requested_at or old.request.at,
            touched_at=old.apply.started_at or old.rerun.touched_at,
        ),
        commits=DeployedCommits(
            authors,
            old.commits.authors_known,
            pushed=() if is_of_head(old) else old.commits.pushed,
            rule_changes=old.commits.rule_changes,
        ),
        change=old.change,
        settings=old.settings,
        lineage=Lineage(supersedes=old.lineage.supersedes, look_twice=old.lineage.look_twice),
        policies=PolicyChecks(old.policies.sets),
    )
