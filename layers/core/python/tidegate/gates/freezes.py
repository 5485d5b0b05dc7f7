"""Freeze windows: kept when the default branch's file changes, and looked up before an apply.

Once more is harmless.

It is one read.
"""

from __future__ import annotations

from tidegate.config.freezes import frozen_until
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import Freeze, FreezeWindows, Hold, frozen_tags
from tidegate.ports import KnownRepository, Ports


def keep_freezes(ports: Ports, known: KnownRepository, windows: tuple[Freeze, ...]) -> None:
    """Keep what the file of a commit says. If a newer one was seen, that one's file says it instead."""
    stored = ports.queues.freezes(known.name)
    if stored.windows != windows and ports.repository_index.repository(known.name).seen == known.seen:
        ports.queues.keep_freezes(FreezeWindows(known.name, windows))


def held_freezes(ports: Ports, deployment: Deployment) -> tuple[Hold, ...]:
    """Return the windows that hold.

    A root that only a pull request has may be any of the default branch's, renamed or moved: each window holds.
    """
    windows = ports.queues.freezes(deployment.repository).windows
    now, judged = ports.clock.now(), frozen_tags(deployment)
    due = [(each, frozen_until(each, now)) for each in windows if deployment.request.foreign or each.matches(judged)]
    return tuple(Hold(each, until) for each, until in due if until)
