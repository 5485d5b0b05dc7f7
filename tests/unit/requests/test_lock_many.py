"""Locking all roots of a repository, or of a stack, at once; and locks that end by themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, any_deployment, any_lock, any_root
from tests.fakes import MemoryClock
from tests.instants import utc
from tests.unit.comments.events_scenario import AT, HEAD, REPOSITORY, EventsScenario
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
def scenario():
    return EventsScenario()


def enqueue(scenario, root="live/app", number=1, trigger=Trigger.MERGE, stack="prod", **fields):
    one = any_deployment(
        number,
        root=any_root(name=root),
        repository=REPOSITORY,
        trigger=trigger,
        stack=stack,
        within=("live",),
        **fields,
    )
    scenario.queues.enqueue(one)
    head, _ = scenario.queues.read(one.queue)
    deployed = Deployed(one.id, Revision(HEAD, "main"), State.APPLIED, trigger)
    scenario.queues.commit(head, replace(head, attempted=deployed))
    ensure_worker(scenario.ports, one.queue)
    return one


def claim(scenario, queue):
    head, _ = scenario.queues.read(queue)
    message = ClaimDeployment(queue=queue, execution=head.worker.execution, rounds=0, started=NOW)
    return claim_deployment(scenario.ports, message)


def lock(scenario, scope, **fields):
    return lock_many(scenario.ports, REPOSITORY, scope, Locking("writer", AT, **fields))


def unlock(scenario, scope, at=LATER):
    return unlock_many(scenario.ports, REPOSITORY, scope, Unlocking("writer", at))


def reconcile(scenario, at):
    turn = ReconcilerPass(MemoryClock(at), NEVER)
    released = release_locks(scenario.ports, turn)
    start_workers(scenario.ports, turn)
    assert not turn.failures
    return released


@pytest.mark.parametrize(("scope", "holds"), [(WHOLE, True), ("prod", True), ("live", True), ("dev", False)])
def test_a_lock_holds_back_merges_of_its_stacks_and_of_all_roots(scenario, scope, holds):
    one = enqueue(scenario)
    lock(scenario, scope)
    assert (claim(scenario, one.queue).step == "wait") == holds


def test_what_is_deployed_by_hand_passes(scenario):
    enqueue(scenario)
    by_hand = enqueue(scenario, number=2, trigger=Trigger.MANUAL)
    lock(scenario, WHOLE)
    claimed = claim(scenario, by_hand.queue)
    assert (claimed.step, claimed.deployment) == ("deploy", by_hand.id)


def test_a_root_that_is_deployed_first_while_its_stack_is_locked_waits_as_well(scenario):
    enqueue(scenario)
    lock(scenario, "prod")
    new = enqueue(scenario, "live/new", 2)
    assert len(scenario.workflows.starts) == 1
    assert scenario.queues.read(new.queue)[0].lock.scope == "prod"


def test_the_queue_stores_no_lock_but_its_own(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    head, _ = scenario.queues.read(one.queue)
    by_hand = replace(head.lock, scope="", before=head.lock)
    scenario.queues.commit(head, replace(head, lock=by_hand))
    unlock(scenario, "prod")
    stored, _ = scenario.queues.read(one.queue)
    assert (stored.lock.scope, stored.lock.before) == ("", None)


def test_who_unlocks_lets_a_worker_go_on_that_saw_the_lock(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    scenario.workflows.waiting.add("token")
    claimed = claim(scenario, one.queue)
    worker = scenario.queues.read(one.queue)[0].worker.execution
    assert unlock(scenario, "prod").done
    # The unlocking came between the claim and the wait: the queue has another version by now.
    wait_for_signal(
        scenario.ports, WaitForSignal(queue=one.queue, execution=worker, version=claimed.version, token="token")
    )
    assert "token" in scenario.workflows.settled
    assert claim(scenario, one.queue).deployment == one.id


def test_who_unlocks_wakes_a_worker_that_waits(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    scenario.workflows.waiting.add("token")
    claimed = claim(scenario, one.queue)
    worker = scenario.queues.read(one.queue)[0].worker.execution
    signal = WaitForSignal(queue=one.queue, execution=worker, version=claimed.version, token="token")
    wait_for_signal(scenario.ports, signal)
    assert "token" not in scenario.workflows.settled
    unlock(scenario, "prod")
    assert "token" in scenario.workflows.settled


def test_a_worker_closes_while_its_line_is_locked_and_the_next_begins_at_the_unlocking(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    worker = scenario.queues.read(one.queue)[0].worker.execution
    assert close_worker(scenario.ports, CloseWorker(queue=one.queue, execution=worker)).closed
    unlock(scenario, "prod")
    assert scenario.queues.read(one.queue)[0].worker is not None


def test_the_audit_topic_hears_of_both_before_they_are_so(scenario):
    enqueue(scenario)
    for act, there in (
        (lambda: lock(scenario, "prod", expires_at=END), False),
        (lambda: unlock(scenario, "prod"), True),
    ):
        scenario.audit.unavailable = True
        with pytest.raises(CloudUnavailable):
            act()
        assert bool(scenario.queues.locks(REPOSITORY).of("prod")) is there
        scenario.audit.unavailable = False
        act()
    locked, unlocked = scenario.audit.published
    assert (locked.state, locked.body["scope"], locked.body["root"]) == ("LOCKED", "prod", None)
    assert (locked.body["expires_at"], unlocked.state, unlocked.body["initiating_user"]) == (
        timestamp_text(END),
        "UNLOCKED",
        "writer",
    )


def test_the_same_lock_again_changes_nothing_and_another_is_refused(scenario):
    enqueue(scenario)
    assert lock(scenario, "prod", reason="a").done
    assert lock(scenario, "prod", reason="a").done
    assert len(scenario.audit.published) == 1
    refused = lock_many(scenario.ports, REPOSITORY, "prod", Locking("other", LATER, "b"))
    assert (refused.done, "locked on" in refused.reason) == (False, True)
    assert lock(scenario, WHOLE).done
    assert len(scenario.queues.locks(REPOSITORY).locks) == 2


def test_an_unlocking_from_before_the_lock_takes_nothing_away(scenario):
    enqueue(scenario)
    assert not unlock(scenario, "prod").done
    lock_many(scenario.ports, REPOSITORY, "prod", Locking("writer", LATER))
    assert not unlock(scenario, "prod", at=AT).done
    assert scenario.queues.locks(REPOSITORY).of("prod")


def test_a_queue_is_not_unlocked_by_itself_while_its_stack_is_locked(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    refused = unlock_queue(scenario.ports, one.queue, Unlocking("writer", LATER))
    assert (refused.done, "stack prod" in refused.reason) == (False, True)


@pytest.mark.parametrize("scope", [WHOLE, "prod"])
def test_a_lock_ends_by_itself_and_what_waits_goes_on(scenario, scope):
    one = enqueue(scenario)
    lock(scenario, scope, expires_at=LATER)
    assert claim(scenario, one.queue).step == "wait"
    assert reconcile(scenario, AT) == 0
    assert reconcile(scenario, LATER) == 1
    assert claim(scenario, one.queue).deployment == one.id
    assert scenario.audit.published[-1].body["initiating_user"] == "tidegate"


def test_the_lock_of_one_queue_ends_by_itself_also_where_nothing_waits(scenario):
    one = enqueue(scenario)
    queue = queue_id(REPOSITORY, "live/db")
    head, _ = scenario.queues.read(queue)
    scenario.queues.commit(head, head)
    for each in (one.queue, queue):
        lock_queue(scenario.ports, each, Locking("writer", AT, expires_at=LATER))
    assert claim(scenario, one.queue).step == "wait"
    assert reconcile(scenario, AT) == 0
    assert reconcile(scenario, END) == 2
    assert claim(scenario, one.queue).deployment == one.id
    assert scenario.queues.read(queue)[0].lock is None


def test_a_comment_locks_and_unlocks_a_stack_for_a_time(scenario):
    enqueue(scenario)
    scenario.comment("tidegate lock --stack prod --for 2h --reason the vendor moves")
    made = scenario.queues.locks(REPOSITORY).of("prod")
    assert (made.by, made.reason, made.expires_at) == ("writer", "the vendor moves", AT + timedelta(hours=2))
    assert "writer locked stack prod" in scenario.reply
    scenario.forge.comments.clear()
    scenario.comment("tidegate unlock --stack prod", at=LATER)
    assert scenario.queues.locks(REPOSITORY).locks == ()
    scenario.forge.comments.clear()
    scenario.comment("tidegate unlock --all", at=LATER)
    assert "had no such lock" in scenario.reply


def test_a_stack_that_nothing_was_deployed_of_is_not_locked(scenario):
    scenario.comment("tidegate lock --stack prood")
    assert "Stack" in scenario.reply
    scenario.forge.comments.clear()
    enqueue(scenario)
    scenario.comment("tidegate lock --stack prood")
    assert "Stacks with deployments: live and prod" in scenario.reply
    assert "Did you mean" in scenario.reply
    assert scenario.queues.locks(REPOSITORY).locks == ()


def test_who_may_not_unlock_one_of_its_roots_may_not_lock_a_stack(scenario):
    nobody = Access(unlock=())
    enqueue(scenario)
    enqueue(scenario, "live/db", 2, access=nobody)
    enqueue(scenario, "live/more", 3, access=Access())

    assert not may_lock_many(scenario.ports, REPOSITORY, "prod", "writer").done
    assert not may_lock_many(scenario.ports, REPOSITORY, WHOLE, "writer").done
    assert may_lock_many(scenario.ports, REPOSITORY, WHOLE, "writer").reason
    scenario.comment("tidegate lock --stack prod")
    assert "Nothing was locked" in scenario.reply
    assert scenario.queues.locks(REPOSITORY).locks == ()


def test_rights_over_roots_of_other_stacks_do_not_matter_for_a_stack(scenario):
    enqueue(scenario)
    enqueue(scenario, "live/db", 2, stack="dev", access=Access(unlock=()))
    assert may_lock_many(scenario.ports, REPOSITORY, "prod", "writer").done


def test_a_list_shows_a_root_s_own_lock_before_that_of_its_stack(scenario):
    one = enqueue(scenario)
    lock(scenario, "prod")
    head, _ = scenario.queues.read(one.queue)
    scenario.queues.commit(head, replace(head, lock=any_lock()))
    (view,) = search_queues(scenario.ports, REPOSITORY, parse_root_query("stack_name:prod")).roots
    assert view.head.lock.scope == ""


def test_without_any_deployment_who_may_write_locks_the_repository(scenario):
    assert may_lock_many(scenario.ports, REPOSITORY, WHOLE, "writer").done
    assert not may_lock_many(scenario.ports, REPOSITORY, WHOLE, "stranger").done
    scenario.comment("tidegate lock --all", by="reader")
    assert "Nothing was locked" in scenario.reply


def test_a_duration_that_is_none_is_refused(scenario):
    scenario.comment("tidegate lock --for soon")
    assert "is not a duration" in scenario.reply
    with pytest.raises(InvalidName):
        lock_end("2 hours", AT)
