"""What every store of deploy queues does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.builders import any_deployed, any_deployment, any_lock, any_queue, any_root
from tests.instants import utc
from tidegate.deploys.rules.freeze import Freeze, FreezeWindows
from tidegate.deploys.rules.queue import QueueHead, Worker, waiting_for, with_another
from tidegate.deploys.rules.repository_locks import WHOLE, RepositoryLocks
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import Conflict, NotFound


def test_a_queue_that_was_never_written_is_empty(stores):
    assert stores.queues.read(any_queue()) == (QueueHead(any_queue()), None)
    assert list(stores.queues.waiting(any_queue())) == []
    assert list(stores.queues.unfinished()) == []


def test_an_enqueued_deployment_is_stored_in_line_and_raises_the_version(stores):
    deployment = any_deployment()
    assert stores.queues.enqueue(deployment)
    head, first = stores.queues.read(deployment.queue)
    assert (head.version, head.length, first) == (1, 1, waiting_for(deployment))
    assert stores.deployments.get(deployment.id) == deployment


def test_a_head_and_a_deployment_are_read_at_one_moment(stores):
    deployment = any_deployment()
    with pytest.raises(NotFound):
        stores.queues.read_with(deployment.queue, deployment.id)
    stores.queues.enqueue(deployment)
    head, _ = stores.queues.read(deployment.queue)
    assert stores.queues.read_with(deployment.queue, deployment.id) == (head, deployment)


def test_heads_of_many_queues_are_read_at_once(stores):
    for root in ("app", "db"):
        stores.queues.enqueue(any_deployment(root=any_root(name=root)))
    names = [any_queue(root) for root in ("app", "db", "never")]
    known = {name: stores.queues.read(name)[0] for name in names[:2]}
    assert stores.queues.many(names) == known
    assert stores.queues.many(()) == {}


def test_locks_of_a_repository_hold_back_merges_of_their_stacks(stores):
    one = any_deployment(stack="prod", within=("live",))
    stores.queues.enqueue(one)
    head, _ = stores.queues.read(one.queue)
    locks = stores.queues.locks(one.repository)
    assert (locks, list(stores.queues.expiring())) == (RepositoryLocks(one.repository), [])
    lock = replace(any_lock(), scope="live")
    kept = stores.queues.keep_locks(locks.with_lock(lock))
    assert stores.queues.locks(one.repository) == kept
    assert stores.queues.read(one.queue)[0] == replace(head, lock=lock)
    assert stores.queues.line(one.queue)[0].lock == lock
    with pytest.raises(Conflict):
        stores.queues.keep_locks(locks)
    stores.queues.commit(replace(head, lock=lock), replace(head, lock=lock))
    stores.queues.keep_locks(kept.without("live"))
    assert stores.queues.read(one.queue)[0].lock is None


def test_what_is_deployed_by_hand_is_read_without_the_locks_of_its_repository(stores):
    one = any_deployment(trigger=Trigger.MANUAL)
    stores.queues.enqueue(one)
    stores.queues.keep_locks(RepositoryLocks(one.repository).with_lock(replace(any_lock(), scope=WHOLE)))
    assert stores.queues.read(one.queue)[0].lock is None


def test_freeze_windows_of_a_repository_are_kept(stores):
    assert stores.queues.freezes("acme/infra") == FreezeWindows("acme/infra")
    kept = FreezeWindows("acme/infra", (Freeze("prod", "a fair", cron="0 16 * * FRI", minutes=60),))
    stores.queues.keep_freezes(kept)
    assert stores.queues.freezes("acme/infra") == kept
    assert list(stores.queues.unfinished()) == []


def test_what_expires_is_listed_until_it_is_taken_away(stores):
    one = any_deployment()
    ends = replace(any_lock(), expires_at=utc("2026-03-02T10:00"))
    locks = stores.queues.keep_locks(RepositoryLocks(one.repository).with_lock(replace(ends, scope=WHOLE)))
    assert list(stores.queues.expiring()) == [one.repository]
    stores.queues.keep_locks(locks.without(WHOLE))
    assert list(stores.queues.expiring()) == []
    head, _ = stores.queues.read(one.queue)
    head = stores.queues.commit(head, replace(head, lock=ends))
    assert list(stores.queues.unfinished()) == [one.queue]
    stores.queues.commit(head, replace(head, lock=None))
    assert list(stores.queues.unfinished()) == []


def test_the_same_deployment_is_enqueued_once_only(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    before = stores.queues.read(deployment.queue)
    assert not stores.queues.enqueue(
        replace(deployment, request=replace(deployment.request, at=utc("2027-01-01T00:00")))
    )
    assert stores.queues.read(deployment.queue) == before
    assert len(stores.queues.waiting(deployment.queue)) == 1


def test_what_is_enqueued_upon_the_queue_as_it_is_raises_the_version_by_one(stores):
    for number in (1, 2):
        head, first = stores.queues.read(any_queue())
        deployment = any_deployment(number)
        assert stores.queues.enqueue(deployment, head)
        assert stores.queues.read(any_queue()) == with_another(head, first, deployment)
    assert [each.deployment for each in stores.queues.waiting(any_queue())] == [any_deployment(1).id, deployment.id]


def test_what_is_enqueued_upon_another_queue_is_a_conflict_and_changes_nothing(stores):
    never_written = QueueHead(any_queue())
    stores.queues.enqueue(any_deployment())
    before = stores.queues.read(any_queue())
    for seen in (never_written, replace(never_written, version=2)):
        with pytest.raises(Conflict):
            stores.queues.enqueue(any_deployment(2), seen)
    assert stores.queues.read(any_queue()) == before
    with pytest.raises(NotFound):
        stores.deployments.get(any_deployment(2).id)


def test_the_same_deployment_is_enqueued_once_only_whatever_was_seen(stores):
    stores.queues.enqueue(any_deployment())
    before = stores.queues.read(any_queue())
    for seen in (before[0], QueueHead(any_queue())):
        assert not stores.queues.enqueue(any_deployment(), seen)
    assert stores.queues.read(any_queue()) == before


def test_a_deployment_that_was_taken_is_not_enqueued_again(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    head, first = stores.queues.read(deployment.queue)
    stores.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
    assert not stores.queues.enqueue(deployment)
    assert stores.queues.read(deployment.queue)[1] is None


def test_manual_deployments_stand_before_merges_and_each_kind_first_in_first_out(stores):
    merges = [any_deployment(number) for number in (1, 2, 3)]
    manuals = [any_deployment(number, trigger=Trigger.MANUAL) for number in (4, 5)]
    for deployment in (merges[2], manuals[1], merges[0], manuals[0], merges[1]):
        stores.queues.enqueue(deployment)
    line = [waiting.deployment for waiting in stores.queues.waiting(any_queue())]
    assert line == [deployment.id for deployment in manuals + merges]
    assert stores.queues.read(any_queue())[1] == waiting_for(manuals[0])


def test_queues_of_different_roots_do_not_touch_each_other(stores):
    here, there = any_deployment(1), any_deployment(1, root=any_root(name="network-2"))
    stores.queues.enqueue(here)
    stores.queues.enqueue(there)
    assert stores.queues.read(here.queue)[1] == waiting_for(here)
    assert stores.queues.read(there.queue)[1] == waiting_for(there)


def test_a_commit_replaces_the_whole_head(stores):
    full = QueueHead(
        any_queue(),
        generation=4,
        lock=any_lock(),
        worker=Worker("network-0123-4", 4, started=True),
        token="token",
        in_flight="deployment",
        deployed=any_deployed(),
    )
    committed = stores.queues.commit(QueueHead(any_queue()), full)
    assert committed == replace(full, version=1)
    assert stores.queues.read(any_queue())[0] == committed
    emptied = stores.queues.commit(committed, QueueHead(any_queue(), version=1))
    assert emptied == QueueHead(any_queue(), version=2)
    assert stores.queues.read(any_queue())[0] == emptied


def test_a_commit_on_an_old_version_is_a_conflict_and_changes_nothing(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    head, first = stores.queues.read(deployment.queue)
    stores.queues.enqueue(any_deployment(2))
    before = stores.queues.read(deployment.queue)
    with pytest.raises(Conflict):
        stores.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
    assert stores.queues.read(deployment.queue) == before


def test_a_first_commit_conflicts_with_a_head_that_was_written_meanwhile(stores):
    stores.queues.enqueue(any_deployment())
    with pytest.raises(Conflict):
        stores.queues.commit(QueueHead(any_queue()), QueueHead(any_queue(), token="token"))


def test_what_is_not_in_line_cannot_be_taken(stores):
    stores.queues.enqueue(any_deployment())
    head, _ = stores.queues.read(any_queue())
    with pytest.raises(Conflict):
        stores.queues.commit(head, replace(head, token="x"), take=waiting_for(any_deployment(2)))
    assert stores.queues.read(any_queue())[0] == head


def test_what_is_in_line_cannot_be_put_back(stores):
    stores.queues.enqueue(any_deployment())
    head, first = stores.queues.read(any_queue())
    with pytest.raises(Conflict):
        stores.queues.commit(head, head, put_back=first)
    assert stores.queues.read(any_queue())[0] == head


def test_a_deployment_returns_to_its_place_in_line(stores):
    for number in (1, 2):
        stores.queues.enqueue(any_deployment(number))
    head, first = stores.queues.read(any_queue())
    head = stores.queues.commit(head, replace(head, in_flight=first.deployment), take=first)
    assert (head.length, stores.queues.read(any_queue())[1]) == (1, waiting_for(any_deployment(2)))
    head = stores.queues.commit(head, replace(head, in_flight=None), put_back=first)
    assert stores.queues.read(any_queue()) == (head, first)
    assert head.length == 2


def test_a_commit_saves_a_deployment_with_the_head(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    head, first = stores.queues.read(any_queue())
    planning = replace(deployment, state=State.PLANNING)
    stores.queues.commit(head, replace(head, in_flight=deployment.id), take=first, deployment=planning)
    assert stores.deployments.get(deployment.id) == replace(planning, version=1)


def test_a_commit_with_an_old_deployment_is_a_conflict_and_changes_nothing(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    stores.deployments.save(deployment)
    before = stores.queues.read(any_queue())
    head, first = before
    with pytest.raises(Conflict):
        stores.queues.commit(head, replace(head, in_flight=deployment.id), take=first, deployment=deployment)
    assert stores.queues.read(any_queue()) == before
    assert stores.deployments.get(deployment.id).version == 1


def test_queues_with_somebody_in_line_or_in_flight_are_unfinished(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    assert list(stores.queues.unfinished()) == [deployment.queue]
    head, first = stores.queues.read(any_queue())
    head = stores.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
    assert list(stores.queues.unfinished()) == [deployment.queue]
    head = stores.queues.commit(head, replace(head, in_flight=None))
    assert list(stores.queues.unfinished()) == []
    head = stores.queues.commit(head, head, put_back=first)
    assert list(stores.queues.unfinished()) == [deployment.queue]
    stores.queues.commit(head, head, take=first)
    stores.queues.enqueue(any_deployment(2))
    assert list(stores.queues.unfinished()) == [deployment.queue]


def test_of_several_that_take_at_the_same_time_one_succeeds(stores, kind):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    head, first = stores.queues.read(any_queue())

    def take(number):
        try:
            stores.queues.commit(head, replace(head, in_flight=f"by {number}"), take=first)
        except Conflict:
            return 0
        return 1

    # moto's tables are not made for threads; there the four come one after another with what they read before.
    with ThreadPoolExecutor(4 if kind == "memory" else 1) as pool:
        assert sum(pool.map(take, range(4))) == 1


def attention(stores):
    return [(each.repository, each.root, each.locks, each.failed) for each in stores.queues.attention(10)]


def test_what_is_locked_or_failed_is_found_until_it_is_neither(stores):
    for root in ("app", "db", "network"):
        stores.queues.enqueue(any_deployment(root=any_root(name=root)))
    failed, locked = any_deployed(state=State.APPLY_FAILED), any_lock()
    app, _ = stores.queues.read(any_queue("app"))
    app = stores.queues.commit(app, replace(app, attempted=failed))
    app = stores.queues.commit(app, replace(app, lock=locked))
    db, _ = stores.queues.read(any_queue("db"))
    stores.queues.commit(db, replace(db, attempted=any_deployed(state=State.PLAN_FAILED)))
    assert [each[1] for each in attention(stores)] == ["app", "db"]
    assert attention(stores)[0] == ("acme/infra", "app", (locked,), failed)
    assert [each.root for each in stores.queues.attention(1)] == ["app"]
    stores.queues.enqueue(any_deployment(2, root=any_root(name="app")))
    app, _ = stores.queues.read(any_queue("app"))
    app = stores.queues.commit(app, replace(app, attempted=any_deployed()))
    assert attention(stores)[0] == ("acme/infra", "app", (locked,), None)
    stores.queues.commit(app, replace(app, lock=None))
    assert [each[1] for each in attention(stores)] == ["db"]


def test_locks_of_stacks_are_found_with_their_repository(stores):
    lock = replace(any_lock(), scope="prod")
    kept = stores.queues.keep_locks(RepositoryLocks("acme/infra").with_lock(lock))
    assert attention(stores) == [("acme/infra", "", (lock,), None)]
    stores.queues.keep_locks(kept.without("prod"))
    assert attention(stores) == []
