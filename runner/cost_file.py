"""The file in which a step states what a plan costs (``tidegate.plans.rules.cost``)."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.plans.rules.cost import LARGEST, Mask, PlanCost, read_cost, unknown_cost

#: The variable by which steps know the file.
COST_VARIABLE = "TIDEGATE_COST_FILE"


@dataclass(frozen=True, slots=True)
class CostFile:
    """A file that programs may write in any way, and with any content."""

    path: Path

    @classmethod
    def made_in(cls, directory: Path) -> CostFile:
        """Return one that does not exist yet, in a directory of its own, whose name nobody knows before."""
        from tempfile import mkdtemp  # noqa: PLC0415  # The start of each job would pay for it.

        return cls(Path(mkdtemp(prefix="cost-", dir=directory)) / "infracost.json")

    def read(self, steps: Sequence[WorkflowStep], mask: Mask) -> PlanCost | None:
        """Return the cost, one that is not known if the file cannot be read, and None if no step was to write it."""
        try:
            content = self._content()
        except FileNotFoundError:
            return unknown_cost("no step has written the file") if any(map(_names_it, steps)) else None
        except OSError as error:
            return unknown_cost(f"the file cannot be read: {error.strerror}")
        return unknown_cost(content) if isinstance(content, str) else read_cost(content, mask)

    def _content(self) -> bytes | str:
        """Return the file's content, or why it is not read. Raise OSError, for a symbolic link as well."""
        with open(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return "the file is not a regular file"
            content = file.read(LARGEST + 1)
        return content if len(content) <= LARGEST else f"the file is larger than {LARGEST // 1_000_000} MB"


def _names_it(step: WorkflowStep) -> bool:
    """Tell whether a step's command or its variables name the file."""
    return any(COST_VARIABLE in text for text in (*step.command, *(value for _, value in step.env)))
