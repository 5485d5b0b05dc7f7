"""Find out whether a deployment contains what others of an older change held up.

Of most it reads nothing but the record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import dependency, is_done, is_held_as
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.state import moves_baseline
from tidegate.ports import Enrolled, Ports
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors


def is_held_up_by(ports: Ports, deployment: Deployment, undone: Deployed) -> bool:
    """Tell whether ``undone`` was to go after others that are not done, and the deployment does not wait for them.

    So it is, too, when nobody knows any more. What began to be applied had passed its gate.
    """
    try:
        return _holds_up(ports, deployment, ports.deployments.get(undone.deployment))
    except NotFound:
        return True


def _holds_up(ports: Ports, deployment: Deployment, old: Deployment) -> bool:
    if moves_baseline(old.state):
        return False
    if old.lineage.look_twice or not old.change.waits.any:
        return old.lineage.look_twice
    newer = {(each.root, each.stack) for each in _members(ports, deployment)}
    return not is_held_as(deployment, old, newer, _others(ports, old))


def contained_rule_changes(ports: Ports, deployment: Deployment, undone: Deployed) -> tuple[str, ...]:
    """Return what a deployment changes of the rules with what ``undone``, which it contains, was to change."""
    old = ports.deployments.many([undone.deployment]).get(undone.deployment)
    before = old.commits.rule_changes if old is not None else ()
    return tuple(dict.fromkeys((*deployment.commits.rule_changes, *before)))


def dropped_merges(ports: Ports, deployment: Deployment, dropped: Collection[str]) -> list[Deployment]:
    """Return those of the merges that were ``dropped`` which a deployment may contain."""
    known = ports.deployments.many(dropped) if dropped else {}
    every = [known[each] for each in dropped if each in known]
    return [each for each in every if not deployment.shared or each.stack == deployment.stack]


def carrying(ports: Ports, deployment: Deployment, dropped: Sequence[Deployment]) -> Deployment:
    """Return a deployment that contains merges which were dropped: who made them, what rules, what they wait for.

    Their pushes are found by their ids.
    """
    made = Authors(deployment.commits.authors, deployment.commits.authors_known)
    for old in dropped:
        made = made.and_also(Authors(old.commits.authors, old.commits.authors_known))
    rules = dict.fromkeys(
        (*deployment.commits.rule_changes, *(one for old in dropped for one in old.commits.rule_changes))
    )
    is_policy_blocked = any(_holds_up(ports, deployment, old) for old in dropped)
    return replace(
        deployment,
        lineage=replace(
            deployment.lineage,
            carries=tuple(old.id for old in dropped),
            look_twice=deployment.lineage.look_twice or is_policy_blocked,
        ),
        commits=replace(deployment.commits, authors=made.logins, authors_known=made.known, rule_changes=tuple(rules)),
    )


def behind(ports: Ports, deployment: Deployment, deployed: Deployed) -> Deployment:
    """Return a deployment that is superseded by one that was deployed last and failed, as it is saved.

    Its changes are applied once that one's are: whoever says so of that one says so of this one as well. Raise
    Conflict when somebody else writes: do it all again then.
    """
    try:
        newer = ports.deployments.get(deployed.deployment)
    except NotFound:
        return deployment
    if newer.lineage.contains == deployment.id:
        return deployment
    behind = ports.deployments.save(
        replace(deployment, lineage=replace(deployment.lineage, contains=newer.lineage.contains))
    )
    ports.deployments.save(replace(newer, lineage=replace(newer.lineage, contains=behind.id)))
    return behind


def _others(ports: Ports, old: Deployment) -> dict[tuple[str, str], bool]:
    members = _members(ports, old)
    records = ports.deployments.many([each.deployment for each in members])
    found = [dependency(each.root, each.stack, records.get(each.deployment)) for each in members]
    return {(each.root, each.stack): is_done(each) for each in found}


def _members(ports: Ports, deployment: Deployment) -> list[Enrolled]:
    return list(ports.change_sets.deployments(deployment.change.id)) if deployment.change.id else []
