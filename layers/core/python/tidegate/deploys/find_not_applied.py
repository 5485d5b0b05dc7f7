"""Find out whether a deployment contains older deployments that did not apply because they were blocked.

In most cases this reads only the record.
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
    """Tell whether ``undone`` depended on deployments that are not done and that the deployment does not wait for.

    The answer is also yes if the dependency is no longer known. A deployment whose apply began had passed its gate.
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
    """Return the rule changes of a deployment, with those of ``undone``, which it contains."""
    old = ports.deployments.many([undone.deployment]).get(undone.deployment)
    before = old.commits.rule_changes if old is not None else ()
    return tuple(dict.fromkeys((*deployment.commits.rule_changes, *before)))


def dropped_merges(ports: Ports, deployment: Deployment, dropped: Collection[str]) -> list[Deployment]:
    """Return those of the ``dropped`` merges that a deployment may contain."""
    known = ports.deployments.many(dropped) if dropped else {}
    every = [known[each] for each in dropped if each in known]
    return [each for each in every if not deployment.shared or each.stack == deployment.stack]


def carrying(ports: Ports, deployment: Deployment, dropped: Sequence[Deployment]) -> Deployment:
    """Return a deployment with what it takes over from dropped merges: authors, rule changes and dependencies.

    It finds their pushes by id.
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
    """Return the deployment as superseded by a newer one that failed.

    Its changes are applied when the newer one's are: whoever records that for the newer one records it here too. Raise
    Conflict on a concurrent write: repeat all of it then.
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
