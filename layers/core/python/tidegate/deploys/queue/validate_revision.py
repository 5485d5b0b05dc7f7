"""Compare a claimed deployment's revision with the last deployed one, and refuse it if it goes backwards.

A repeated call gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.deploys.find_authors import find_authors
from tidegate.deploys.find_not_applied import (
    behind,
    carrying,
    contained_rule_changes,
    dropped_merges,
    is_held_up_by,
)
from tidegate.deploys.find_pushed import find_pushed
from tidegate.deploys.queue.find_former_root import former_root
from tidegate.deploys.queue.publish_lock import publish_lock
from tidegate.deploys.rules.cancelling import is_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.oversized import TOO_LARGE, is_reduced
from tidegate.deploys.rules.queue import Deployed, QueueHead, Standing, lock_when_let_in, status_of
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.revision import Relations, RevisionVerdict, check_revision, is_on_branch, renamed
from tidegate.deploys.rules.state import DONE, State, is_final
from tidegate.deploys.texts.lock_text import apply_refusal
from tidegate.messages import About, RevisionValidated, ValidateRevision
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.vcs.rules.comparison import Comparison

#: Triggers whose branch may have moved on meanwhile.
_OF_BRANCHES = frozenset({Trigger.MERGE, Trigger.DRIFT})
#: States of a deployment that may have a verdict already, but has not begun.
_NOT_BEGUN = frozenset({State.QUEUED, State.PLANNING})


def validate_revision(ports: Ports, message: ValidateRevision) -> RevisionValidated:
    """Validate the revision and record the verdict. An admitted deployment continues to planning.

    From then on it is never put back into the queue, because its Terraform execution may have begun. Raise
    ForgeUnavailable, ForgeRefused, or Conflict after repeated concurrent writes.
    """
    return deciding_again(lambda: _validate(ports, message))


def _validate(ports: Ports, message: ValidateRevision) -> RevisionValidated:
    head, deployment = ports.queues.read_with(message.queue, message.deployment)
    if head.in_flight != deployment.id:
        return _answer(deployment, allowed=False, reason="This deployment is not the one in progress.")
    if deployment.state not in _NOT_BEGUN or is_cancelled(deployment):
        goes_on = not (is_final(deployment.state) or is_cancelled(deployment))
        return _answer(deployment, allowed=goes_on, reason=deployment.reason)
    standing = status_of(head, deployment)
    former = former_root(ports, deployment) if head.deployed is None and head.attempted is None else None
    deployed = former.deployed if former else standing.deployed
    before = status_of(former, deployment) if former else standing
    relations = _relations(ports, deployment, deployed)
    verdict = check_revision(deployment, deployed, standing.attempted, relations)
    locked = (
        apply_refusal(deployment.root.name, deployment.request.pull_request, head.lock)
        if deployment.request.base_sha
        else ""
    )
    if locked:
        verdict = RevisionVerdict(allowed=False, reason=locked)
    if former:
        verdict = renamed(verdict, former)
    if deployment.outcome.withdrawn:
        verdict = RevisionVerdict(allowed=False, reason=deployment.outcome.withdrawn)
    if is_reduced(deployment):
        verdict = RevisionVerdict(allowed=False, reason=TOO_LARGE)
    if verdict.allowed and not deployment.destroys_deployed:
        dropped = (*(former.dropped if former else ()), *head.dropped)
        deployment = _with_authors(ports, _carrying(ports, deployment, dropped), before)
    deployment = _after_undone(ports, deployment, before)
    if deployment.settings.requires or deployment.policies.sets:
        deployment = replace(
            deployment, commits=replace(deployment.commits, pushed=find_pushed(ports.queues, before, deployment))
        )
    if not verdict.allowed and deployed is not None and relations.to_deployed is Comparison.BEHIND:
        deployment = _contained(ports, deployment, deployed)
    _record(ports, head, deployment, verdict)
    return _answer(deployment, allowed=verdict.allowed, reason=verdict.reason)


def _relations(ports: Ports, deployment: Deployment, deployed: Deployed | None) -> Relations:
    """Ask the VCS provider only what the verdict depends on."""
    branch = _branch(ports, deployment)
    on_branch = _compared(ports, deployment, deployment.revision.sha, branch) if branch else None
    if on_branch is Comparison.BASE_MISSING or deployed is None:
        return Relations(branch=on_branch)
    to_deployed = _to_deployed(ports, deployment, deployed)
    above = None
    if to_deployed is Comparison.BEHIND and deployment.request.trigger in _OF_BRANCHES and branch:
        above = _compared(ports, deployment, deployed.revision.sha, branch)
    return Relations(to_deployed, on_branch, above)


def _to_deployed(ports: Ports, deployment: Deployment, deployed: Deployed) -> Comparison:
    """Compare with the last deployed revision; a pull request's head is compared as merged."""
    relation = _compared(ports, deployment, deployed.revision.sha, deployment.revision.sha)
    if relation is not Comparison.DIVERGED or not deployment.request.base_sha:
        return relation
    by_base = _compared(ports, deployment, deployed.revision.sha, deployment.request.base_sha)
    return Comparison.AHEAD if is_on_branch(by_base) else relation


def _after_undone(ports: Ports, deployment: Deployment, standing: Standing) -> Deployment:
    """Return what the revision contains of earlier failed attempts, and whether that requires a review."""
    undone = standing.undone
    if undone is None:
        return deployment
    relation = _compared(ports, deployment, undone.revision.sha, deployment.revision.sha)
    if relation is Comparison.BEHIND:
        return deployment
    contains = undone.deployment if is_on_branch(relation) else None
    is_policy_blocked = deployment.lineage.look_twice or is_held_up_by(ports, deployment, undone)
    rules = contained_rule_changes(ports, deployment, undone) if contains else deployment.commits.rule_changes
    return replace(
        deployment,
        lineage=replace(deployment.lineage, contains=contains, look_twice=is_policy_blocked),
        commits=replace(deployment.commits, rule_changes=rules),
    )


def _with_authors(ports: Ports, deployment: Deployment, standing: Standing) -> Deployment:
    if not deployment.settings.review_rule.exclude_authors:
        return deployment
    authors = find_authors(ports.queues, ports.commits, standing, deployment)
    return replace(deployment, commits=replace(deployment.commits, authors=authors.logins, authors_known=authors.known))


def _carrying(ports: Ports, deployment: Deployment, dropped: Sequence[str]) -> Deployment:
    """Return what the revision contains of merges dropped before validation."""
    found = [each for each in dropped_merges(ports, deployment, dropped) if _contains(ports, deployment, each)]
    return carrying(ports, deployment, found) if found else deployment


def _contains(ports: Ports, deployment: Deployment, older: Deployment) -> bool:
    """Tell whether the planned commit contains an older revision; a pull request's head also through its base."""
    commits = filter(None, (deployment.revision.sha, deployment.request.base_sha))
    return any(is_on_branch(_compared(ports, deployment, older.revision.sha, each)) for each in commits)


def _contained(ports: Ports, deployment: Deployment, deployed: Deployed) -> Deployment:
    """Record that the changes of a refused deployment are applied, so that its dependents need not wait.

    If applying them failed, that is recorded once they are applied.
    """
    if deployed.state not in DONE:
        return behind(ports, deployment, deployed) if deployment.request.trigger is Trigger.MERGE else deployment
    return replace(
        deployment,
        lineage=replace(deployment.lineage, contained_by=deployed.deployment, contained_at=ports.clock.now()),
    )


def _branch(ports: Ports, deployment: Deployment) -> str | None:
    """Return the branch that must contain the revision; a manual deployment may come from any."""
    if deployment.request.trigger is Trigger.MANUAL:
        return None
    if deployment.request.trigger is Trigger.RERUN:
        return ports.commits.default_branch(deployment.repository)
    return deployment.revision.branch


def _compared(ports: Ports, deployment: Deployment, base: str, head: str) -> Comparison:
    if base == head:
        return Comparison.IDENTICAL
    return ports.commits.compare(deployment.repository, base, head)


def _record(ports: Ports, head: QueueHead, deployment: Deployment, verdict: RevisionVerdict) -> None:
    """Save the verdict while the deployment is in flight. A refusal is published with the outcome.

    An admitted manual deployment locks its queue in the same transaction.
    """
    judged, after = replace(deployment, planned=replace(deployment.planned, must_review=verdict.must_review)), head
    at = ports.clock.now()
    if not verdict.allowed:
        judged = judged.moved(verdict.end, at, verdict.reason)
    elif judged.state is State.QUEUED:
        judged = judged.moved(State.PLANNING, at)
        after = replace(head, lock=lock_when_let_in(judged, head.lock, at))
    if judged != deployment:
        ports.queues.commit(head, after, deployment=judged)
    if after.lock != head.lock:
        publish_lock(ports, after)
        ports.event_publisher.queue_changed(head.queue)


def _answer(deployment: Deployment, *, allowed: bool, reason: str) -> RevisionValidated:
    about = About(
        repository=deployment.repository,
        root=deployment.root.name,
        stack=deployment.stack,
        commit=deployment.revision.sha,
    )
    return RevisionValidated(allowed=allowed, reason=reason, about=about, waits=deployment.change.waits.before_plan)
