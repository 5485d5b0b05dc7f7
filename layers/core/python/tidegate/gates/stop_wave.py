"""Stop a stack of a change, or let it continue in spite of its failures. Pages, the API and the CLI call these verbs.

The wave's record decides: what has not begun then never begins. Evaluating the gates of the change rejects the members
that wait; those that are still on their way are rejected when they come to their gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tidegate.changes.rules.wave import Wave, WaveDecision, continued, is_held_by_failures, stopped
from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.authorize import access_refusals
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.audit import CONTINUED, STOPPED, wave_message
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.requirements_gate import waits
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State, is_final
from tidegate.gates.decide_requirements import decide_requirements
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission

_NO_RULES = "Its stack has no rules for its rollout (max_concurrent, stop_on_failures). Reject its deployments instead."


def stop_wave(
    ports: Ports, change: str, stack: str, by: str, at: datetime, permission: Permission | None = None
) -> Decision:
    """Stop a stack for ``by``, who asked at ``at`` and may reject each of its members that has not begun.

    A repeated call changes nothing. Raise NotFound, ForgeUnavailable and ForgeRefused. On Conflict or CloudUnavailable,
    call again.
    """
    members = _members(ports, change, stack)
    pending = [each for each in members if not is_final(each.state) and each.state is not State.APPLYING]
    if not members[0].change.has_wave:
        return Decision(False, _NO_RULES)
    repository, accesses = members[0].repository, {f"root {each.root.name}": each.settings.access for each in pending}
    refusals = access_refusals(ports, accesses, repository, Action.REVIEW, by, permission)
    if refusals:
        return Decision(False, " ".join(refusals))
    return deciding_again(lambda: _stop(ports, repository, (change, stack), WaveDecision(by, at), len(pending)))


def continue_wave(ports: Ports, change: str, stack: str, by: str, at: datetime, reason: str) -> Decision:
    """Let a stack continue in spite of its failures so far, for the operator ``by``, who asked at ``at``.

    A repeated call changes nothing. Raise NotFound. On Conflict or CloudUnavailable, call again.
    """
    first = _members(ports, change, stack)[0]
    decision = WaveDecision(by, at, reason.strip())
    return deciding_again(lambda: _continue(ports, first, decision))


def reject_stopped(ports: Ports, member: Deployment, wave: Wave) -> Deployment:
    """Reject a member that waits for people in a stack that somebody stopped. Return its record."""
    if wave.stopped is None:
        return member
    by, at = wave.stopped.by, wave.stopped.at
    if member.state is State.AWAITING_REVIEW:
        decide_review(ports, member.id, Answer.REJECT, by, at)
    else:
        decide_requirements(ports, member.id, GateAnswer.REJECT, by, at)
    return ports.deployments.get(member.id)


def waits_for_people(member: Deployment) -> bool:
    """Tell whether a member waits for a review or for requirements."""
    return member.state is State.AWAITING_REVIEW or waits(member)


def _stop(ports: Ports, repository: str, key: tuple[str, str], decision: WaveDecision, pending: int) -> Decision:
    wave = ports.change_sets.wave(*key)
    if wave.stopped is not None and wave.stopped != decision:
        return Decision(False, f"{wave.stopped.by} already stopped stack {wave.stack} of this change.")
    if wave.stopped is None:
        if not pending:
            return Decision(False, f"All deployments of stack {wave.stack} have begun, so there is nothing to stop.")
        audit_first(ports.audit, wave_message(repository, wave, STOPPED, decision))
        ports.change_sets.save_wave(stopped(wave, decision))
    ports.event_publisher.change_moved(wave.change)
    running = "" if not wave.running else f" {len(wave.running)} that run are not interrupted."
    return Decision(True, f"{decision.by} stopped stack {wave.stack}. What has not begun is rejected.{running}")


def _continue(ports: Ports, member: Deployment, decision: WaveDecision) -> Decision:
    wave = ports.change_sets.wave(member.change.id, member.stack)
    if wave.continued != decision:
        refusal = _continue_refusal(member, wave, decision)
        if refusal:
            return Decision(False, refusal)
        audit_first(ports.audit, wave_message(member.repository, wave, CONTINUED, decision))
        ports.change_sets.save_wave(continued(wave, decision))
    ports.event_publisher.change_moved(wave.change)
    return Decision(True, f"{decision.by} let stack {wave.stack} continue.")


def _continue_refusal(member: Deployment, wave: Wave, decision: WaveDecision) -> str:
    if wave.stopped is not None:
        return f"{wave.stopped.by} stopped stack {wave.stack} of this change. That decision is final."
    if not is_held_by_failures(member.change.wave, wave):
        return f"Stack {wave.stack} is not held back by failures, so there is nothing to continue."
    if not decision.reason or len(decision.reason) > MAXIMUM_REASON:
        return f"Give a reason of at most {MAXIMUM_REASON} characters. It is recorded in the audit log."
    return ""


def _members(ports: Ports, change: str, stack: str) -> Sequence[Deployment]:
    """Return the newest deployments of a stack. Raise NotFound for one that the change does not have."""
    ids = [each.deployment for each in ports.change_sets.deployments(change) if each.stack == stack]
    members = list(ports.deployments.many(ids).values())
    if not members:
        raise NotFound("stack of this change", stack)
    return members
