"""Process a button of an entry's check run: evict it, retry it, or roll its environment back to what was before it."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.config_updates.authorize import may_operate
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.config_updates.rules.operations import Operated, Operation
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.rules.errors import CloudUnavailable, Conflict, ForgeUnavailable, NotFound, TidegateError
from tidegate.vcs.rules.check_run import Button

_OPERATIONS: Mapping[str, Operation] = {
    Button.EVICT: Operation.EVICT,
    Button.RETRY: Operation.RETRY,
    Button.ROLL_BACK: Operation.ROLL_BACK,
}


def answer_entry_button(ports: Ports, repository: str, entry: str, button: str, by: str) -> str:
    """Do the button's action, or refuse it on the check run. Return the result, in a few words, for the log.

    Raise NotFound for an unknown entry; ForgeUnavailable, CloudUnavailable and Conflict: call again then.
    """
    decision = _act(ports, repository, entry, button, by)
    if not decision.done:
        ports.event_publisher.entry_refused(repository, entry, decision.reason)
    return "done" if decision.done else f"refused: {decision.reason}"


def _act(ports: Ports, repository: str, entry: str, button: str, by: str) -> Decision:
    try:
        if (operation := _OPERATIONS.get(button)) is None:
            return Decision(False, f"Unknown button {button!a}.")
        granted = may_operate(ports, Operated(operation, repository, entry=entry), by)
        if not granted.done:
            return granted
        if operation is Operation.EVICT:
            return evict_entry(ports, repository, entry, by)
        if operation is Operation.RETRY:
            return retry_entry(ports, repository, entry, by)
        return _roll_back(ports, repository, entry, by)
    except (NotFound, ForgeUnavailable, CloudUnavailable, Conflict):
        raise
    except TidegateError as refusal:
        return Decision(False, str(refusal))


def _roll_back(ports: Ports, repository: str, identifier: str, by: str) -> Decision:
    entry = ports.config_updates.entry(repository, identifier)
    newest = ports.config_updates.environment(repository, *entry.environment_key).newest
    if newest is None or newest.entry != identifier:
        return Decision(False, f"A newer image set has landed in {entry.environment}. Roll that one back.")
    return roll_back(ports, repository, entry.image_set, entry.environment, by)
