"""Drift detection: requested in the middle of everything, and again when all is idle."""

from __future__ import annotations

import json
import time

from soak.by_api import post
from soak.history import Look
from soak.stacks import SCHEDULE
from soak.world import WRITERS, World

#: Check runs of a root that is surely looked at: all that was pushed is there, and nobody holds its queue.
_AT_REST = ("Applied", "No changes")
_PAUSE = 1.0


def detect_drift(world: World) -> str:
    """Have the schedule look for drift now."""
    by = world.chance.choice(WRITERS)
    return f"{by}: {post(world, by, 'drift/look', {'repository': world.repository, 'schedule': SCHEDULE})}"


def look_at_last(worlds: list[World], time_limit: float) -> None:
    """Change something outside in each repository, look for drift there, and keep what was said of it."""
    for world in worlds:
        for root in sorted(_at_rest(world))[:2]:
            world.site.outside(root).write_text("changed at last", encoding="utf-8")
        before, until = set(world.drift), time.monotonic() + time_limit
        detect_drift(world)
        while time.monotonic() < until and not any(_is_over(world, number) for number in set(world.drift) - before):
            time.sleep(_PAUSE)
            world.look([world.clone.head])
        for number in sorted(set(world.drift) - before)[-1:]:
            conclusion = str(world.drift[number]["conclusion"])
            world.looks.append(Look(str(world.drift[number]["name"]), conclusion, tuple(sorted(_drifted(world)))))


def _is_over(world: World, number: int) -> bool:
    return bool(world.drift[number]["status"] == "completed")


def _at_rest(world: World) -> set[str]:
    """Return the roots whose newest deployment came to something, and whose queues nobody holds."""
    newest = {str(run["name"]).partition(": ")[2]: run for _, run in sorted(world.board.items())}
    return {root for root, run in newest.items() if str(run["output"]["title"]).startswith(_AT_REST)}


def _drifted(world: World) -> set[str]:
    """Return the roots at rest whose state is not what the outside says."""
    s3, found = world.cloud.client("s3"), set()
    for root in _at_rest(world):
        file = world.site.outside(root)
        body = s3.get_object(Bucket=world.site.bucket, Key=f"{world.site.prefix}/{root}.tfstate")["Body"].read()
        values = [
            (instance["attributes"].get("input") or {}).get("value")
            for resource in json.loads(body)["resources"]
            if resource["name"] == "outside"
            for instance in resource["instances"]
        ]
        if file.exists() and values != [file.read_text(encoding="utf-8")]:
            found.add(root)
    return found
