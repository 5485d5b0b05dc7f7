"""Destroying what roots made that the default branch does not have any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_plan, any_root, deployment_in
from tests.unit.comments.events_scenario import BASE, FILES, MAIN, NUMBER, EventsScenario
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import head_after
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Revision
from tidegate.rules.access import Access

GONE = any_root(name="live/gone", dir="live/gone")
CONTROLLED = """
access_control:
  policies:
    - tag_query: ""
      apply: [user:%s]
"""


@pytest.fixture
def scenario():
    return EventsScenario()


def deployed(scenario, number=1, **fields):
    """Let a root that is gone be deployed."""
    values = {"root": GONE, "revision": Revision(BASE, "main"), "state": State.APPLIED}
    one = amended(deployment_in(State.APPLIED, number), **{**values, **fields})
    one = replace(one, id=f"{one.id}-{number}")
    scenario.deployments.add(one)
    head, _ = scenario.queues.read(one.queue)
    scenario.queues.commit(head, head_after(head, one))
    return one


def destroy(scenario, *roots, **more):
    return scenario.request(*roots, destroy=True, **more)


def destroying(scenario):
    (found,) = [each for each in scenario.enqueued if each.request.destroy]
    return found


def test_what_was_deployed_last_is_destroyed_as_it_was_deployed(scenario):
    run = RunSettings(variables=(("STACK_VAR_REGION", "eu"),))
    last = deployed(scenario, run=run, plan=any_plan(engine_version="1.9.8"), within=("group",))
    assert "needs a review" in destroy(scenario, "live/gone")
    made = destroying(scenario)
    assert made.request.destroy == Destruction(last.id, "1.9.8", last.planned.plan.lock_file)
    assert (made.root, made.revision, made.settings.run, made.within) == (GONE, last.revision, run, ("group",))
    assert (made.request.trigger, made.request.by, made.commits.authors) == (Trigger.MANUAL, "operator", ("operator",))
    assert scenario.deliveries.outcome("delivery-1").deployments == (made.id,)


def test_its_plan_is_always_reviewed(scenario):
    deployed(scenario, review_rule=ReviewRule(PlanReview.NEVER, approvals=2))
    destroy(scenario, "live/gone")
    assert destroying(scenario).settings.review_rule == ReviewRule(PlanReview.ALWAYS, approvals=2)


def test_a_root_of_several_stacks_is_destroyed_in_each(scenario):
    for number, stack in enumerate(("dev", "prod"), 1):
        deployed(scenario, number, stack=stack, shared=True)
    destroy(scenario, "live/gone")
    assert sorted(each.stack for each in scenario.enqueued if each.request.destroy) == ["dev", "prod"]


def test_what_failed_to_be_destroyed_is_destroyed_with_the_same_lock_file_again(scenario):
    how = Destruction("first", "1.9.8", any_plan().lock_file)
    last = deployed(scenario, state=State.APPLY_FAILED, destroy=how, plan=None)
    destroy(scenario, "live/gone")
    again = next(each for each in scenario.enqueued if each.id != last.id)
    assert again.request.destroy == replace(how, deployment=last.id)


def test_what_was_never_planned_is_destroyed_with_what_its_commit_says(scenario):
    last = deployed(scenario, plan=None)
    destroy(scenario, "live/gone")
    assert destroying(scenario).request.destroy == Destruction(last.id)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("live/app", "still exists on the default branch"),
        ("live/gonne", "Did you mean 'live/gone'?"),
        ("xyz", "There is no root 'xyz'. Nothing"),
        ("live/empty", "was never deployed"),
        ("live/over", "are already destroyed"),
        ("live/renamed", "is now named 'live/db'"),
    ],
)
def test_what_cannot_be_destroyed_holds_back_all_and_is_told(scenario, name, told):
    deployed(scenario)
    deployed(scenario, 2, root=any_root(name="live/app", dir="live/app"))
    deployed(scenario, 3, root=any_root(name="live/over", dir="live/over"), destroy=Destruction())
    deployed(scenario, 4, root=any_root(name="live/renamed", dir="live/db"))
    scenario.lock("live/empty")
    outcome = destroy(scenario, name, "live/gone")
    assert told in outcome
    assert "Nothing is destroyed." in outcome
    assert all(each.state is not State.QUEUED for each in scenario.enqueued)


def test_an_unusable_file_is_told(scenario):
    deployed(scenario)
    scenario.file(MAIN, "version: 2\n")
    assert destroy(scenario, "live/gone").endswith("Nothing is destroyed.")


def test_the_same_is_not_asked_for_twice(scenario):
    deployed(scenario)
    destroy(scenario, "live/gone")
    first = next(each for each in scenario.enqueued if each.request.destroy)
    assert first.id in destroy(scenario, "live/gone")
    assert len([each for each in scenario.enqueued if each.request.destroy]) == 1


def test_a_deploy_by_hand_of_the_same_revision_is_another_thing(scenario):
    last = deployed(scenario)
    enqueue(scenario.ports, amended(last, id="by-hand", state=State.QUEUED, trigger=Trigger.MANUAL, plan=None))
    assert "needs a review" in destroy(scenario, "live/gone")


@pytest.mark.parametrize(("now", "who", "may"), [("operator", "operator", True), ("other", "operator", False)])
def test_who_may_not_deploy_such_a_root_now_may_not_destroy_it(scenario, now, who, may):
    deployed(scenario)
    scenario.file(MAIN, "version: 1\n" + CONTROLLED % now)
    scenario.forge.writers.add(who)
    assert ("needs a review" in destroy(scenario, "live/gone", by=who)) is may


def test_who_might_not_deploy_it_then_may_not_destroy_it(scenario):
    deployed(scenario, access=Access(apply=("user:other",)))
    assert "Nothing is destroyed." in destroy(scenario, "live/gone")
    scenario.file(MAIN, "version: 1\n" + CONTROLLED % "operator")
    assert "Nothing is destroyed." in destroy(scenario, "live/gone")


def test_a_root_that_no_stack_takes_any_more_is_nobodys_unless_somebody_was_named_for_it(scenario):
    scenario.forge.writers.add("operator")
    deployed(scenario)
    deployed(scenario, 2, root=any_root(name="live/named", dir="live/named"), access=Access(apply=("user:operator",)))
    stacks = "stacks: {names: {default: {tag_query: 'dir:live/app'}}}\n"
    scenario.file(MAIN, "version: 1\n" + stacks + CONTROLLED % "operator")
    assert "no stack of the default branch" in destroy(scenario, "live/gone")
    assert "needs a review" in destroy(scenario, "live/named")


def test_what_was_required_then_and_is_now_is_required_of_it(scenario):
    deployed(scenario, requires=(Requirements(approvals=1),))
    scenario.file(MAIN, "version: 1\napply_requirements: {approved: {any_of_count: 2}}\n")
    destroy(scenario, "live/gone")
    assert [each.approvals for each in destroying(scenario).settings.requires] == [1, 2]


def test_every_policy_set_judges_it(scenario):
    deployed(scenario)
    scenario.trees[MAIN] = {**FILES, "policies/a.rego": "package main\n"}
    scenario.file(MAIN, "version: 1\npolicy_sets: {guard: {paths: [policies], tag_query: 'dir:live/app'}}\n")
    destroy(scenario, "live/gone")
    assert [each.name for each in destroying(scenario).policies.sets] == ["guard"]


class TestComments:
    @pytest.fixture(autouse=True)
    def _merged(self, scenario):
        scenario.pull(merged=True, is_open=False)

    def test_a_comment_on_a_merged_pull_request_destroys_the_roots_that_it_names(self, scenario):
        deployed(scenario)
        assert "Enqueued for destroy: live/gone." in scenario.comment("tidegate destroy -p live/gone")
        made = destroying(scenario)
        assert (made.request.by, made.request.pull_request) == ("writer", None)
        assert made.request.destroy.asked_on == NUMBER
        assert "`live/gone`, as of" in scenario.reply
        assert "waits for a review" in scenario.reply

    @pytest.mark.parametrize(
        ("text", "by", "told"),
        [
            ("tidegate destroy", "writer", "name each root"),
            ("tidegate destroy -p live/gone", "reader", "has no write permission"),
            ("tidegate destroy -p live/app", "writer", "still exists on the default branch"),
            ("tidegate destroy -p live/gone --force", "writer", "always needs a review"),
        ],
    )
    def test_what_is_not_destroyed_is_answered_with_the_reason(self, scenario, text, by, told):
        deployed(scenario)
        deployed(scenario, 2, root=any_root(name="live/app", dir="live/app"))
        scenario.forge.readers.add("reader")
        scenario.comment(text, by)
        assert told in scenario.reply.replace("\\", "")
        assert not [each for each in scenario.enqueued if each.request.destroy]

    def test_before_the_merge_nothing_is_destroyed(self, scenario):
        scenario.pull(merged=False, is_open=True)
        deployed(scenario)
        scenario.comment("tidegate destroy -p live/gone")
        assert "not merged" in scenario.reply

    def test_a_second_comment_is_answered_with_the_first(self, scenario):
        deployed(scenario)
        scenario.comment("tidegate destroy -p live/gone")
        scenario.forge.comments.clear()
        scenario.comment("tidegate destroy -p live/gone")
        assert "Nothing is destroyed" in scenario.reply
        assert len([each for each in scenario.enqueued if each.request.destroy]) == 1
