"""Pause and resume the queue of a config repository. The caller has checked that the person may."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.audit_operator import audit_operator
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.queue import Pause, one_reason
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision


def pause_queue(ports: Ports, repository: str, by: str, reason: str = "") -> Decision:
    """Let nothing move until somebody resumes the queue; announcements are stored. On Conflict, call again.

    Raise what ``current_updates`` raises.
    """
    current_updates(ports, repository)
    return deciding_again(lambda: _pause(ports, repository, by, reason))


def _pause(ports: Ports, repository: str, by: str, reason: str) -> Decision:
    head = ports.config_updates.head(repository)
    if head.pause is not None:
        return Decision(False, f"{head.pause.by} has paused the queue already.")
    audit_operator(ports, AuditedAction.PAUSED, head.repository, by, reason=one_reason(reason))
    ports.config_updates.commit(
        head, replace(head, pause=Pause(by, ports.clock.now(), one_reason(reason))).about(*head.open)
    )
    return Decision(True, f"{by} paused the queue. A step that has begun is finished, and then nothing moves.")


def resume_queue(ports: Ports, repository: str, by: str) -> Decision:
    """Let the queue continue, in its order. On Conflict or CloudUnavailable, call again."""
    decision = deciding_again(lambda: _resume(ports, repository, by))
    wake_worker(ports, repository)
    return decision


def _resume(ports: Ports, repository: str, by: str) -> Decision:
    head = ports.config_updates.head(repository)
    if head.pause is None:
        return Decision(False, "The queue is not paused.")
    audit_operator(ports, AuditedAction.RESUMED, head.repository, by)
    ports.config_updates.commit(head, replace(head, pause=None, asked=True).about(*head.open))
    return Decision(True, f"{by} resumed the queue.")
