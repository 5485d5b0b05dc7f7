"""Process a button of an entry's check run: evict it, retry it, or roll its environment back to what was before it."""

from __future__ import annotations

from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.publish_entry import publish_entry
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound, TidegateError
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.check_run import Button


def answer_entry_button(ports: Ports, repository: str, entry: str, button: str, by: str) -> str:
    """Do the button's action, or refuse it on the check run. Return the result, in a few words, for the log.

    Raise NotFound for an unknown entry, ForgeUnavailable, and Conflict after repeated concurrent writes.
    """
    if ports.people.permission(repository, by) < Permission.WRITE:
        decision = Decision(False, f"{by} needs write permission on {repository} for that. Nothing was changed.")
    else:
        decision = _act(ports, repository, entry, button, by)
    if not decision.done:
        publish_entry(ports, repository, entry, notice=decision.reason)
    return "done" if decision.done else f"refused: {decision.reason}"


def _act(ports: Ports, repository: str, entry: str, button: str, by: str) -> Decision:
    try:
        if button == Button.EVICT:
            return evict_entry(ports, repository, entry, by)
        if button == Button.RETRY:
            return retry_entry(ports, repository, entry, by)
        if button == Button.ROLL_BACK:
            return _roll_back(ports, repository, entry, by)
    except NotFound:
        raise
    except TidegateError as refusal:
        return Decision(False, str(refusal))
    return Decision(False, f"Unknown button {button!a}.")


def _roll_back(ports: Ports, repository: str, identifier: str, by: str) -> Decision:
    entry = ports.config_updates.entry(repository, identifier)
    newest = ports.config_updates.environment(repository, *entry.place).newest
    if newest is None or newest.entry != identifier:
        return Decision(False, f"A newer image set has landed in {entry.environment}. Roll that one back.")
    return roll_back(ports, repository, entry.image_set, entry.environment, by)
