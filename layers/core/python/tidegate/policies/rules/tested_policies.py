"""Results of policy tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TestedRule:
    """One rule ``test_…``: whether it holds; ``error`` is why it could not be evaluated."""

    __test__ = False

    name: str
    passed: bool
    error: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class TestedPolicies:
    """All tests of a directory. ``error`` is what kept them all from running, with its place."""

    __test__ = False

    rules: tuple[TestedRule, ...] = ()
    error: str = ""
    file: str = ""
    line: int = 0

    @property
    def passed(self) -> bool:
        """Whether there are tests, and all of them hold."""
        return not self.error and bool(self.rules) and all(each.passed for each in self.rules)
