"""Changes: their stacks and members."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer
from tidegate_cli.answers.deployments import Awaited, Brief, Replacement


class Member(Brief):
    """A deployment as a part of its change, what it still waits for, and what is deployed in its place."""

    why: str = ""
    replaced_by: Replacement | None = None
    gated_by: tuple[Awaited, ...] = ()


class Stack(Answer):
    """A stack of a change. ``tier`` counts from 1; rules name the stacks right before it."""

    name: str
    tier: int = 1
    state: str
    done: int = 0
    plan_after: tuple[str, ...] = ()
    apply_after: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()


class Change(Answer):
    """A change: its stacks by tier and name."""

    id: str
    repository: str
    revision: str
    branch: str = ""
    pull_request: int | None = None
    stacks: list[Stack]
    left_out: int = 0
    url: str = ""
