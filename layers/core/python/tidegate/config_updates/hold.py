"""Hold and release an image set: held, only its rollbacks move. The caller has checked that the person may."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.audit_operator import audit_operator
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.audit import AuditedAction, Subject
from tidegate.config_updates.rules.queue import Hold, UpdateHead, one_reason, with_hold
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision


def hold_set(ports: Ports, repository: str, image_set: str, by: str, reason: str) -> Decision:
    """Keep images and promotions of a set waiting until somebody releases it, also those on the auto branch.

    On Conflict or CloudUnavailable, call again. Raise UnknownImageSet, and what ``current_updates`` raises.
    """
    current_updates(ports, repository).image_set(image_set)
    decision = deciding_again(lambda: _hold(ports, repository, image_set, by, reason))
    if decision.done:
        wake_worker(ports, repository)
    return decision


def _hold(ports: Ports, repository: str, image_set: str, by: str, reason: str) -> Decision:
    head = ports.config_updates.head(repository)
    if hold := head.set_state(image_set).hold:
        return Decision(False, f"{hold.by} holds {image_set} already: {hold.reason}")
    reason = one_reason(reason)
    audit_operator(ports, AuditedAction.HELD, head.repository, by, Subject(image_set), reason)
    held = with_hold(head, image_set, Hold(by, ports.clock.now(), reason))
    ports.config_updates.commit(head, held.about(*_waiting(ports, head, image_set)))
    return Decision(True, f"{by} holds {image_set}: its images and promotions wait. Rollbacks still move.")


def release_set(ports: Ports, repository: str, image_set: str, by: str) -> Decision:
    """End the hold of a set. On Conflict or CloudUnavailable, call again. Raise as ``hold_set`` does."""
    current_updates(ports, repository).image_set(image_set)
    decision = deciding_again(lambda: _release(ports, repository, image_set, by))
    wake_worker(ports, repository)
    review_promotions(ports, repository)
    return decision


def _release(ports: Ports, repository: str, image_set: str, by: str) -> Decision:
    head = ports.config_updates.head(repository)
    if head.set_state(image_set).hold is None:
        return Decision(False, f"{image_set} is not held.")
    audit_operator(ports, AuditedAction.RELEASED, head.repository, by, Subject(image_set))
    free = replace(with_hold(head, image_set, None), asked=True)
    ports.config_updates.commit(head, free.about(*_waiting(ports, head, image_set)))
    return Decision(True, f"{by} released {image_set}.")


def _waiting(ports: Ports, head: UpdateHead, image_set: str) -> list[str]:
    entries = ports.config_updates.entries(head.repository, head.waiting)
    return [each for each in head.waiting if each in entries and entries[each].image_set == image_set]
