"""Promote to an environment by hand: what runs in the one before it. The caller has checked that the person may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.config.rules.config_updates import DeclaredImageSet
from tidegate.config_updates.approve import approval_by, approve_entry, with_wait
from tidegate.config_updates.audit_operator import audit_operator, subject_of
from tidegate.config_updates.environment_rules import EnvironmentRules
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.answers import EntryDecision, full_because
from tidegate.config_updates.rules.approvals import EntryApproval, with_approval
from tidegate.config_updates.rules.audit import AuditedAction, Subject
from tidegate.config_updates.rules.entry import RETRIABLE, EntryKind, UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.promotion import Promotion, PromotionSource, Stage
from tidegate.config_updates.rules.queue import UpdateHead, waits_for, with_entry
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again

_BEFORE = {
    Stage.CHECKS: "its required checks have not passed",
    Stage.TARGETS: "not all of its targets have deployed it",
    Stage.SOAK: "it soaks",
}


def promote_to(ports: Ports, repository: str, image_set: str, environment: str, by: str) -> EntryDecision:
    """Approve the promotion that waits for a person, or put one into the queue of what all targets before run.

    ``environment`` is where the image set goes. Raise UnknownImageSet, UnknownEnvironment, and what ``current_updates``
    raises. On Conflict or CloudUnavailable, call again.
    """
    current = current_updates(ports, repository)
    current.environment(image_set, environment)
    declared = current.image_set(image_set)
    rules = current.rules(image_set, environment)
    approval = approval_by(ports, repository, rules, by)
    decision = deciding_again(lambda: _promote(ports, repository, declared, rules, approval))
    if decision.done and decision.entry is None:
        review_promotions(ports, repository)
    elif decision.done:
        wake_worker(ports, repository)
    return decision


def _promote(
    ports: Ports, repository: str, declared: DeclaredImageSet, rules: EnvironmentRules, approval: EntryApproval
) -> EntryDecision:
    name = rules.name
    names = [each.name for each in declared.environments]
    if names.index(name) == 0:
        return EntryDecision(
            False, f"{name} is the first environment of {declared.name}: images enter it when announced."
        )
    before = names[names.index(name) - 1]
    of_it = [
        each
        for each in ports.config_updates.open_promotions(repository)
        if each.image_set == declared.name and each.following is not None and each.following.name == name
    ]
    state = ports.config_updates.environment(repository, declared.name, before)
    if waiting := [each for each in of_it if each.stage is Stage.AFTER]:
        return _approve(ports, _newest(state, waiting), approval)
    head = ports.config_updates.head(repository)
    if entry := _waiting_entry(ports, head, (declared.name, name)):
        return approve_entry(ports, head, rules, entry, approval)
    running = [each for each in of_it if each.stage in _BEFORE]
    if running or state.newest is None or state.complete != state.newest.identity:
        why = _BEFORE[running[0].stage if running else Stage.TARGETS]
        return EntryDecision(False, f"The image set of {before} cannot be promoted yet: {why}.")
    return _enqueue(ports, state, state.newest, rules, approval)


def _waiting_entry(ports: Ports, head: UpdateHead, key: tuple[str, str]) -> UpdateEntry | None:
    """Return the newest promotion to an environment that approvals or a freeze window keep in the queue."""
    known = ports.config_updates.entries(head.repository, head.waiting)
    found = (known[each] for each in reversed(head.waiting) if each in known)
    of_it = (each for each in found if each.environment_key == key and each.kind is EntryKind.PROMOTION)
    return next((each for each in of_it if each.waits_for), None)


def _newest(state: EnvironmentState, waiting: Sequence[Promotion]) -> Promotion:
    """Return the promotion of the image set that landed last."""
    order = [each.identity for each in state.landed]
    return min(waiting, key=lambda each: order.index(each.identity) if each.identity in order else len(order))


def _approve(ports: Ports, waiting: Promotion, approval: EntryApproval) -> EntryDecision:
    by = approval.by
    known = by.casefold() in {each.by.casefold() for each in waiting.approvals}
    if known or (waiting.approved_by and not approval.meets):
        return EntryDecision(False, f"{waiting.approved_by} has promoted it already. {waiting.reason}".rstrip())
    to = waiting.following.name if waiting.following else ""
    audit_operator(ports, AuditedAction.PROMOTED, waiting.repository, by, Subject(waiting.image_set, to, waiting.entry))
    given = with_approval(waiting.approvals, approval)
    ports.config_updates.save_promotion(replace(waiting, approved_by=waiting.approved_by or by, approvals=given))
    return EntryDecision(True, f"{by} promotes the image set of {waiting.environment}.")


def _enqueue(
    ports: Ports, source: EnvironmentState, what: Landed, rules: EnvironmentRules, approval: EntryApproval
) -> EntryDecision:
    name, by = rules.name, approval.by
    store, repository = ports.config_updates, source.repository
    head = store.head(repository)
    newest = store.environment(repository, source.image_set, name).newest
    if newest is not None and newest.identity == what.identity:
        return EntryDecision(False, f"{name} has the image set of {source.name} already.")
    landed = store.entries(repository, [what.entry]).get(what.entry)
    copied = PromotionSource(
        repository,
        source.image_set,
        source.name,
        what.commit,
        what.identity,
        what.app_sha,
        landed.sequence if landed else 0,
    )
    entry = with_wait(ports, rules, copied.entry_to(name, by, ports.clock.now(), (approval,)))
    known = store.entries(repository, [entry.id]).get(entry.id)
    if known is not None:
        again = f" Retry it: tidegate updates retry {repository} {known.id}" if known.state in RETRIABLE else ""
        return EntryDecision(False, f"That promotion exists; it is {known.state.value}.{again}", known)
    if full := full_because(head):
        return EntryDecision(False, f"{full} Evict some first.")
    audit_operator(ports, AuditedAction.PROMOTED, head.repository, by, subject_of(entry))
    store.commit(head, with_entry(head, entry), [entry])
    return EntryDecision(True, f"It is in the queue. {waits_for(head, entry)}".rstrip(), entry)
