"""The end of a soak: nothing goes wrong any more, everything is decided, until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable

from soak.harness import Harness, has_ended
from soak.history import History
from soak.observe import checks_of, commits_of, recorded
from soak.pull_rules import unanswered_pulls
from soak.table import held, reconcile
from soak.trouble import PUBLISH_ATTEMPTS
from soak.updates import ConfigRepository
from soak.violation import CUTS, OUTAGES, changed_roots, is_answered
from soak.work import decide_all

#: Seconds between two looks, and for which nothing may have moved in the end.
_PAUSE, _STILL = 1.0, 4.0
#: Seconds between two runs of the reconciler, while messages wait and when none do: on AWS it runs every five minutes.
_BUSY, _FREE = 60.0, 10.0


def settle(
    harnesses: list[Harness], updates: ConfigRepository, idle_limit: float, progress: Callable[[str], None]
) -> bool:
    """End all trouble and decide whatever waits. Tell whether everything became idle.

    Whatever it takes, it may take, as long as something moves at least every ``idle_limit`` seconds.
    """
    end_trouble(harnesses)
    moved, before, still_since, reconciled = time.monotonic(), "", None, 0.0
    while time.monotonic() - moved < idle_limit:
        if time.monotonic() - reconciled > (_FREE if _has_read_all(harnesses[0]) else _BUSY):
            reconciled = time.monotonic()
            reconcile(harnesses[0])
        for harness in harnesses:
            harness.look([push.after for push in harness.clone.pushes] + harness.clone.branches)
            decide_all(harness)
        updates.decide()
        left = unfinished(harnesses, updates)
        now = "".join([*(_picture(harness) for harness in harnesses), updates.picture()])
        progress("; ".join(left))
        moved, before = (moved if now == before else time.monotonic()), now
        still_since = None if left else still_since or time.monotonic()
        if still_since is not None and time.monotonic() - still_since >= _STILL:
            return True
        time.sleep(_PAUSE)
    return False


def end_trouble(harnesses: list[Harness]) -> None:
    """Let nothing go wrong any more, and count how many applies met a topic that was out, or died of a fault."""
    first, hits = harnesses[0], harnesses[0].cloud.read("faults")
    first.struck[OUTAGES] += sum(hits.get(fault, 0) // PUBLISH_ATTEMPTS for fault in first.outages)
    first.struck[CUTS] += sum(hits.get(fault, 0) for fault in first.cuts)
    first.cloud.clear_faults()
    first.maintainer.clear_faults()


def _picture(harness: Harness) -> str:
    """Return what people see of all check runs: as long as it changes, something moves."""
    return "".join(f"{number} {run['output']['title']}" for number, run in sorted(harness.board.items()))


def unfinished(harnesses: list[Harness], updates: ConfigRepository) -> list[str]:
    """Return what still moves, or should: in a few words each."""
    first = harnesses[0]
    counted = {
        "check runs": sum(not has_ended(run) for harness in harnesses for run in harness.board.values()),
        "drift detection runs": sum(
            run["status"] != "completed" for harness in harnesses for run in harness.drift.values()
        ),
        "pushes without a result": sum(len(_unanswered(harness)) for harness in harnesses),
        "pull requests without an answer": sum(len(unanswered_pulls(recorded(harness))) for harness in harnesses),
        "runners": len(first.runners()),
        "concurrency slots in use or waited for": held(first),
    }
    counted |= {f"messages in {name}": _messages(first, url) for name, url in _queues(first).items()}
    return [*(f"{count} {what}" for what, count in counted.items() if count), *updates.unfinished()]


def _unanswered(harness: Harness) -> list[tuple[str, str]]:
    history = History("", (), commits_of(harness), tuple(harness.clone.pushes), checks_of(harness))
    return [
        (push.after, root)
        for push in history.pushes
        for root in changed_roots(history, push)
        if not is_answered(history, push.after, root)
    ]


def _queues(harness: Harness) -> dict[str, str]:
    return {name: url for name, url in harness.cloud.info["queues"].items() if "Dead" not in name}


def _has_read_all(harness: Harness) -> bool:
    return not any(_messages(harness, url) for url in _queues(harness).values())


def _messages(harness: Harness, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = harness.cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)
