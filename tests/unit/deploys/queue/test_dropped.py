"""What left the line before anybody judged it is part of the next plan, and so is all that was to be asked of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_root, deployment_in, sha
from tests.unit.deploys.queue.scenario import LATER
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.oversized import reduced
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Enrolled
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.push import Pushed

REQUIRED = (Requirements(approvals=1),)


def merge(number, **fields):
    """A merge of a root that requires an approval."""
    pushed = (Pushed(sha(number - 1), sha(number), "main"),)
    return any_deployment(number, **{"requires": REQUIRED, "pushed": pushed, **fields})


def push(number):
    return merge(number).commits.pushed[0]


def cancel(scenario, deployment):
    assert cancel_deployment(scenario.ports, deployment.id, "author", LATER).done


def dropped(scenario, *merges):
    """Put merges in line, and cancel them there."""
    for each in merges:
        scenario.enqueue(each)
        cancel(scenario, each)


def let_in(scenario, deployment):
    scenario.in_flight(deployment)
    assert scenario.validate(deployment).allowed
    return scenario.deployments.get(deployment.id)


def ends(scenario, deployment, state):
    now = let_in(scenario, deployment)
    scenario.deployments.save(replace(now, state=state))
    scenario.record(deployment)
    return now


def test_the_pushes_of_what_was_cancelled_in_line_are_judged_with_what_contains_it(scenario):
    dropped(scenario, merge(1), merge(2))
    assert let_in(scenario, merge(3)).commits.pushed == (push(1), push(2), push(3))


def test_so_are_the_rules_that_it_changes_and_who_made_it(scenario):
    dropped(scenario, merge(1, rule_changes=("workflows",), authors=("eve",), authors_known=False))
    rule = ReviewRule(exclude_authors=True)
    now = let_in(scenario, merge(2, rule_changes=("hooks",), authors=("ann",), review_rule=rule))
    assert (now.commits.rule_changes, now.commits.authors, now.commits.authors_known) == (
        ("hooks", "workflows"),
        ("ann", "eve"),
        False,
    )


def test_people_look_if_it_was_to_wait_for_others(scenario):
    scenario.change_sets.enroll("change", [Enrolled("app", "dev", "any", NOW)])
    dropped(scenario, merge(1, stack="prod", waits=Waits(apply_after=("dev",)), change_set="change"))
    assert let_in(scenario, merge(2, stack="prod")).lineage.look_twice


def test_what_does_not_contain_it_brings_nothing_of_it(scenario):
    dropped(scenario, merge(2))
    scenario.forge.comparisons[sha(2), sha(1)] = Comparison.BEHIND
    assert let_in(scenario, merge(1)).commits.pushed == (push(1),)
    assert scenario.head.dropped == (merge(2).id,)


def test_the_head_of_a_pull_request_contains_it_by_its_base(scenario):
    dropped(scenario, merge(1))
    scenario.forge.comparisons[sha(1), sha(5)] = Comparison.DIVERGED
    head = merge(5, trigger=Trigger.MANUAL, pull_request=5, base_sha=sha(2), pushed=())
    assert let_in(scenario, head).commits.pushed == (push(1),)


def test_what_is_destroyed_contains_nothing_that_came_since(scenario):
    scenario.change(deployed=any_deployed(5), dropped=(merge(1).id,))
    one = merge(5, trigger=Trigger.MANUAL, destroy=Destruction("last"), pushed=())
    assert let_in(scenario, one).lineage.carries == ()


@pytest.mark.parametrize("state", [State.REJECTED, State.PLAN_FAILED, State.CANCELLED])
def test_it_is_brought_along_until_what_contains_it_begins_to_be_applied(scenario, state):
    dropped(scenario, merge(1))
    ends(scenario, merge(2), state)
    assert ends(scenario, merge(3), State.APPLIED).commits.pushed[0] == push(1)
    assert let_in(scenario, merge(4)).commits.pushed == (push(4),)


@pytest.mark.parametrize("state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_what_was_let_pass_once_is_not_judged_again(scenario, state):
    dropped(scenario, merge(1))
    ends(scenario, merge(2), state)
    assert scenario.head.dropped == ()


def test_once_what_contains_it_is_applied_its_changes_are_as_well(scenario):
    dropped(scenario, merge(1, change_set="change"))
    ends(scenario, merge(2), State.REJECTED)
    ends(scenario, merge(3), State.APPLIED)
    contained = [scenario.deployments.get(merge(number).id).lineage.contained_by for number in (1, 2)]
    assert contained == [merge(3).id, merge(3).id]
    assert "change" in scenario.event_publisher.moved


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.RERUN, Trigger.DRIFT])
def test_what_no_merge_brought_is_not_remembered(scenario, trigger):
    dropped(scenario, merge(1, trigger=trigger))
    assert scenario.head.dropped == ()


def test_of_a_root_in_several_stacks_each_stack_has_its_own(scenario):
    dropped(scenario, merge(1, stack="dev", shared=True))
    assert let_in(scenario, merge(2, stack="prod", shared=True)).commits.pushed == (push(2),)


def test_one_that_is_too_large_to_be_let_in_is_brought_along_as_well(scenario):
    scenario.in_flight(reduced(merge(1)))
    assert not scenario.validate(merge(1)).allowed
    scenario.record(merge(1))
    assert let_in(scenario, merge(2)).commits.pushed == (push(1), push(2))


def test_one_that_is_cancelled_before_it_is_judged_hides_behind_none_before_it(scenario):
    ends(scenario, merge(1), State.REJECTED)
    scenario.in_flight(merge(2))
    cancel(scenario, merge(2))
    scenario.record(merge(2))
    assert let_in(scenario, merge(3)).commits.pushed == (push(2), push(1), push(3))


def test_a_new_name_of_a_root_leaves_nothing_behind(scenario):
    net = any_root(name="net")
    scenario.deployments.add(deployment_in(State.REJECTED, 1, root=net, id="net-1", pushed=(push(1),)))
    scenario.deployments.add(deployment_in(State.APPLIED, 9, root=net, id="net-0"))
    line = merge(2, root=net, id="net-2")
    scenario.enqueue(line)
    cancel(scenario, line)
    head = scenario.queues.read(line.queue)[0]
    deployed, undone = any_deployed(9, deployment="net-0"), any_deployed(1, deployment="net-1", state=State.REJECTED)
    scenario.queues.commit(head, replace(head, worker=None, deployed=deployed, undone=undone))
    now = let_in(scenario, merge(3))
    assert now.commits.pushed == (push(2), push(1), push(3))
    assert now.lineage.contains == "net-1"
