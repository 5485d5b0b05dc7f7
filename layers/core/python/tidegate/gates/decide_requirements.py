"""Decide about a deployment that waits for its requirements: approve, override, or reject it.

The caller has checked who may reject, and who is an operator.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.rules.audit import OVERRIDDEN, audit_message, with_audited
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.reason import MAXIMUM_REASON, because, tidied
from tidegate.deploys.rules.requirements_gate import (
    approved_here,
    looked_at,
    may_not_approve,
    overridden,
    rejected,
    waits,
)
from tidegate.deploys.rules.state import where_it_is
from tidegate.deploys.rules.unapproved import asked_here
from tidegate.deploys.rules.waiting import AfterGate, Override
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.gates.check_requirements import RequirementsChecker
from tidegate.gates.settle_gate import settle_gate
from tidegate.policies.rules.apply_requirements import is_asked
from tidegate.ports import Ports
from tidegate.rules.access import spelled
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.texts.sentences import listed


def decide_requirements(
    ports: Ports, identifier: str, answer: GateAnswer, by: str, at: datetime, reason: str = ""
) -> Decision:
    """Do what ``by`` asked for at ``at``.

    A repeated call changes nothing. Raise NotFound. On Conflict, CloudUnavailable or ForgeUnavailable, call again with
    the same ``at``.
    """
    act = {GateAnswer.APPROVE: partial(_approve, ports), GateAnswer.REJECT: partial(_reject, ports)}.get(answer)
    if act is None:
        return deciding_again(lambda: _override(ports, ports.deployments.get(identifier), by, at, reason.strip()))
    return deciding_again(lambda: act(ports.deployments.get(identifier), by, at, tidied(reason)))


def _approve(ports: Ports, deployment: Deployment, by: str, at: datetime, reason: str) -> Decision:
    told = because(f"{by} approved this deployment.", reason)
    if any((each.by, each.at) == (by, at) for each in deployment.requirements.approved_here):
        return _gone_on(ports, deployment, told)
    refusal = _refusal(deployment) or _who_may_not(ports, deployment, by)
    if refusal:
        return Decision(False, refusal)
    approved = approved_here(deployment, by, at, reason)
    missing = missing_requirements(ports, approved)
    saved = ports.deployments.save(looked_at(approved, missing, at))
    return _gone_on(ports, saved, f"{told}{' Other requirements are still missing.' if missing else ''}")


def _who_may_not(ports: Ports, deployment: Deployment, by: str) -> str:
    """Return why the person's approval would not count; an empty text if it would."""
    if deployment.requirements.frozen:
        told = "No approval is needed: it continues automatically. An operator can override the freeze."
        return f"{deployment.requirements.frozen}. {told}"
    refusal = may_not_approve(deployment, by)
    if refusal:
        return refusal
    wanted = asked_here(deployment)
    if not wanted:
        return "No approvals are required here. An operator can override what is missing."
    people = RequirementsChecker(ports).people(deployment.repository, (by,), wanted)
    if any(is_asked(person, wanted) for person in people):
        return ""
    whom = dict.fromkeys(spelled(each) for wish in wanted for each in wish.grantees)
    return (
        f"Approvals by {listed(list(whom)) if whom else 'people with write access'} are required, and {by} is "
        "not among them."
    )


def _override(ports: Ports, deployment: Deployment, by: str, at: datetime, reason: str) -> Decision:
    override = Override(by, at, reason)
    told = f"{by} overrode what was missing."
    if deployment.requirements.override == override:
        return _gone_on(ports, deployment, told)
    refusal = _refusal(deployment)
    if refusal:
        return Decision(False, refusal)
    if not reason or len(reason) > MAXIMUM_REASON:
        return Decision(
            False, f"Give a reason of at most {MAXIMUM_REASON} characters. It is recorded in the audit log."
        )
    return _gone_on(ports, ports.deployments.save(_audited(ports, overridden(deployment, override), at)), told)


def _audited(ports: Ports, deployment: Deployment, at: datetime) -> Deployment:
    """Audit the decision before it takes effect. Raise CloudUnavailable."""
    message = audit_message(deployment, OVERRIDDEN, at)
    audit_first(ports.audit, message)
    return with_audited(deployment, message)


def _reject(ports: Ports, deployment: Deployment, by: str, at: datetime, reason: str) -> Decision:
    gate = deployment.gate
    told = because(f"{by} rejected this deployment while it waited for its apply requirements.", reason)
    if gate is not None and (gate.next, gate.by, gate.at) == (AfterGate.REJECTED, by, at):
        return _gone_on(ports, deployment, told)
    refusal = _refusal(deployment, to_go_on=False)
    if gate is None or refusal:
        return Decision(False, refusal)
    return _gone_on(ports, ports.deployments.save(rejected(deployment, gate, by, at, reason)), told)


def _gone_on(ports: Ports, deployment: Deployment, told: str) -> Decision:
    settle_gate(deployment, ports.deployments, ports.workflows)
    ports.event_publisher.changed(deployment)
    ports.event_publisher.queue_changed(deployment.queue)
    return Decision(True, told)


def _refusal(deployment: Deployment, *, to_go_on: bool = True) -> str:
    """Return why nothing can be decided; an empty text if it can."""
    if waits(deployment):
        return (
            f"{deployment.outcome.withdrawn} This plan can no longer be applied."
            if deployment.outcome.withdrawn and to_go_on
            else ""
        )
    gate = deployment.gate
    if gate is not None and gate.next is AfterGate.REJECTED:
        return f"{gate.by} already rejected this deployment. That decision is final."
    if gate is not None and gate.next is AfterGate.APPLY:
        return "All apply requirements are met, and this deployment continues automatically."
    return f"This deployment {where_it_is(deployment.state)} and does not wait for apply requirements."
