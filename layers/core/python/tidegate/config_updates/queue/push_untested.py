"""Push commits of the auto branch by themselves, so that CI tests each: the one that was pushed above them has failed.

The branch goes to each of them, from the lowest, and back to its end. A repeated call does the same again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidegate.config_updates.rules.queue import UpdateHead, refused, works_here
from tidegate.messages.config_updates import BranchMoved, PushUntested
from tidegate.ports import Moved, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused


def push_untested(ports: Ports, message: PushUntested) -> BranchMoved:
    """Move the auto branch through these commits, and start the clocks of their checks.

    Raise ForgeUnavailable, and Conflict after repeated concurrent writes: call again then.
    """
    head = ports.config_updates.head(message.repository)
    commits = [each.sha for each in head.stack if each.sha in message.commits]
    if not works_here(head, message.execution) or not commits:
        return BranchMoved(moved=False, reason="The queue has changed meanwhile.")
    try:
        moved = _through(ports, head, (*commits, head.auto))
    except ForgeRefused as refused_call:  # Such as a token that was revoked: the branch cannot be read either.
        moved = Moved(done=False, at="", reason=str(refused_call))
    deciding_again(lambda: _record(ports, message.repository, commits, moved))
    if moved.done:
        return BranchMoved(moved=True, reason="CI tests each of them.")
    return BranchMoved(moved=False, reason=moved.reason or "Somebody else has moved the branch meanwhile.")


def _through(ports: Ports, head: UpdateHead, commits: Collection[str]) -> Moved:
    """Move the branch to each commit, from wherever on the stack an earlier call has left it."""
    at = ports.config_branches.branch_heads(head.repository, [head.auto_branch]).get(head.auto_branch, "")
    if at not in {each.sha for each in head.stack}:
        return Moved(done=False, at=at)
    for commit in commits:
        if at == commit:
            continue
        moved = ports.branch_mover.move(head.repository, head.auto_branch, at, commit)
        if not moved.done:
            return moved
        at = commit
    return Moved(done=True, at=at)


def _record(ports: Ports, repository: str, commits: Collection[str], moved: Moved) -> None:
    head = ports.config_updates.head(repository)
    now = ports.clock.now()
    if not moved.done:
        if moved.reason:
            ports.config_updates.commit(head, refused(head, moved.reason, now))
        return
    stack = tuple(replace(each, pushed_at=now, pushed=True) if each.sha in commits else each for each in head.stack)
    ports.config_updates.commit(head, replace(head, stack=stack, refusals=0))
