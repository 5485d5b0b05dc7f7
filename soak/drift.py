"""Drift detection: requested in the middle of everything, and again when all is idle."""

from __future__ import annotations

import json
import time

from soak.by_api import post
from soak.harness import WRITERS, Harness
from soak.history import Look
from soak.stacks import SCHEDULE

#: Check runs of a root that is surely looked at: all that was pushed is there, and nobody holds its queue.
_AT_REST = ("Applied", "No changes")
_PAUSE = 1.0


def detect_drift(harness: Harness) -> str:
    """Have the schedule look for drift now."""
    by = harness.chance.choice(WRITERS)
    return f"{by}: {post(harness, by, 'drift/look', {'repository': harness.repository, 'schedule': SCHEDULE})}"


def look_at_last(harnesses: list[Harness], time_limit: float) -> None:
    """Change something outside in each repository, look for drift there, and keep what was said of it."""
    for harness in harnesses:
        for root in sorted(_at_rest(harness))[:2]:
            harness.site.outside(root).write_text("changed at last", encoding="utf-8")
        before, until = set(harness.drift), time.monotonic() + time_limit
        detect_drift(harness)
        while time.monotonic() < until and not any(_is_over(harness, number) for number in set(harness.drift) - before):
            time.sleep(_PAUSE)
            harness.look([harness.clone.head])
        for number in sorted(set(harness.drift) - before)[-1:]:
            conclusion = str(harness.drift[number]["conclusion"])
            harness.looks.append(Look(str(harness.drift[number]["name"]), conclusion, tuple(sorted(_drifted(harness)))))


def _is_over(harness: Harness, number: int) -> bool:
    return bool(harness.drift[number]["status"] == "completed")


def _at_rest(harness: Harness) -> set[str]:
    """Return the roots whose newest deployment came to something, and whose queues nobody holds."""
    newest = {str(run["name"]).partition(": ")[2]: run for _, run in sorted(harness.board.items())}
    return {root for root, run in newest.items() if str(run["output"]["title"]).startswith(_AT_REST)}


def _drifted(harness: Harness) -> set[str]:
    """Return the roots at rest whose state is not what the outside says."""
    s3, found = harness.cloud.client("s3"), set()
    for root in _at_rest(harness):
        file = harness.site.outside(root)
        body = s3.get_object(Bucket=harness.site.bucket, Key=f"{harness.site.prefix}/{root}.tfstate")["Body"].read()
        values = [
            (instance["attributes"].get("input") or {}).get("value")
            for resource in json.loads(body)["resources"]
            if resource["name"] == "outside"
            for instance in resource["instances"]
        ]
        if file.exists() and values != [file.read_text(encoding="utf-8")]:
            found.add(root)
    return found
