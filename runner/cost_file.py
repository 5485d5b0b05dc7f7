"""The file in which a step states what a plan costs (``tidegate.plans.rules.infracost``)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.plans.rules.cost import PlanCost, unknown_cost

#: The variable by which steps know the file.
COST_VARIABLE = "TIDEGATE_COST_FILE"


@dataclass(frozen=True, slots=True)
class CostFile:
    """A file that programs may write in any way, and with any content."""

    path: Path

    @classmethod
    def made_in(cls, directory: Path) -> CostFile:
        """Return one that does not exist yet, in a directory of its own, whose name nobody knows before."""
        own = directory / f"cost-{os.urandom(16).hex()}"
        own.mkdir(mode=0o700)
        return cls(own / "infracost.json")

    def read(self, steps: Sequence[WorkflowStep], mask: Callable[[str], str]) -> PlanCost | None:
        """Return the cost, one that is not known if the file cannot be read, and None if no step was to write it."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return unknown_cost("no step has written the file") if any(map(_names_it, steps)) else None
        except OSError as error:
            return unknown_cost(f"the file cannot be read: {error.strerror}")
        return _read(descriptor, mask)


def _read(descriptor: int, mask: Callable[[str], str]) -> PlanCost:
    from tidegate.plans.rules.infracost import LARGEST, read_cost  # noqa: PLC0415  # Other plans do without it.

    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return unknown_cost("the file is not a regular file")
    with open(descriptor, "rb") as file:  # A path could lead elsewhere by now.
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        return unknown_cost(f"the file is larger than {LARGEST // 1_000_000} MB")
    return read_cost(content, mask)


def _names_it(step: WorkflowStep) -> bool:
    """Tell whether a step's command or its variables name the file."""
    return any(COST_VARIABLE in text for text in (*step.command, *(value for _, value in step.env)))
