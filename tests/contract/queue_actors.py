"""Who acts on a queue: processes that die, executions and their children, a forge whose commits are numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.builders import NOW
from tests.fakes import (
    MemoryForge,
)
from tidegate.deploys.rules.queue import ROUNDS_PER_EXECUTION
from tidegate.rules.errors import NotFound, TooLate
from tidegate.vcs.rules.comparison import Comparison

#: Revisions from here on are on other branches: diverged from every other one.
BRANCHES = 100


class Died(Exception):
    """The process died in the middle of its work."""


@dataclass
class Fate:
    """Which of the next calls to a port is a process's last, and whether it still has its effect."""

    countdown: int | None = None
    after: bool = False

    def is_due(self) -> bool:
        if self.countdown is None:
            return False
        self.countdown -= 1
        if self.countdown >= 0:
            return False
        self.countdown = None
        return True


class Mortal:
    """A port whose callers may die at any call."""

    def __init__(self, port: Any, fate: Fate) -> None:
        self._port, self._fate = port, fate

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._port, name)

        def call(*arguments: Any, **named: Any) -> Any:
            due = self._fate.is_due()
            if due and not self._fate.after:
                raise Died
            result = method(*arguments, **named)
            if due:
                raise Died
            return result

        return call


class Revisions(MemoryForge):
    """A forge whose commits are numbers: a larger one is ahead, those of branches are diverged."""

    def compare(self, repository: str, base: str, head: str) -> Comparison:
        if head == "main":
            return Comparison.DIVERGED if int(base, 16) >= BRANCHES else Comparison.AHEAD
        return relation(int(base, 16), int(head, 16))


def relation(base: int, head: int) -> Comparison:
    if base == head:
        return Comparison.IDENTICAL
    if max(base, head) >= BRANCHES:
        return Comparison.DIVERGED
    return Comparison.AHEAD if head > base else Comparison.BEHIND


@dataclass
class Execution:
    """A deploy execution: the next step, and the variables that the steps pass on."""

    name: str
    step: str = "claim"
    rounds: int = ROUNDS_PER_EXECUTION - 2
    started: datetime = NOW
    version: int = 0
    deployment: str = ""
    token: str = ""
    error: str | None = None
    alive: bool = True


@dataclass
class Child:
    """A Terraform execution: the next step; ``crash`` ends it at any of them."""

    deployment: str
    step: str = "plan"


@dataclass
class Machines:
    """Step Functions: the port ``Workflows``, and the executions that it started."""

    executions: dict[str, Execution] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)

    def start_deploy(self, execution: str, _queue: str) -> None:
        self.executions.setdefault(execution, Execution(execution))

    def ending(self, execution: str) -> str | None:
        if execution not in self.executions:
            raise NotFound("execution", execution)
        return None if self.executions[execution].alive else "ABORTED"

    def settle(self, token: str, _output: object) -> None:
        for execution in self.executions.values():
            if execution.alive and execution.step == "waiting" and execution.token == token:
                execution.step, execution.token = "claim", ""
                return
        raise TooLate
