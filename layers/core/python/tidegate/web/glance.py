"""A repository's summary: how many roots, what runs and waits, and what needs a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.queue.get_queue import RootView
from tidegate.deploys.rules.needs import Need, needs, runs
from tidegate.deploys.rules.state import State
from tidegate.web.grouping import is_resting

#: Repositories with more than a name on the page, the newest ones: each costs a read.
GLANCED = 40


@dataclass(frozen=True, slots=True)
class Glance:
    """How many roots a repository has, how many deployments run and wait, and the roots by what they need."""

    roots: int
    running: int
    waiting: int
    needs: Mapping[Need, tuple[RootView, ...]]


def glance(views: Sequence[RootView], now: datetime) -> Glance:
    """Return a repository's summary. A root without activity for half a year needs nobody."""
    active = [view for view in views if not is_resting(view, now)]
    found = {need: tuple(view for view in active if need in _needs(view)) for need in Need}
    return Glance(
        len(views),
        sum(runs(_running(view)) for view in active),
        sum(view.head.length for view in active),
        {need: its for need, its in found.items() if its},
    )


def _needs(view: RootView) -> tuple[Need, ...]:
    last = view.last.state if view.last else None
    return needs(_running(view), last, locked=view.head.lock is not None)


def _running(view: RootView) -> State | None:
    return view.running.state if view.running else None
