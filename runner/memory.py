"""Whether the kernel killed a process of this container for memory: the engine, or a provider."""

from __future__ import annotations

from pathlib import Path

#: Where the container's group counts it: control groups of version 2, and of version 1.
_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))


def kills(counters: tuple[Path, ...] = _COUNTERS) -> int:
    """Return how many processes were killed so far; 0 if there is no counter."""
    for counter in counters:
        try:
            lines = counter.read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            continue
        for name, _, number in (line.partition(" ") for line in lines):
            if name == "oom_kill" and number.isdigit():
                return int(number)
    return 0
