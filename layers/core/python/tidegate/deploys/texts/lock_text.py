"""Who keeps whom out of a locked queue, and what ends the lock, as text."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.deploys.rules.queue import Lock

#: Writes a text as its reader needs it, such as in Markdown.
Written = Callable[[str], str]


def keeps_out(lock: Lock, pull_request: int | None) -> bool:
    """Tell whether this lock of a root's queue keeps a pull request from being applied to the root."""
    return not lock.unlocking and (pull_request is None or lock.pull_request != pull_request)


def apply_refusal(root: str, pull_request: int | None, lock: Lock | None) -> str:
    """Return why a pull request is not applied to a root whose queue has this lock; an empty text if it may be.

    One would undo what another has applied. Its own lock, unless it is not known what was applied, lets it through.
    """
    if lock is None or not keeps_out(lock, pull_request):
        return ""
    return locked_until(root, lock)


def locked_by(root: str, lock: Lock, *, name: Written = str, prose: Written = str) -> str:
    """Return who has locked the queue of a root, and why; ``name`` and ``prose`` write names and sentences."""
    return f"The queue of {name(root)} is locked by {name(lock.by)}: {prose(lock.reason)}"


def locked_until(root: str, lock: Lock, prefix: str = "tidegate", *, name: Written = str, prose: Written = str) -> str:
    """Return the same, and what ends the lock; comments begin with ``prefix``."""
    unlock = name(f"{prefix} unlock -p {root}")
    return (
        f"{locked_by(root, lock, name=name, prose=prose)} Wait for that, or comment {unlock} if that change may "
        "be undone."
    )


def locked_by_itself(root: str, lock: Lock, *, name: Written, prose: Written) -> str:
    """Return the same to the pull request that holds the lock."""
    return f"{locked_by(root, lock, name=name, prose=prose)} Comment {name(f'tidegate unlock -p {root}')} to unlock it."
