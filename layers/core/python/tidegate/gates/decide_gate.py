"""Decide about a deployment at a dependency gate. Buttons, pages and the API all call this verb.

The caller has checked that the person may decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tidegate.deploys.authorize import may_act
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, GateAnswer, rejected, waits_for, yielded
from tidegate.deploys.rules.reason import because, tidied
from tidegate.deploys.rules.rerun import state_refusal
from tidegate.deploys.rules.state import DONE, State, is_final, where_it_is
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.texts.advice import advice_on
from tidegate.deploys.waves import Waves
from tidegate.gates.decide_requirements import decide_requirements
from tidegate.gates.retry_blocked import Retry, hand_over_retry, repeated
from tidegate.gates.settle_gate import settle_gate
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision


def decide_gate(ports: Ports, deployment: str, answer: GateAnswer, by: str, at: datetime, reason: str = "") -> Decision:
    """Do what ``by`` asked for at ``at``; ``reason`` is why, required to override requirements.

    A repeated call changes nothing. Raise NotFound. On Conflict, CloudUnavailable, ForgeUnavailable or ExceptionGroup,
    call again with the same ``at``.
    """
    if answer in {GateAnswer.APPROVE, GateAnswer.OVERRIDE}:
        return decide_requirements(ports, deployment, answer, by, at, reason)
    if answer is GateAnswer.RETRY:
        return retry_gate(ports, deployment, by, at)
    return reject_gate(ports, deployment, by, at, reason)


def reject_gate(ports: Ports, deployment: str, by: str, at: datetime, reason: str = "") -> Decision:
    """Reject a deployment at its gate. Its queue's worker records and audits that after the token is settled."""
    if ports.deployments.get(deployment).state is State.AWAITING_REQUIREMENTS:
        return decide_requirements(ports, deployment, GateAnswer.REJECT, by, at, reason)
    return deciding_again(lambda: _reject(ports, deployment, by, at, tidied(reason)))


def retry_gate(ports: Ports, deployment: str, by: str, at: datetime) -> Decision:
    """Run again what blocks a deployment, directly or through its dependencies."""
    blocked = ports.deployments.get(deployment)
    refusal = _refusal(blocked)
    if blocked.gate is None or refusal is not None:
        return Decision(False, refusal or "")
    if blocked.gate.cycle:
        return Decision(False, blocked.gate.cycle)
    if blocked.change.waits.refused:
        (root, stack), *_ = blocked.change.waits.refused
        return Decision(
            False,
            f"{root} ({stack}) was not allowed to deploy. Correct it and merge the fix. There is nothing to re-run.",
        )
    again, told = [], []
    for old in _to_blame(ports, blocked):
        if repeated(Retry(blocked, (), by, at), old, old.revision.branch).id == old.id:
            continue  # A repeated request: its re-run has failed meanwhile.
        reason = _retry_refusal(ports, old, by)
        told.append(f"{_name(old)}: {reason or 'runs again.'}")
        if reason is None:
            again.append(old.id)
    if again:
        hand_over_retry(ports, Retry(blocked, tuple(again), by, at))
    else:
        ports.event_publisher.change_moved(blocked.change.id)
    if told and not again:
        return Decision(False, f"None of the deployments that block this one can be re-run. {' '.join(told)}")
    return Decision(True, f"{by} retried. {' '.join(told) or 'The failed deployments are already running again.'}")


def _retry_refusal(ports: Ports, old: Deployment, by: str) -> str | None:
    reason = state_refusal(old, only_failed=True)
    if reason is not None:
        return reason
    if old.request.pull_request is not None:
        # A re-run must be of the default branch: otherwise it would be refused, and block this again.
        return f"deploy it again from {ports.terms.reference(old.request.pull_request)}, or merge that."
    allowed = may_act(ports, old, Action.APPLY, by)
    return None if allowed.done else allowed.reason


def _reject(ports: Ports, identifier: str, by: str, at: datetime, reason: str) -> Decision:
    deployment = ports.deployments.get(identifier)
    gate = deployment.gate
    if gate is not None and (gate.next, gate.by, gate.at) == (AfterGate.REJECTED, by, at):
        return _rejected(ports, deployment)
    refusal = _refusal(deployment)
    if gate is None or refusal is not None:
        return Decision(False, refusal or "")
    return _rejected(ports, ports.deployments.save(rejected(deployment, gate, by, at, reason=reason)))


def _rejected(ports: Ports, deployment: Deployment) -> Decision:
    settle_gate(deployment, ports.deployments, ports.workflows)
    ports.event_publisher.changed(deployment)
    told = f"{deployment.rejected_by} rejected this deployment while it waited for its dependencies."
    return Decision(True, because(told, deployment.gate.reason if deployment.gate else ""))


def _to_blame(ports: Ports, blocked: Deployment) -> Sequence[Deployment]:
    """Return the failed deployments that block a deployment, also through others that are blocked."""
    members = ports.change_sets.deployments(blocked.change.id)
    records = ports.deployments.many([each.deployment for each in members])
    seen, todo, waves = {blocked.id}, [blocked], Waves(ports)
    found = []
    while todo:
        one = todo.pop()
        awaited = [each.deployment for each in members if waits_for(one, each.root, each.stack)]
        if one.gate is not None and one.gate.wave:
            awaited += [each.deployment for each in waves.of(one).failed]
        for record in [records[each] for each in awaited if each in records]:
            if record.id in seen:
                continue
            seen.add(record.id)
            if record.state is State.BLOCKED:
                todo.append(record)
            elif is_final(record.state) and record.state not in DONE and record.lineage.contained_by is None:
                found.append(record)
    return sorted(found, key=_name)


def _refusal(deployment: Deployment) -> str | None:
    """Return why nothing can be decided at the deployment's gate; None if it can."""
    gate = deployment.gate
    if deployment.state not in WAITING or gate is None:
        told = f"This deployment {where_it_is(deployment.state)} and does not wait for dependencies."
        return f"{told} {advice_on(deployment)}".rstrip()
    if gate.next is AfterGate.REJECTED:
        return f"{gate.by} already rejected this deployment. That decision is final."
    if yielded(deployment):
        return "This deployment runs again after a dependency that was queued behind it."
    if gate.next is AfterGate.SUPERSEDED:
        return "A newer revision has superseded this deployment."
    if gate.next is not None:
        return "This deployment no longer waits for its dependencies. It continues automatically."
    return None


def _name(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"
