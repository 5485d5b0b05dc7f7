"""Evict an entry: it leaves the queue. The caller has checked that the person may."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.audit_operator import audit_operator, subject_of
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.rules.answers import EntryDecision
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.queue import Eviction, UpdateHead, ended, eviction_reason, without
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def evict_entry(ports: Ports, repository: str, entry: str, by: str) -> EntryDecision:
    """Let a waiting entry leave at once, and one on the auto branch with the worker's next replay.

    Raise NotFound. On Conflict or CloudUnavailable, call again.
    """
    decision = deciding_again(lambda: _evict(ports, repository, entry, by))
    wake_worker(ports, repository)
    return decision


def _evict(ports: Ports, repository: str, identifier: str, by: str) -> EntryDecision:
    head, entry = ports.config_updates.head(repository), ports.config_updates.entry(repository, identifier)
    if entry.is_ended or identifier not in head.open:
        return EntryDecision(
            False, f"It is not in the queue: it is {entry.state.value}. {entry.reason}".rstrip(), entry
        )
    if found := next((each for each in head.evictions if each.entry == identifier), None):
        return EntryDecision(False, f"{found.by} evicts it already.", entry)
    audit_operator(ports, AuditedAction.EVICTED, head.repository, by, subject_of(entry))
    eviction = Eviction(identifier, by, ports.clock.now())
    if identifier in head.waiting and not _is_made(head, identifier):
        left = ended(entry, EntryState.EVICTED, eviction_reason(eviction), eviction.at)
        ports.config_updates.commit(head, replace(without(head, {identifier}), asked=True), [left])
        return EntryDecision(True, eviction_reason(eviction), left)
    marked = replace(head, evictions=(*head.evictions, eviction), asked=True)
    ports.config_updates.commit(head, marked.about(identifier))
    later = "when somebody resumes the queue" if head.pause else "with the next replay, unless it lands first"
    return EntryDecision(True, f"It leaves the auto branch {later}.", entry)


def _is_made(head: UpdateHead, entry: str) -> bool:
    """Tell whether a replay in progress makes its commit."""
    return head.replaying is not None and entry in head.replaying.entries
