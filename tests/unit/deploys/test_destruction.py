"""What destroying a root does to its queue, and how its plan is judged."""

from __future__ import annotations

import pytest

from tests.builders import NOW, amended, any_deployed, any_deployment, any_lock, any_plan, any_queue, deployment_in, sha
from tests.instants import utc
from tidegate.deploys.rules.audit import RUNNING, audit_message
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import Orphaned, QueueHead, head_after, lock_at_end, lock_when_let_in
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.review import Need, evaluate_plan
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges

ORPHANED = Orphaned(sha(9), NOW, 12)
HEAD = QueueHead(any_queue(), deployed=any_deployed(orphaned=ORPHANED))


def destroying(state=State.APPLIED, number=1, **fields):
    fields = {"trigger": Trigger.MANUAL, "destroy": Destruction("last"), **fields}
    return amended(deployment_in(state, number), **fields)


@pytest.mark.parametrize("destroy", [Destruction("last"), Destruction()])
def test_a_plan_that_destroys_is_reviewed_whatever_the_rule_says(destroy):
    one = any_deployment(destroy=destroy, review_rule=ReviewRule(PlanReview.NEVER))
    assert evaluate_plan(one, any_plan()).next is Need.REVIEW
    assert evaluate_plan(one, any_plan(changes=PlannedChanges())).next is Need.NOTHING


@pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES])
def test_what_is_destroyed_is_archived_until_it_is_deployed_afresh(state):
    after = head_after(HEAD, destroying(state))
    assert (after.is_destroyed, after.orphaned, after.deployed.orphaned) == (True, None, ORPHANED)
    again = head_after(after, deployment_in(State.APPLIED, 2, requested_at=utc("2026-03-03T08:00")))
    assert (again.is_destroyed, again.orphaned) == (False, None)


@pytest.mark.parametrize("state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.REJECTED])
def test_what_was_not_destroyed_stays_behind(state):
    after = head_after(HEAD, destroying(state))
    assert (after.is_destroyed, after.orphaned) == (False, ORPHANED)


def test_a_root_of_several_stacks_is_destroyed_once_it_is_so_in_all():
    head = HEAD
    for number, stack in enumerate(("dev", "prod"), 1):
        head = head_after(head, deployment_in(State.APPLIED, number, stack=stack, shared=True))
    first = head_after(head, destroying(stack="dev", shared=True))
    assert not first.is_destroyed
    assert head_after(first, destroying(number=2, stack="prod", shared=True)).is_destroyed


def test_nothing_that_was_never_deployed_is_destroyed():
    assert not QueueHead(any_queue()).is_destroyed


def test_the_lock_of_what_destroyed_all_there_was_goes_away():
    one = destroying()
    lock = lock_when_let_in(one, None, NOW)
    assert "A manual destroy of this root" in lock.reason
    assert lock_at_end(one, lock, NOW) is None
    assert lock_at_end(destroying(State.APPLY_FAILED), lock, NOW) == lock
    assert lock_at_end(one, any_lock(), NOW) == any_lock()


def test_the_audit_topic_hears_what_destroys():
    assert audit_message(destroying(State.APPLYING), RUNNING, NOW).body["destroy"] is True
    assert audit_message(deployment_in(State.APPLYING), RUNNING, NOW).body["destroy"] is False


def test_what_destroys_does_so_when_it_is_run_again():
    assert run_again(destroying(State.APPLY_FAILED), "main", "writer", NOW, "again").request.destroy == Destruction(
        "last"
    )
