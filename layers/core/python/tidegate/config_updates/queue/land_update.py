"""Move the default branch forward to a tested commit. The worker's next claim records what landed with it."""

from __future__ import annotations

from tidegate.config_updates.rules.queue import UpdateHead, refused, works_here
from tidegate.messages.config_updates import BranchMoved, LandUpdate
from tidegate.ports import Moved, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused


def land_update(ports: Ports, message: LandUpdate) -> BranchMoved:
    """Move the default branch, if it still is where the commits were made upon. A repeated call finds it moved.

    Raise ForgeUnavailable, and Conflict after repeated concurrent writes: call again then.
    """
    head = ports.config_updates.head(message.repository)
    if not works_here(head, message.execution) or message.commit not in {each.sha for each in head.stack}:
        return BranchMoved(moved=False, reason="The queue has changed meanwhile.")
    moved = _move(ports, head, message.commit)
    if moved.done or moved.at == message.commit:
        return BranchMoved(moved=True, reason="The default branch is at the tested commit.")
    if moved.reason:
        deciding_again(lambda: _refuse(ports, message.repository, moved.reason))
    return BranchMoved(moved=False, reason=moved.reason or "Somebody else has moved the default branch meanwhile.")


def _move(ports: Ports, head: UpdateHead, commit: str) -> Moved:
    try:
        return ports.branch_mover.move(head.repository, head.default_branch, head.base, commit)
    except ForgeRefused as refused_call:  # Such as a token that was revoked: the branch cannot be read either.
        return Moved(done=False, at="", reason=str(refused_call))


def _refuse(ports: Ports, repository: str, reason: str) -> None:
    head = ports.config_updates.head(repository)
    ports.config_updates.commit(head, refused(head, reason, ports.clock.now()))
