"""Evaluate the gates of a change: let deployments continue whose dependencies are done, and block others.

A repeated call changes nothing, and carries out earlier decisions again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.rules.dependencies import DependencyInChange
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import (
    WAITING,
    Dependencies,
    run_after,
    soaking,
    successor,
    superseded,
    yielded,
    yielding,
)
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.waves import Waves
from tidegate.gates.environment_waits import EnvironmentWaits
from tidegate.gates.look_at_gate import look_at_gate
from tidegate.gates.settle_gate import settle_gate
from tidegate.gates.stop_wave import reject_stopped, waits_for_people
from tidegate.ports import Enrolled, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict
from tidegate.rules.timestamp import LONG_AGO


def open_gates(ports: Ports, change_set: str, replaced: Collection[str] = ()) -> int:
    """Evaluate all gates of a change at which deployments wait. Return how many deployments this changed.

    The change knows the newest deployment of each root; ``replaced`` names others that wait as well, after two people
    ran the same root again at once. A deployment that becomes blocked or unblocked may itself be a dependency: then its
    dependents are evaluated again. Raise ExceptionGroup if some failed; all others are evaluated then.
    """
    members = ports.change_sets.deployments(change_set)
    records = ports.deployments.many([each.deployment for each in members])
    awaited = DependencyInChange({(each.root, each.stack): records.get(each.deployment) for each in members})
    everyone = {**records, **ports.deployments.many([each for each in replaced if each not in records])}
    environments, waves = EnvironmentWaits(ports), Waves(ports)
    changed, failures, is_passed_on = 0, [], False
    if any(each.change.has_wave for each in everyone.values()):
        waves.read(change_set, records)
    waiting = [
        each
        for each in everyone.values()
        if each.state in WAITING or yielded(each) or (waits_for_people(each) and waves.is_stopped(each))
    ]
    for before in sorted(waiting, key=_longest_first):
        try:
            if waits_for_people(before):
                after = reject_stopped(ports, before, waves.of(before))
            else:
                after = _look_at(ports, before, awaited, environments, waves)
        except Exception as error:  # noqa: BLE001  # One's failure must not hold the others back.
            error.add_note(f"while checking the gate of {before.id}")
            failures.append(error)
            continue
        changed += after.version != before.version
        is_passed_on |= yielded(after) or (
            State.BLOCKED in {before.state, after.state} and before.state is not after.state
        )
    if is_passed_on:
        ports.event_publisher.change_moved(change_set)
    if failures:
        raise ExceptionGroup("Some gates could not be checked. They will be checked again.", failures)
    return changed


def _look_at(
    ports: Ports, known: Deployment, awaited: DependencyInChange, environments: EnvironmentWaits, waves: Waves
) -> Deployment:
    dependencies, behind = awaited.by(known), awaited.behind(known)
    if others := (*soaking(known, dependencies.all, ports.clock.now()), *environments.by(known)):
        dependencies = Dependencies((*dependencies.all, *others))
    try:
        looked = _look(ports, known, dependencies, behind, waves)
    except Conflict:
        looked = deciding_again(lambda: _look(ports, ports.deployments.get(known.id), dependencies, behind, waves))
    _carry_out(ports, looked)
    if looked.version != known.version:
        ports.event_publisher.changed(looked)
    return looked


def _longest_first(deployment: Deployment) -> tuple[datetime, str]:
    return deployment.gate.since if deployment.gate else LONG_AGO, deployment.id


def _look(
    ports: Ports, deployment: Deployment, dependencies: Dependencies, behind: Deployment | None, waves: Waves
) -> Deployment:
    at = ports.clock.now()
    looked = look_at_gate(waves, deployment, dependencies, at)
    gate = looked.gate
    if looked.state in WAITING and gate is not None and gate.next is None:
        newer = _successor(ports, looked) if looked.state is State.BLOCKED else None
        if newer is not None:
            looked = superseded(looked, gate, newer, at)
        elif behind is not None:
            looked = yielding(looked, gate, behind, at)
    return ports.deployments.save(looked) if looked != deployment else deployment


def _successor(ports: Ports, blocked: Deployment) -> Deployment | None:
    line = ports.queues.waiting(blocked.queue)
    return successor(blocked, ports.deployments.many([each.deployment for each in line]).values()) if line else None


def _carry_out(ports: Ports, deployment: Deployment) -> None:
    """Carry out the decision: the newer deployment records what it supersedes before the older one ends.

    A yielding deployment stays in the change until all else is done, so a repeated call finds it.
    """
    again = run_after(deployment) if yielded(deployment) else None
    if again is not None:
        enqueue(ports, again)
    elif deployment.gate is not None and deployment.gate.next is AfterGate.SUPERSEDED:
        deciding_again(lambda: _link(ports, deployment))
    settle_gate(deployment, ports.deployments, ports.workflows)
    if again is not None:
        enrolled = Enrolled(again.root.name, again.stack, again.id, again.request.at)
        ports.change_sets.enroll(deployment.change.id, [enrolled])


def _link(ports: Ports, old: Deployment) -> None:
    """Record at the newer deployment what it supersedes. Whether it needs a review is decided at its admission."""
    newer = ports.deployments.get(old.lineage.superseded_by or "")
    if newer.lineage.supersedes != old.id:
        ports.event_publisher.changed(
            ports.deployments.save(replace(newer, lineage=replace(newer.lineage, supersedes=old.id)))
        )
