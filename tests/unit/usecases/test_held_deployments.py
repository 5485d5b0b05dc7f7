"""Whatever asks for a deployment, its plan is held against the policy sets of the default branch."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, any_layer, any_plan
from tests.unit.usecases.drift_world import CHANGED as DRIFTED
from tests.unit.usecases.drift_world import DriftWorld
from tests.unit.usecases.events_world import MAIN, EventsWorld
from tests.unit.usecases.pull_request_world import HEAD, NUMBER, PullRequestWorld
from tests.unit.usecases.push_world import CHANGED, World
from tidegate.deploys.rules.evaluated_plan import EvaluatedPlan
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.rules.errors import NotFound

RECONCILE = "drift: {schedules: {nightly: {tag_query: '', schedule: daily, reconcile: true}}}\n"
SETS = "policy_sets: {words: {paths: [policies], owners: ['user:ann'], tag_query: 'dir:live/app'}}\n"
POLICY = {"policies/main.rego": "package main\n"}
WORDS = PolicySetStatus("words", owners=("user:ann",))


def held(deployments):
    return {each.root.name: [(one.name, one.owners, one.problem) for one in each.policies.sets] for each in deployments}


def test_a_merge_is_held_against_the_sets_of_its_own_commit_each_root_against_its_own():
    world = World()
    world.new = {**CHANGED, **POLICY, "tidegate.yaml": SETS}
    world.receive()
    assert held(world.enqueued) == {"live/app": [("words", ("user:ann",), "")], "live/db": []}
    (key,) = {one.key for each in world.enqueued for one in each.policies.sets}
    assert key in world.ports.artifacts.objects


def test_without_policy_sets_nothing_is_fetched_or_stored_for_them():
    world = World()
    world.receive()
    assert (len(world.fetched), world.ports.artifacts.objects) == (1, {})
    assert held(world.enqueued) == {"live/app": [], "live/db": []}


def test_a_merge_whose_policies_cannot_be_read_any_more_deploys_nothing():
    world = World()
    world.new = {**CHANGED, **POLICY, "tidegate.yaml": SETS}
    fetch = world.fetch
    calls = []

    def once(*where):
        calls.append(where)
        if len(calls) > 1:
            raise NotFound("commit", where[-1])
        return fetch(*where)

    world.fetch = once
    assert "The commit" in world.receive()
    assert world.enqueued == []


def test_what_the_api_asks_for_is_held_against_the_sets_of_the_default_branch():
    world = EventsWorld()
    world.file(MAIN, SETS)
    world.trees[MAIN] |= POLICY
    world.request("live/app", "live/db")
    assert held(world.enqueued) == {"live/app": [("words", ("user:ann",), "")], "live/db": []}


def test_what_undoes_drift_is_held_against_the_sets_of_the_commit_that_was_looked_at():
    world = DriftWorld()
    world.trees[HEAD] = {**world.trees[HEAD], **POLICY}
    world.align(SETS.replace("live/app", "app") + RECONCILE)
    world.look(app=DRIFTED)
    world.deliver()
    assert held(world.deployments.all()) == {"app": [("words", ("user:ann",), "")]}


def test_what_is_run_again_is_held_against_the_same_sets():
    old = any_deployment(1, policy_sets=(WORDS,))
    assert run_again(old, "main", "somebody", NOW, "again").policies.sets == (WORDS,)


@pytest.mark.parametrize("merged", [True, False])
def test_the_plans_that_policies_judged_are_remembered_once_a_pull_request_is_merged(merged):
    world = PullRequestWorld()
    world.receive()
    judged = {
        "state": LayerState.PLANNED,
        "plan": any_plan(),
        "policy_sets": (WORDS,),
        "verdicts": (PolicyVerdict("words"),),
    }
    world.discovered(
        any_layer("app", digest="d1", **judged),
        any_layer("not-judged", **judged),
        any_layer("with-options", digest="d2", options=("-refresh=false",), **judged),
        any_layer("of-two", digest="d3", **{**judged, "policy_sets": (WORDS, PolicySetStatus("costs"))}),
    )
    world.pull(is_open=False, merged=merged)
    world.receive(action="closed")
    assert world.record.plans == ((EvaluatedPlan("app", "default", HEAD, "d1"),) if merged else ())
    assert world.record.spec.number == NUMBER
