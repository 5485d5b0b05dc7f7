"""Approve an entry that waits in the queue for approvals, by asking for the same again. The caller checks who may."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.audit_operator import audit_operator, subject_of
from tidegate.config_updates.environment_rules import EnvironmentRules, wait_of
from tidegate.config_updates.rules.answers import EntryDecision
from tidegate.config_updates.rules.approvals import EntryApproval, stood_for, with_approval
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.deploys.rules.waiting import Override
from tidegate.ports import Ports
from tidegate.rules.access import Person, teams_among
from tidegate.rules.permission import Permission


def approval_by(ports: Ports, repository: str, rules: EnvironmentRules, by: str) -> EntryApproval:
    """Return a person's approval. The VCS provider is asked only if approvals are required."""
    wanted = rules.required
    if wanted is None or not wanted.asks_people:
        return EntryApproval(by, ports.clock.now())
    permission = ports.people.permission(repository, by)
    asked = teams_among(wanted.grantees) if permission >= Permission.READ else ()
    teams = frozenset(each for each in asked if ports.people.is_team_member(repository, each, by))
    return EntryApproval(by, ports.clock.now(), stood_for(Person(by, permission, teams), wanted))


def with_wait(ports: Ports, rules: EnvironmentRules, entry: UpdateEntry) -> UpdateEntry:
    """Return an entry with what it waits for."""
    return replace(entry, waits_for=wait_of(rules, entry, ports.clock.now()).reason)


def approve_entry(
    ports: Ports,
    head: UpdateHead,
    rules: EnvironmentRules,
    entry: UpdateEntry,
    approval: EntryApproval,
    *,
    override: Override | None = None,
    action: AuditedAction = AuditedAction.PROMOTED,
) -> EntryDecision:
    """Add an approval, or an operator's override, to a waiting entry. Raise Conflict if the queue has changed."""
    known = {each.by.casefold() for each in entry.approvals}
    if approval.by.casefold() in known and override is None:
        return EntryDecision(False, f"{approval.by} asked for that before. {entry.waits_for}".rstrip(), entry)
    audit_operator(ports, action, head.repository, approval.by, subject_of(entry), override.reason if override else "")
    given = with_approval(entry.approvals, approval)
    approved = with_wait(ports, rules, replace(entry, approvals=given, override=override or entry.override))
    ports.config_updates.commit(head, replace(head, asked=True).about(entry.id), [approved])
    done = f"{approval.by} {'overrides what it waits for' if override else 'approves it'}."
    return EntryDecision(True, f"{done} {approved.waits_for}".rstrip(), approved)
