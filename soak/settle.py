"""The end of a soak: nothing goes wrong any more, everything is decided, until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from botocore.exceptions import ClientError

from soak.history import History
from soak.observe import checks_of, commits_of
from soak.violation import changed_roots, is_answered
from soak.work import UNLOCK, unlock_by_comment
from soak.world import WRITERS, World, has_ended

#: Seconds between two looks, between two presses of one button, and for which nothing may have moved in the end.
_PAUSE, _AGAIN, _STILL = 1.0, 6.0, 4.0
#: Seconds between two runs of the reconciler, while messages wait and when none do: on AWS it runs every five minutes.
_BUSY, _FREE = 60.0, 10.0
#: For the reconciler everything unfinished is older than any of its patience.
_LONG_AGO = timedelta(minutes=30)


def settle(world: World, patience: float, progress: Callable[[str], None]) -> bool:
    """End all trouble and decide whatever waits. Tell whether everything came to rest.

    Whatever it takes, it may take, as long as something moves at least every ``patience`` seconds.
    """
    world.cloud.clear_faults()
    world.maintainer.clear_faults()
    pressed: dict[int, float] = {}
    moved, before, still_since, reconciled = time.monotonic(), "", None, 0.0
    while time.monotonic() - moved < patience:
        if time.monotonic() - reconciled > (_FREE if _has_read_all(world) else _BUSY):
            reconciled = time.monotonic()
            let_time_pass(world)
            world.cloud.fire_schedule("Reconcile")
        world.look([push.after for push in world.clone.pushes] + world.clone.branches)
        _decide(world, pressed)
        left, now = unfinished(world), _picture(world)
        progress("; ".join(left))
        moved, before = (moved if now == before else time.monotonic()), now
        still_since = None if left else still_since or time.monotonic()
        if still_since is not None and time.monotonic() - still_since >= _STILL:
            return True
        time.sleep(_PAUSE)
    return False


def _picture(world: World) -> str:
    """Return what people see of all check runs: as long as it changes, something moves."""
    return "".join(f"{number} {run['output']['title']}" for number, run in sorted(world.board.items()))


def _decide(world: World, pressed: dict[int, float]) -> None:
    """Press a button of every check run that has one, or say it; free what dead runners left locked."""
    for root in world.roots:
        world.free_state(root)
    for run in list(world.board.values()):
        buttons = [] if time.monotonic() - pressed.get(run["id"], -_AGAIN) < _AGAIN else run["buttons"]
        if buttons:
            pressed[run["id"]] = time.monotonic()
            button = world.chance.choice((buttons[0], buttons[0], buttons[-1]))
            if button == UNLOCK and world.chance.choice((True, False)):
                unlock_by_comment(world)
            else:
                world.press(run, button, world.chance.choice(WRITERS))


def let_time_pass(world: World) -> None:
    """Let everything that is unfinished have been so for half an hour: nobody waits for the reconciler's patience."""
    table, then = world.cloud.client("dynamodb"), (datetime.now(UTC) - _LONG_AGO).isoformat(timespec="microseconds")
    name = world.cloud.info["table"]
    fields = {"#open": "open"}
    pages = table.get_paginator("scan").paginate(
        TableName=name,
        FilterExpression="attribute_exists(#open) AND open_since > :then",
        ExpressionAttributeNames=fields,
        ExpressionAttributeValues={":then": {"S": then}},
    )
    for item in (item for page in pages for item in page["Items"]):
        try:
            table.update_item(
                TableName=name,
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET open_since = :then",
                ConditionExpression="attribute_exists(#open)",
                ExpressionAttributeNames=fields,
                ExpressionAttributeValues={":then": {"S": then}},
            )
        except ClientError:
            continue  # It was finished meanwhile.


def unfinished(world: World) -> list[str]:
    """Return what still moves, or should: in a few words each."""
    counted = {
        "check runs": sum(not has_ended(run) for run in world.board.values()),
        "pushes without an answer": len(_unanswered(world)),
        "runners": sum(task["lastStatus"] != "STOPPED" for task in world.cloud.read("tasks")),
    }
    counted |= {f"messages in {name}": _messages(world, url) for name, url in _queues(world).items()}
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
