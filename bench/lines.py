"""What a benchmark reports: one line of JSON, and one for people."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """A result: the measured median and the baseline's, and what is compared with the target.

    ``compared`` names that value: ``ratio`` (measured ÷ baseline), ``difference`` (measured less the baseline), or
    ``median``. ``unit`` is that of both medians, ``s`` by default. Without a target the line only informs.
    """

    name: str
    median: float
    baseline: float
    target: float | None
    compared: str = "ratio"
    unit: str = "s"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.median / self.baseline if self.baseline else 1.0 + self.median

    @property
    def met(self) -> bool | None:
        """Tell whether the target is met; None without one."""
        values = {"ratio": self.ratio, "difference": self.median - self.baseline, "median": self.median}
        return None if self.target is None else round(values[self.compared], 3) <= self.target

    def fields(self) -> dict[str, Any]:
        """Return what is printed."""
        return {
            "name": self.name,
            "ratio": round(self.ratio, 3),
            "median": round(self.median, 6),
            "baseline_median": round(self.baseline, 6),
            "difference": round(self.median - self.baseline, 6),
            "unit": self.unit,
            "compared": self.compared,
            "target": self.target,
            "met": self.met,
            **self.more,
        }

    def print(self) -> None:
        """Print JSON on standard output and a summary on standard error."""
        print(json.dumps(self.fields()), flush=True)
        verdict = {True: "meets", False: "MISSES", None: "has no"}[self.met]
        target = "target" if self.target is None else f"its target ({self.compared} ≤ {self.target:g})"
        values = f"{self.median:.4g} {self.unit} against {self.baseline:.4g} {self.unit}, ratio {self.ratio:.2f}"
        print(f"{self.name:<22} {values}; {verdict} {target}", file=sys.stderr, flush=True)


def paired(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    """Measure both in turn, so that what else the machine does strikes both alike."""
    return [(ours(), theirs()) for _ in range(rounds)]


def medians(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the median of each side."""
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def noise(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return how many runs there were and how far the ratio of single pairs went."""
    ratios = [ours / theirs for ours, theirs in pairs]
    return {"runs": len(pairs), "ratio_of_pairs": [round(min(ratios), 3), round(max(ratios), 3)]}
