"""Stacks: named, encapsulated groups of roots, with variables, an engine, and rules between each other.

A file declares leaves, which hold roots, and nests, which hold other stacks. What is used are leaves only:
with all that their nests say pushed down to them, and their rules expanded to leaves and closed over all steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.domain.root import Engine

#: The stack of roots that no stack claims, unless a stack of this name is declared.
DEFAULT_STACK = "default"


class RunStrategy(StrEnum):
    """Which roots of a stack run when some of them changed."""

    ONE_FOR_ONE = "one-for-one"
    ALL_FOR_ONE = "all-for-one"


@dataclass(frozen=True, slots=True)
class StackRules:
    """Rules between stacks, by name. ``plan_after`` is what ``modified_by`` says where it is None."""

    apply_after: tuple[str, ...] = ()
    plan_after: tuple[str, ...] | None = None
    modified_by: tuple[str, ...] = ()
    auto_apply: bool | None = None


@dataclass(frozen=True, slots=True)
class StackDefinition:
    """A stack as it is declared. A nest names its stacks in ``nests``; a leaf has none.

    ``variables`` are pairs of an upper-case name, without ``STACK_VAR_``, and a text.
    """

    name: str
    nests: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    engine: Engine | None = None
    rules: StackRules = field(default_factory=StackRules)
    run_strategy: RunStrategy | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """A leaf as it is used. ``within`` are the nests around it, the nearest first; rules name leaves only.

    ``apply_after``, ``plan_after`` and ``modified_by`` hold all leaves that the rule leads to, over any number
    of steps, and never the stack itself.
    """

    name: str
    within: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    engine: Engine | None = None
    apply_after: frozenset[str] = frozenset()
    plan_after: frozenset[str] = frozenset()
    modified_by: frozenset[str] = frozenset()
    auto_apply: bool | None = None
    run_strategy: RunStrategy = RunStrategy.ONE_FOR_ONE
