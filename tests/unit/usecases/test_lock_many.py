"""Locking all roots of a repository, or of a stack, at once; and locks that end by themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, any_deployment, any_lock, any_root
from tests.fakes import MemoryClock
from tests.instants import utc
from tests.unit.usecases.events_world import AT, HEAD, REPOSITORY, EventsWorld
from tidegate.deploys.queue.claim_deployment import claim_deployment
from tidegate.deploys.queue.close_worker import close_worker
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.queue.get_queue import search_queues
from tidegate.deploys.queue.lock import lock_queue
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.queue.wait_for_signal import wait_for_signal
from tidegate.deploys.rules.locking import Locking, lock_end
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.repository_locks import WHOLE
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.root_query_of_deployments import parse_root_query
from tidegate.deploys.rules.state import State
from tidegate.messages import ClaimDeployment, CloseWorker, WaitForSignal
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.release_locks import release_locks
from tidegate.reconciler.start_workers import start_workers
from tidegate.requests.lock_many import lock_many, may_lock_many, unlock_many
from tidegate.roots.rules.root import Revision, queue_id
from tidegate.rules.access import Access
from tidegate.rules.errors import CloudUnavailable, InvalidName
from tidegate.rules.timestamp import timestamp_text

LATER = AT + timedelta(hours=1)
END = AT + timedelta(hours=2)
NEVER = utc("2099-01-01T00:00")


@pytest.fixture
def world():
    return EventsWorld()


def enqueue(world, root="live/app", number=1, trigger=Trigger.MERGE, stack="prod", **fields):
    one = any_deployment(
        number,
        root=any_root(name=root),
        repository=REPOSITORY,
        trigger=trigger,
        stack=stack,
        within=("live",),
        **fields,
    )
    world.queues.enqueue(one)
    head, _ = world.queues.read(one.queue)
    deployed = Deployed(one.id, Revision(HEAD, "main"), State.APPLIED, trigger)
    world.queues.commit(head, replace(head, attempted=deployed))
    ensure_worker(world.ports, one.queue)
    return one


def claim(world, queue):
    head, _ = world.queues.read(queue)
    message = ClaimDeployment(queue=queue, execution=head.worker.execution, rounds=0, started=NOW)
    return claim_deployment(world.ports, message)


def lock(world, scope, **fields):
    return lock_many(world.ports, REPOSITORY, scope, Locking("writer", AT, **fields))


def unlock(world, scope, at=LATER):
    return unlock_many(world.ports, REPOSITORY, scope, Unlocking("writer", at))


def reconcile(world, at):
    turn = ReconcilerPass(MemoryClock(at), NEVER)
    released = release_locks(world.ports, turn)
    start_workers(world.ports, turn)
    assert not turn.failures
    return released


@pytest.mark.parametrize(("scope", "holds"), [(WHOLE, True), ("prod", True), ("live", True), ("dev", False)])
def test_a_lock_holds_back_merges_of_its_stacks_and_of_all_roots(world, scope, holds):
    one = enqueue(world)
    lock(world, scope)
    assert (claim(world, one.queue).step == "wait") == holds


def test_what_is_deployed_by_hand_passes(world):
    enqueue(world)
    by_hand = enqueue(world, number=2, trigger=Trigger.MANUAL)
    lock(world, WHOLE)
    claimed = claim(world, by_hand.queue)
    assert (claimed.step, claimed.deployment) == ("deploy", by_hand.id)


def test_a_root_that_is_deployed_first_while_its_stack_is_locked_waits_as_well(world):
    enqueue(world)
    lock(world, "prod")
    new = enqueue(world, "live/new", 2)
    assert len(world.workflows.starts) == 1
    assert world.queues.read(new.queue)[0].lock.scope == "prod"


def test_the_queue_stores_no_lock_but_its_own(world):
    one = enqueue(world)
    lock(world, "prod")
    head, _ = world.queues.read(one.queue)
    by_hand = replace(head.lock, scope="", before=head.lock)
    world.queues.commit(head, replace(head, lock=by_hand))
    unlock(world, "prod")
    stored, _ = world.queues.read(one.queue)
    assert (stored.lock.scope, stored.lock.before) == ("", None)


def test_who_unlocks_lets_a_worker_go_on_that_saw_the_lock(world):
    one = enqueue(world)
    lock(world, "prod")
    world.workflows.waiting.add("token")
    claimed = claim(world, one.queue)
    worker = world.queues.read(one.queue)[0].worker.execution
    assert unlock(world, "prod").done
    # The unlocking came between the claim and the wait: the queue has another version by now.
    wait_for_signal(
        world.ports, WaitForSignal(queue=one.queue, execution=worker, version=claimed.version, token="token")
    )
    assert "token" in world.workflows.settled
    assert claim(world, one.queue).deployment == one.id


def test_who_unlocks_wakes_a_worker_that_waits(world):
    one = enqueue(world)
    lock(world, "prod")
    world.workflows.waiting.add("token")
    claimed = claim(world, one.queue)
    worker = world.queues.read(one.queue)[0].worker.execution
    signal = WaitForSignal(queue=one.queue, execution=worker, version=claimed.version, token="token")
    wait_for_signal(world.ports, signal)
    assert "token" not in world.workflows.settled
    unlock(world, "prod")
    assert "token" in world.workflows.settled


def test_a_worker_closes_while_its_line_is_locked_and_the_next_begins_at_the_unlocking(world):
    one = enqueue(world)
    lock(world, "prod")
    worker = world.queues.read(one.queue)[0].worker.execution
    assert close_worker(world.ports, CloseWorker(queue=one.queue, execution=worker)).closed
    unlock(world, "prod")
    assert world.queues.read(one.queue)[0].worker is not None


def test_the_audit_topic_hears_of_both_before_they_are_so(world):
    enqueue(world)
    for act, there in ((lambda: lock(world, "prod", expires_at=END), False), (lambda: unlock(world, "prod"), True)):
        world.audit.unavailable = True
        with pytest.raises(CloudUnavailable):
            act()
        assert bool(world.queues.locks(REPOSITORY).of("prod")) is there
        world.audit.unavailable = False
        act()
    locked, unlocked = world.audit.published
    assert (locked.state, locked.body["scope"], locked.body["root"]) == ("LOCKED", "prod", None)
    assert (locked.body["expires_at"], unlocked.state, unlocked.body["initiating_user"]) == (
        timestamp_text(END),
        "UNLOCKED",
        "writer",
    )


def test_the_same_lock_again_changes_nothing_and_another_is_refused(world):
    enqueue(world)
    assert lock(world, "prod", reason="a").done
    assert lock(world, "prod", reason="a").done
    assert len(world.audit.published) == 1
    refused = lock_many(world.ports, REPOSITORY, "prod", Locking("other", LATER, "b"))
    assert (refused.done, "locked on" in refused.reason) == (False, True)
    assert lock(world, WHOLE).done
    assert len(world.queues.locks(REPOSITORY).locks) == 2


def test_an_unlocking_from_before_the_lock_takes_nothing_away(world):
    enqueue(world)
    assert not unlock(world, "prod").done
    lock_many(world.ports, REPOSITORY, "prod", Locking("writer", LATER))
    assert not unlock(world, "prod", at=AT).done
    assert world.queues.locks(REPOSITORY).of("prod")


def test_a_queue_is_not_unlocked_by_itself_while_its_stack_is_locked(world):
    one = enqueue(world)
    lock(world, "prod")
    refused = unlock_queue(world.ports, one.queue, Unlocking("writer", LATER))
    assert (refused.done, "stack prod" in refused.reason) == (False, True)


@pytest.mark.parametrize("scope", [WHOLE, "prod"])
def test_a_lock_ends_by_itself_and_what_waits_goes_on(world, scope):
    one = enqueue(world)
    lock(world, scope, expires_at=LATER)
    assert claim(world, one.queue).step == "wait"
    assert reconcile(world, AT) == 0
    assert reconcile(world, LATER) == 1
    assert claim(world, one.queue).deployment == one.id
    assert world.audit.published[-1].body["initiating_user"] == "tidegate"


def test_the_lock_of_one_queue_ends_by_itself_also_where_nothing_waits(world):
    one = enqueue(world)
    queue = queue_id(REPOSITORY, "live/db")
    head, _ = world.queues.read(queue)
    world.queues.commit(head, head)
    for each in (one.queue, queue):
        lock_queue(world.ports, each, Locking("writer", AT, expires_at=LATER))
    assert claim(world, one.queue).step == "wait"
    assert reconcile(world, AT) == 0
    assert reconcile(world, END) == 2
    assert claim(world, one.queue).deployment == one.id
    assert world.queues.read(queue)[0].lock is None


def test_a_comment_locks_and_unlocks_a_stack_for_a_time(world):
    enqueue(world)
    world.comment("tidegate lock --stack prod --for 2h --reason the vendor moves")
    made = world.queues.locks(REPOSITORY).of("prod")
    assert (made.by, made.reason, made.expires_at) == ("writer", "the vendor moves", AT + timedelta(hours=2))
    assert "writer locked stack prod" in world.reply
    world.forge.comments.clear()
    world.comment("tidegate unlock --stack prod", at=LATER)
    assert world.queues.locks(REPOSITORY).locks == ()
    world.forge.comments.clear()
    world.comment("tidegate unlock --all", at=LATER)
    assert "had no such lock" in world.reply


def test_a_stack_that_nothing_was_deployed_of_is_not_locked(world):
    world.comment("tidegate lock --stack prood")
    assert "Stack" in world.reply
    world.forge.comments.clear()
    enqueue(world)
    world.comment("tidegate lock --stack prood")
    assert "Stacks with deployments: live and prod" in world.reply
    assert "Did you mean" in world.reply
    assert world.queues.locks(REPOSITORY).locks == ()


def test_who_may_not_unlock_one_of_its_roots_may_not_lock_a_stack(world):
    nobody = Access(unlock=())
    enqueue(world)
    enqueue(world, "live/db", 2, access=nobody)
    enqueue(world, "live/more", 3, access=Access())

    assert not may_lock_many(world.ports, REPOSITORY, "prod", "writer").done
    assert not may_lock_many(world.ports, REPOSITORY, WHOLE, "writer").done
    assert may_lock_many(world.ports, REPOSITORY, WHOLE, "writer").reason
    world.comment("tidegate lock --stack prod")
    assert "Nothing was locked" in world.reply
    assert world.queues.locks(REPOSITORY).locks == ()


def test_rights_over_roots_of_other_stacks_do_not_matter_for_a_stack(world):
    enqueue(world)
    enqueue(world, "live/db", 2, stack="dev", access=Access(unlock=()))
    assert may_lock_many(world.ports, REPOSITORY, "prod", "writer").done


def test_a_list_shows_a_root_s_own_lock_before_that_of_its_stack(world):
    one = enqueue(world)
    lock(world, "prod")
    head, _ = world.queues.read(one.queue)
    world.queues.commit(head, replace(head, lock=any_lock()))
    (view,) = search_queues(world.ports, REPOSITORY, parse_root_query("stack_name:prod")).roots
    assert view.head.lock.scope == ""


def test_without_any_deployment_who_may_write_locks_the_repository(world):
    assert may_lock_many(world.ports, REPOSITORY, WHOLE, "writer").done
    assert not may_lock_many(world.ports, REPOSITORY, WHOLE, "stranger").done
    world.comment("tidegate lock --all", by="reader")
    assert "Nothing was locked" in world.reply


def test_a_duration_that_is_none_is_refused(world):
    world.comment("tidegate lock --for soon")
    assert "is not a duration" in world.reply
    with pytest.raises(InvalidName):
        lock_end("2 hours", AT)
