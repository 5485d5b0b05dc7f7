"""Freeze windows: stored when the default branch's configuration changes, and read before an apply.

A repeated call is harmless.

It takes one read.
"""

from __future__ import annotations

from tidegate.config.freezes import frozen_until
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import Freeze, FreezeWindows, Hold, frozen_tags
from tidegate.ports import KnownRepository, Ports


def keep_freezes(ports: Ports, known: KnownRepository, windows: tuple[Freeze, ...]) -> None:
    """Store the freeze windows of a commit's configuration, or those of a newer known commit."""
    stored = ports.queues.freezes(known.name)
    if stored.windows != windows and ports.repository_index.repository(known.name).seen == known.seen:
        ports.queues.keep_freezes(FreezeWindows(known.name, windows))


def held_freezes(ports: Ports, deployment: Deployment) -> tuple[Hold, ...]:
    """Return the active windows.

    A root that only a pull request has may be a renamed or moved one of the default branch: every window applies.
    """
    windows = ports.queues.freezes(deployment.repository).windows
    now, judged = ports.clock.now(), frozen_tags(deployment)
    due = [(each, frozen_until(each, now)) for each in windows if deployment.request.foreign or each.matches(judged)]
    return tuple(Hold(each, until) for each, until in due if until)
