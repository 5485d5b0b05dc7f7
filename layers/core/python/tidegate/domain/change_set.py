"""Change sets: all roots that one revision changes or pulls in, each in its stack, in layers.

Inside a stack, ``depends_on`` pulls in and orders; between stacks, only their rules do (encapsulation).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.domain.root import Root
from tidegate.domain.stack import DEFAULT_STACK
from tidegate.domain.tag_query import TagQuery
from tidegate.domain.tag_terms import Tagged
from tidegate.domain.waits import Waits

#: A root in a stack: the root's name and the stack's.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A root in one of its stacks, and what it depends on among the others of this stack."""

    root: Root
    tagged: Tagged
    stack: str = DEFAULT_STACK
    depends_on: TagQuery | None = None

    @property
    def key(self) -> Key:
        return self.root.name, self.stack


@dataclass(frozen=True, slots=True)
class Member:
    """A root of a change set, in one stack. ``why`` is a sentence; ``layer`` counts from 1.

    A layer is the longest path to it over what must be applied before it is planned.
    """

    root: Root
    stack: str
    why: str
    layer: int = 1
    waits: Waits = field(default_factory=Waits)

    @property
    def key(self) -> Key:
        return self.root.name, self.stack


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The members, in an order in which each comes after all that it waits for; ties by name."""

    members: tuple[Member, ...]

    @property
    def layers(self) -> int:
        return max((member.layer for member in self.members), default=0)
