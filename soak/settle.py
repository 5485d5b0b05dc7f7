"""The end of a soak: nothing goes wrong any more, everything is decided, until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable

from soak.history import History
from soak.observe import checks_of, commits_of, recorded
from soak.pull_rules import unanswered_pulls
from soak.table import held, reconcile
from soak.trouble import PUBLISH_ATTEMPTS
from soak.violation import CUTS, OUTAGES, changed_roots, is_answered
from soak.work import decide_all
from soak.world import World, has_ended

#: Seconds between two looks, and for which nothing may have moved in the end.
_PAUSE, _STILL = 1.0, 4.0
#: Seconds between two runs of the reconciler, while messages wait and when none do: on AWS it runs every five minutes.
_BUSY, _FREE = 60.0, 10.0


def settle(worlds: list[World], idle_limit: float, progress: Callable[[str], None]) -> bool:
    """End all trouble and decide whatever waits. Tell whether everything became idle.

    Whatever it takes, it may take, as long as something moves at least every ``idle_limit`` seconds.
    """
    end_trouble(worlds)
    moved, before, still_since, reconciled = time.monotonic(), "", None, 0.0
    while time.monotonic() - moved < idle_limit:
        if time.monotonic() - reconciled > (_FREE if _has_read_all(worlds[0]) else _BUSY):
            reconciled = time.monotonic()
            reconcile(worlds[0])
        for world in worlds:
            world.look([push.after for push in world.clone.pushes] + world.clone.branches)
            decide_all(world)
        left, now = unfinished(worlds), "".join(_picture(world) for world in worlds)
        progress("; ".join(left))
        moved, before = (moved if now == before else time.monotonic()), now
        still_since = None if left else still_since or time.monotonic()
        if still_since is not None and time.monotonic() - still_since >= _STILL:
            return True
        time.sleep(_PAUSE)
    return False


def end_trouble(worlds: list[World]) -> None:
    """Let nothing go wrong any more, and count how many applies met a topic that was out, or died of a fault."""
    first, hits = worlds[0], worlds[0].cloud.read("faults")
    first.struck[OUTAGES] += sum(hits.get(fault, 0) // PUBLISH_ATTEMPTS for fault in first.outages)
    first.struck[CUTS] += sum(hits.get(fault, 0) for fault in first.cuts)
    first.cloud.clear_faults()
    first.maintainer.clear_faults()


def _picture(world: World) -> str:
    """Return what people see of all check runs: as long as it changes, something moves."""
    return "".join(f"{number} {run['output']['title']}" for number, run in sorted(world.board.items()))


def unfinished(worlds: list[World]) -> list[str]:
    """Return what still moves, or should: in a few words each."""
    first = worlds[0]
    counted = {
        "check runs": sum(not has_ended(run) for world in worlds for run in world.board.values()),
        "drift detection runs": sum(run["status"] != "completed" for world in worlds for run in world.drift.values()),
        "pushes without a result": sum(len(_unanswered(world)) for world in worlds),
        "pull requests without an answer": sum(len(unanswered_pulls(recorded(world))) for world in worlds),
        "runners": len(first.runners()),
        "concurrency slots in use or waited for": held(first),
    }
    counted |= {f"messages in {name}": _messages(first, url) for name, url in _queues(first).items()}
    return [f"{count} {what}" for what, count in counted.items() if count]


def _unanswered(world: World) -> list[tuple[str, str]]:
    history = History("", (), commits_of(world), tuple(world.clone.pushes), checks_of(world))
    return [
        (push.after, root)
        for push in history.pushes
        for root in changed_roots(history, push)
        if not is_answered(history, push.after, root)
    ]


def _queues(world: World) -> dict[str, str]:
    return {name: url for name, url in world.cloud.info["queues"].items() if "Dead" not in name}


def _has_read_all(world: World) -> bool:
    return not any(_messages(world, url) for url in _queues(world).values())


def _messages(world: World, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = world.cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)
