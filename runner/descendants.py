"""Processes left behind by a job's programs: a daemon must neither outlive its step nor affect later ones."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

#: Of linux/prctl.h.
_PR_SET_CHILD_SUBREAPER = 36
#: A fork bomb that outruns the kills ends with the container.
_ROUNDS = 100


def adopt_descendants() -> None:
    """Become the parent of orphaned processes below this one, so that they can be found."""
    import ctypes  # noqa: PLC0415  # Nothing else here needs it.

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants() -> None:
    """Kill all children of this process, and their orphans in turn. No program may be running on purpose."""
    for _ in range(_ROUNDS):
        children = children_of(os.getpid())
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def children_of(process: int) -> set[int]:
    """Return the direct children of a process: none where there is no ``/proc``."""
    children: set[int] = set()
    for task in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):  # A thread may end meanwhile.
            children.update(map(int, (task / "children").read_text().split()))
    return children
