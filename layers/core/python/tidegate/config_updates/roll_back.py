"""Roll an environment back to an earlier image set. The caller has checked that the person may.

It enters the queue and is tested like any other; the set is held, so that nothing newer follows it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.config_updates.approve import approval_by, approve_entry, with_wait
from tidegate.config_updates.audit_operator import audit_operator, subject_of
from tidegate.config_updates.environment_rules import EnvironmentRules
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.answers import EntryDecision, full_because
from tidegate.config_updates.rules.approvals import EntryApproval
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.entry import RETRIABLE, EntryKind, UpdateEntry, entry_id
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.queue import Hold, waits_for, with_entry, with_hold
from tidegate.deploys.rules.waiting import Override
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again

#: Characters that tell a commit at least, as in git.
_SHORTEST = 7
#: Commits that a refusal lists.
_LISTED = 5


def roll_back(
    ports: Ports, repository: str, image_set: str, environment: str, by: str, to: str = "", *, override: str = ""
) -> EntryDecision:
    """Put an earlier image set of an environment into the queue, and hold the set.

    Asking for the same again approves it, if it needs more approvals. ``override`` is an operator's reason to let it
    pass freeze windows and missing approvals; the caller has checked that the person is one.

    ``to`` is the commit of the default branch with which that image set landed, or the beginning of it; without it, the
    one before the newest. Raise UnknownImageSet, UnknownEnvironment, and what ``current_updates`` raises. On Conflict
    or CloudUnavailable, call again.
    """
    current = current_updates(ports, repository)
    current.environment(image_set, environment)
    rules = current.rules(image_set, environment)
    asked = _Asked(rules, approval_by(ports, repository, rules, by), to, override)
    decision = deciding_again(lambda: _roll_back(ports, repository, asked))
    if decision.done:
        wake_worker(ports, repository)
    return decision


@dataclass(frozen=True, slots=True)
class _Asked:
    """What somebody asks for, and their approval."""

    rules: EnvironmentRules
    approval: EntryApproval
    to: str
    overriding: str

    @property
    def override(self) -> Override | None:
        return Override(self.approval.by, self.approval.at, self.overriding) if self.overriding else None


def _roll_back(ports: Ports, repository: str, asked: _Asked) -> EntryDecision:
    key, by = (asked.rules.image_set, asked.rules.name), asked.approval.by
    head, state = ports.config_updates.head(repository), ports.config_updates.environment(repository, *key)
    found = _earlier(state, asked.to)
    if state.newest is None or not isinstance(found, Landed):
        return EntryDecision(False, str(found))
    entry = _entry(state, state.newest, found, by, ports)
    entry = with_wait(ports, asked.rules, replace(entry, approvals=(asked.approval,), override=asked.override))
    known = ports.config_updates.entries(repository, [entry.id]).get(entry.id)
    if known is not None and known.id in head.waiting and known.waits_for:
        override = asked.override
        return approve_entry(
            ports, head, asked.rules, known, asked.approval, override=override, action=AuditedAction.ROLLED_BACK
        )
    if known is not None:
        again = f" Retry it: tidegate updates retry {repository} {known.id}" if known.state in RETRIABLE else ""
        return EntryDecision(False, f"{known.by} asked for that before; it is {known.state.value}.{again}", known)
    if full := full_because(head):
        return EntryDecision(False, f"{full} Evict some first.")
    audit_operator(
        ports,
        AuditedAction.ROLLED_BACK,
        head.repository,
        by,
        subject_of(entry),
        f"To {found.commit}. {asked.overriding}".rstrip(),
    )
    after = with_entry(head, entry)
    if head.set_state(entry.image_set).hold is None:
        reason = f"{entry.environment} is rolled back to {found.commit[:10]}."
        after = with_hold(after, entry.image_set, Hold(by, entry.requested_at, reason))
    ports.config_updates.commit(head, after, [entry])
    told = f"{entry.environment} goes back to {found.commit[:10]}, and {entry.image_set} is held."
    return EntryDecision(True, f"{told} {waits_for(head, entry)}".rstrip(), entry)


def _earlier(state: EnvironmentState, to: str) -> Landed | str:
    """Return the image set to go back to, or why there is none."""
    earlier = state.landed[1:]
    if not earlier:
        return f"Tidegate knows no earlier image set of {state.name}."
    if not to:
        return earlier[0]
    if state.newest is not None and len(to) >= _SHORTEST and state.newest.commit.startswith(to):
        return f"{state.name} has the image set of {to} now."
    found = [each for each in earlier if len(to) >= _SHORTEST and each.commit.startswith(to)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.commit[:10] for each in earlier[:_LISTED])
    return f"No earlier image set of {state.name} landed with the commit {to}. The last ones landed with: {known}."


def _entry(state: EnvironmentState, newest: Landed, found: Landed, by: str, ports: Ports) -> UpdateEntry:
    # What it goes back from is part of it: going back again, after something else has landed, is another request.
    what = state.image_set, state.name, newest.commit, found.commit
    return UpdateEntry(
        id=entry_id(EntryKind.ROLLBACK, state.repository, *what),
        repository=state.repository,
        image_set=state.image_set,
        environment=state.name,
        kind=EntryKind.ROLLBACK,
        requested_at=ports.clock.now(),
        by=by,
        app_sha=found.app_sha,
        source_sha=found.commit,
        source_environment=state.name,
    )
