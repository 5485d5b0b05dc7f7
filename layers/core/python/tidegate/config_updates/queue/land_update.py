"""Move the default branch forward to a tested commit. The worker's next claim records what landed with it."""

from __future__ import annotations

from tidegate.config_updates.rules.queue import refused, works_here
from tidegate.messages.config_updates import BranchMoved, LandUpdate
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def land_update(ports: Ports, message: LandUpdate) -> BranchMoved:
    """Move the default branch, if it still is where the commits were made upon. A repeated call finds it moved.

    Raise ForgeUnavailable, and Conflict after repeated concurrent writes: call again then.
    """
    head = ports.config_updates.head(message.repository)
    if not works_here(head, message.execution) or message.commit not in {each.sha for each in head.stack}:
        return BranchMoved(moved=False, reason="The queue has changed meanwhile.")
    moved = ports.branch_mover.move(head.repository, head.default_branch, head.base, message.commit)
    if moved.done or moved.at == message.commit:
        return BranchMoved(moved=True, reason="The default branch is at the tested commit.")
    if moved.reason:
        deciding_again(lambda: _refuse(ports, message.repository, moved.reason))
    return BranchMoved(moved=False, reason=moved.reason or "Somebody else has moved the default branch meanwhile.")


def _refuse(ports: Ports, repository: str, reason: str) -> None:
    head = ports.config_updates.head(repository)
    ports.config_updates.commit(head, refused(head, reason, ports.clock.now()))
