"""Whatever asks for a deployment, its plan is held against the policy sets of the default branch."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, any_layer, any_plan
from tests.unit.comments.events_scenario import MAIN, EventsScenario
from tests.unit.drift.drift_scenario import CHANGED as DRIFTED
from tests.unit.drift.drift_scenario import DriftScenario
from tests.unit.pull_requests.pull_request_scenario import HEAD, NUMBER, PullRequestScenario
from tests.unit.pushes.push_scenario import CHANGED, Scenario
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
    scenario = Scenario()
    scenario.new = {**CHANGED, **POLICY, "tidegate.yaml": SETS}
    scenario.receive()
    assert held(scenario.enqueued) == {"live/app": [("words", ("user:ann",), "")], "live/db": []}
    (key,) = {one.key for each in scenario.enqueued for one in each.policies.sets}
    assert key in scenario.ports.artifacts.objects


def test_without_policy_sets_nothing_is_fetched_or_stored_for_them():
    scenario = Scenario()
    scenario.receive()
    assert (len(scenario.fetched), scenario.ports.artifacts.objects) == (1, {})
    assert held(scenario.enqueued) == {"live/app": [], "live/db": []}


def test_a_merge_whose_policies_cannot_be_read_any_more_deploys_nothing():
    scenario = Scenario()
    scenario.new = {**CHANGED, **POLICY, "tidegate.yaml": SETS}
    fetch = scenario.fetch
    calls = []

    def once(*where):
        calls.append(where)
        if len(calls) > 1:
            raise NotFound("commit", where[-1])
        return fetch(*where)

    scenario.fetch = once
    assert "The commit" in scenario.receive()
    assert scenario.enqueued == []


def test_what_the_api_asks_for_is_held_against_the_sets_of_the_default_branch():
    scenario = EventsScenario()
    scenario.file(MAIN, SETS)
    scenario.trees[MAIN] |= POLICY
    scenario.request("live/app", "live/db")
    assert held(scenario.enqueued) == {"live/app": [("words", ("user:ann",), "")], "live/db": []}


def test_what_undoes_drift_is_held_against_the_sets_of_the_commit_that_was_looked_at():
    scenario = DriftScenario()
    scenario.trees[HEAD] = {**scenario.trees[HEAD], **POLICY}
    scenario.align(SETS.replace("live/app", "app") + RECONCILE)
    scenario.look(app=DRIFTED)
    scenario.deliver()
    assert held(scenario.deployments.all()) == {"app": [("words", ("user:ann",), "")]}


def test_what_is_run_again_is_held_against_the_same_sets():
    old = any_deployment(1, policy_sets=(WORDS,))
    assert run_again(old, "main", "somebody", NOW, "again").policies.sets == (WORDS,)


@pytest.mark.parametrize("merged", [True, False])
def test_the_plans_that_policies_judged_are_remembered_once_a_pull_request_is_merged(merged):
    scenario = PullRequestScenario()
    scenario.receive()
    judged = {
        "state": LayerState.PLANNED,
        "plan": any_plan(),
        "policy_sets": (WORDS,),
        "verdicts": (PolicyVerdict("words"),),
    }
    scenario.discovered(
        any_layer("app", digest="d1", **judged),
        any_layer("not-judged", **judged),
        any_layer("with-options", digest="d2", options=("-refresh=false",), **judged),
        any_layer("of-two", digest="d3", **{**judged, "policy_sets": (WORDS, PolicySetStatus("costs"))}),
    )
    scenario.pull(is_open=False, merged=merged)
    scenario.receive(action="closed")
    assert scenario.record.plans == ((EvaluatedPlan("app", "default", HEAD, "d1"),) if merged else ())
    assert scenario.record.spec.number == NUMBER
