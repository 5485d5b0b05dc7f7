"""How far a pull request is applied, and whether to merge it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.changes.rules.change_set import Key
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.rules.state import DONE, is_final, moves_baseline
from tidegate.pull_requests.rules.record import PullRequestRecord


@dataclass(frozen=True, slots=True)
class ApplyProgress:
    """How far the head is applied, root by root. ``bad`` failed, ``older`` were applied from an earlier head.

    ``left`` are still to be applied. Roots without changes count as applied.
    """

    done: tuple[Key, ...] = ()
    going_on: tuple[Key, ...] = ()
    bad: tuple[Key, ...] = ()
    older: tuple[Key, ...] = ()
    left: tuple[Key, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all of the pull request is applied, and something of it was."""
        return bool(self.done) and not (self.going_on or self.bad or self.older or self.left)


def apply_progress(
    record: PullRequestRecord, layers: Collection[SpeculativePlan], deployments: Mapping[str, Deployment]
) -> ApplyProgress:
    """Return how far a pull request is applied. ``layers`` are those of its head, ``deployments`` by their ids.

    What was applied and is not part of the change any more counts as well: it would stay applied.
    """
    found = {each.key: deployments[each.deployment] for each in record.applies if each.deployment in deployments}
    wanted = {(each.root.name, each.stack): each for each in layers if not each.is_extra}
    kinds: dict[str, list[Key]] = {}
    for key in dict.fromkeys((*wanted, *found)):
        kinds.setdefault(_kind(record, wanted.get(key), found.get(key)), []).append(key)
    return ApplyProgress(**{kind: tuple(keys) for kind, keys in kinds.items() if kind})


def is_head_applied(record: PullRequestRecord, deployments: Collection[Deployment]) -> bool:
    """Return whether something was applied at the very head: only such a head met all apply requirements."""
    return any(each.revision.sha == record.spec.head_sha and each.state in DONE for each in deployments)


def applied_digest(record: PullRequestRecord) -> str:
    """Return a digest that identifies a complete apply of a pull request, in hexadecimal."""
    parts = [record.spec.head_sha, *sorted(each.deployment for each in record.applies)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _kind(record: PullRequestRecord, layer: SpeculativePlan | None, deployment: Deployment | None) -> str:
    """Return the part of the progress that a root belongs to; an empty text for what never came to anything."""
    unchanged = layer is not None and layer.state is LayerState.NO_CHANGES
    if deployment is not None and not is_final(deployment.state):
        return "going_on"
    if deployment is None or not moves_baseline(deployment.state):
        return "" if layer is None else "done" if unchanged else "left"
    if deployment.state not in DONE:
        return "bad"
    return "done" if unchanged or deployment.revision.sha == record.spec.head_sha else "older"
