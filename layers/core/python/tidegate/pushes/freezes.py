"""Freeze windows: kept when the default branch's file changes, and looked up before an apply."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.config.freezes import frozen_until
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import Freeze, FreezeWindows, Hold, frozen_tags
from tidegate.ports import Catalog, Clock, DeployQueues, KnownRepository


@dataclass(frozen=True, slots=True)
class FreezeKeeper:
    """Keeps windows; once more is harmless."""

    queues: DeployQueues
    catalog: Catalog

    def keep(self, known: KnownRepository, windows: tuple[Freeze, ...]) -> None:
        """Keep what the file of a commit says. If a newer one was seen, that one's file says it instead."""
        stored = self.queues.freezes(known.name)
        if stored.windows != windows and self.catalog.repository(known.name).seen == known.seen:
            self.queues.keep_freezes(FreezeWindows(known.name, windows))


@dataclass(frozen=True, slots=True)
class FreezeGate:
    """Tells which windows hold back a deployment now. It is one read."""

    queues: DeployQueues
    clock: Clock

    def held(self, deployment: Deployment) -> tuple[Hold, ...]:
        """Return the windows that hold.

        A root that only a pull request has may be any of the default branch's, renamed or moved: each window holds.
        """
        windows = self.queues.freezes(deployment.repository).windows
        now, judged = self.clock.now(), frozen_tags(deployment)
        held = [Hold(each, frozen_until(each, now)) for each in windows if deployment.foreign or each.matches(judged)]
        return tuple(each for each in held if each.until)
