"""Retry an entry that was evicted or has failed: it enters the queue again.

The caller has checked that the person may.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.audit_operator import audit_operator, subject_of
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.answers import EntryDecision, full_because
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.entry import RETRIABLE, EntryState, UpdateEntry, newer_of
from tidegate.config_updates.rules.queue import UpdateHead, waits_for, with_entry
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def retry_entry(ports: Ports, repository: str, entry: str, by: str) -> EntryDecision:
    """Put an entry at the end of the queue, with the same id and its next attempt.

    Approvals are of the image set, and stay. An operator's override is of one attempt: whoever retries may be none.

    Raise NotFound. On Conflict or CloudUnavailable, call again.
    """
    decision = deciding_again(lambda: _retry(ports, repository, entry, by))
    if decision.done:
        wake_worker(ports, repository)
    return decision


def _retry(ports: Ports, repository: str, identifier: str, by: str) -> EntryDecision:
    head, entry = ports.config_updates.head(repository), ports.config_updates.entry(repository, identifier)
    if refusal := _refusal(ports, head, entry):
        return EntryDecision(False, refusal, entry)
    audit_operator(ports, AuditedAction.RETRIED, head.repository, by, subject_of(entry))
    again = replace(
        entry,
        attempt=entry.attempt + 1,
        state=EntryState.QUEUED,
        reason="",
        commit="",
        identity="",
        covered=False,
        ended_at=None,
        override=None,
    )
    ports.config_updates.commit(head, with_entry(head, again), [again])
    return EntryDecision(True, f"{by} put it into the queue again. {waits_for(head, again)}".rstrip(), again)


def _refusal(ports: Ports, head: UpdateHead, entry: UpdateEntry) -> str:
    if entry.state not in RETRIABLE:
        allowed = " or ".join(sorted(each.value for each in RETRIABLE))
        return f"It is {entry.state.value}. Only what is {allowed} can be retried."
    if full := full_because(head):
        return f"{full} Retry it once some have landed."
    if newer := _newer(ports, head, entry):
        return (
            f"A newer image set of {entry.image_set} (sequence {newer.sequence}) has landed or is in the queue, and "
            f"would be undone. To go back, use: tidegate updates rollback {entry.repository} {entry.environment} "
            f"--set {entry.image_set}"
        )
    return ""


def _newer(ports: Ports, head: UpdateHead, entry: UpdateEntry) -> UpdateEntry | None:
    """Return a newer announcement for the same environment that is in the queue, or was the last to land."""
    landed = ports.config_updates.environment(entry.repository, *entry.environment_key).newest
    of_it = [*head.open, landed.entry] if landed and landed.entry else [*head.open]
    others = ports.config_updates.entries(entry.repository, of_it)
    return newer_of(entry, (others[each] for each in of_it if each in others))
