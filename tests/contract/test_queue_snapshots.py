"""What every store of what check runs show of lines does."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, any_lock, any_queue
from tests.instants import utc
from tidegate.aws.records import from_item
from tidegate.deploys.adapters.queue_snapshots import DynamoQueueSnapshots
from tidegate.deploys.rules.queue_snapshot import Named, Shown, Standing
from tidegate.ports import PublishedCheckRun, QueueSnapshot
from tidegate.rules.errors import CloudUnavailable

QUEUE, OTHER = any_queue(), any_queue("other")
LATER = utc("2026-03-02T08:15")


def a_place(number, **fields):
    return Shown(Standing(number), NOW, **fields)


def test_a_board_that_was_never_written_is_empty(stores):
    assert stores.boards.read(QUEUE) == QueueSnapshot({})
    assert stores.boards.shown(QUEUE, "d") is None


def test_what_was_written_is_read_one_by_one_and_as_a_whole(stores):
    lock = any_lock(deployment="by-hand", before=any_lock())
    names = (Named("r", "a" * 40, 41), Named("b"))
    shown = Shown(Standing(2, "r", reviewing=True, behind="b", lock=lock), NOW, names, asked=True)
    stores.boards.write(QUEUE, {"d": shown, "e": a_place(3)}, ())
    assert stores.boards.shown(QUEUE, "d") == shown
    assert stores.boards.read(QUEUE) == QueueSnapshot({"d": shown, "e": a_place(3)})


def test_what_is_written_again_replaces_what_was(stores):
    stores.boards.write(QUEUE, {"d": a_place(2)}, ())
    stores.boards.write(QUEUE, {"d": a_place(1, asked=True)}, ())
    assert stores.boards.shown(QUEUE, "d") == a_place(1, asked=True)


def test_what_is_gone_is_forgotten_though_it_never_was(stores):
    stores.boards.write(QUEUE, {"d": a_place(1), "e": a_place(2)}, ())
    stores.boards.write(QUEUE, {}, ("d", "never"))
    assert list(stores.boards.read(QUEUE).shown) == ["e"]


def test_more_than_fit_in_one_batch_are_written(stores):
    every = {f"d{number}": a_place(number) for number in range(60)}
    stores.boards.write(QUEUE, every, [f"gone{number}" for number in range(60)])
    assert stores.boards.read(QUEUE).shown == every


def test_when_somebody_looks_again_is_no_deployment(stores):
    stores.boards.expect(QUEUE, LATER)
    assert stores.boards.read(QUEUE) == QueueSnapshot({}, LATER)


def test_queues_do_not_share_a_board(stores):
    stores.boards.write(QUEUE, {"d": a_place(1)}, ())
    stores.boards.expect(QUEUE, LATER)
    assert stores.boards.read(OTHER) == QueueSnapshot({})


def test_a_whole_line_is_read_with_its_head(stores):
    assert stores.queues.line(QUEUE) == (stores.queues.read(QUEUE)[0], [])
    for number in (2, 1):
        stores.queues.enqueue(any_deployment(number))
    head, line = stores.queues.line(QUEUE)
    assert head == stores.queues.read(QUEUE)[0]
    assert list(line) == list(stores.queues.waiting(QUEUE))
    assert len(line) == 2


def test_many_check_runs_are_read_at_once_without_those_that_are_none(stores):
    every = {f"d{number}": PublishedCheckRun(f"d{number}", number, 0, closed=False) for number in range(3)}
    for published in every.values():
        stores.check_runs.remember(published)
    assert stores.check_runs.many(["d0", "d1", "d2", "d2", "none"]) == every


def test_what_is_shown_expires(client, table):
    boards = DynamoQueueSnapshots(client, table, now=lambda: 1_000_000.0)
    boards.write(QUEUE, {"d": a_place(1)}, ())
    boards.expect(QUEUE, LATER)
    items = [from_item(item) for item in client.scan(TableName=table)["Items"]]
    assert {item["expires_at"] for item in items} == {1_000_000 + 90 * 24 * 3600}


def test_what_a_batch_leaves_out_is_written_again_and_not_for_ever(client, table):
    class LeavesOut:
        def __init__(self, times):
            self.times = times

        def __getattr__(self, name):
            return getattr(client, name)

        def batch_write_item(self, RequestItems):
            self.times -= 1
            return (
                {"UnprocessedItems": RequestItems}
                if self.times >= 0
                else client.batch_write_item(RequestItems=RequestItems)
            )

    DynamoQueueSnapshots(LeavesOut(2), table).write(QUEUE, {"d": a_place(1)}, ())
    assert DynamoQueueSnapshots(client, table).shown(QUEUE, "d") == a_place(1)
    with pytest.raises(CloudUnavailable, match="1 items were not written"):
        DynamoQueueSnapshots(LeavesOut(9), table).write(QUEUE, {"d": a_place(1)}, ())
