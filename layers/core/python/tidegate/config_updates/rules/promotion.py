"""The way of an image set through one environment: its checks, its targets, the soak, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.config.rules.config_updates import Promote


class Stage(StrEnum):
    """Where a promotion is. ``AFTER``: it waits for what comes first. ``ENDED``: ``reason`` says how."""

    CHECKS = "checks"
    TARGETS = "targets"
    SOAK = "soak"
    AFTER = "after"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AwaitedStack:
    """A stack of Terraform roots that must be deployed first, up to the head that was seen (empty: not seen yet)."""

    repository: str
    stack: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class NextEnvironment:
    """The environment that follows: what it waits for besides, and who promotes to it."""

    name: str
    promote: Promote = Promote.AUTO
    environments: tuple[str, ...] = ()  # SET/ENVIRONMENT each
    stacks: tuple[AwaitedStack, ...] = ()


@dataclass(frozen=True, slots=True)
class Promotion:
    """One execution of the machine ``promotion``: an entry in its environment, with the chain that it started with.

    ``token`` is the task token of the stage's wait, whose attempt ``token_attempt`` sorts. ``commit`` and ``identity``
    are set once it has landed. ``approved_by`` is who promoted it by hand. ``failed`` tells that a target failed.
    """

    repository: str
    entry: str
    attempt: int
    image_set: str
    environment: str
    file: str
    targets: tuple[str, ...]
    soak_seconds: int
    following: NextEnvironment | None = None
    version: int = 0
    stage: Stage = Stage.CHECKS
    token: str = ""
    token_attempt: str = ""
    commit: str = ""
    identity: str = ""
    landed_at: datetime | None = None
    complete_at: datetime | None = None
    stalled: bool = False
    failed: bool = False
    approved_by: str = ""
    reason: str = ""

    @property
    def execution(self) -> str:
        """The name of its execution: an attempt of an entry is never promoted twice."""
        return f"promotion-{self.entry}-{self.attempt}"
