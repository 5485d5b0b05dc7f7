"""Functions are few, and none of them gives to a verb what that verb must not have."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from tidegate.bootstrap.table import QUEUES, RULES
from tidegate_cdk import verbs
from tidegate_cdk.capabilities import Capability
from tidegate_cdk.function_specs import FUNCTION_OF, SPECS, FunctionSpec
from tidegate_cdk.grants import given
from tidegate_cdk.props import TidegateProps
from tidegate_cdk.stack import TidegateStack
from tidegate_cdk.synthesis import file_context

MAPPING = "AWS::Lambda::EventSourceMapping"
#: Lambdas at most (docs/decisions/0218).
MOST = 12
SECRET, TOKENS, START = "the VCS provider's secret", "SendTask*", "StartExecution"
Powers = Mapping[Capability, frozenset[str]]


@pytest.fixture(scope="module")
def powers(tmp_path_factory: pytest.TempPathFactory) -> Powers:
    """Return what each capability gives of these, as its own statements say: none is hidden by its name."""
    outdir = tmp_path_factory.mktemp("groups")
    app = aws_cdk.App(analytics_reporting=False, context=file_context(), outdir=str(outdir))
    stack = TidegateStack(app, "Tidegate", TidegateProps.from_context(app.node))
    around = stack.tidegate.grant_context
    return {capability: frozenset(_powers(given(capability, around).statements)) for capability in Capability}


def _powers(statements: Any) -> Iterator[str]:
    for statement in statements:
        document = json.dumps(statement.to_json())
        if "secretsmanager:GetSecretValue" in document and "github-app" in document:
            yield SECRET
        if "states:SendTask" in document:
            yield TOKENS
        # A role that is passed on does what it may: that of schedules starts executions.
        if "states:StartExecution" in document or "iam:PassRole" in document:
            yield START


def widened(spec: FunctionSpec, powers: Powers) -> list[str]:
    """Return what a function gives to a verb that does not need it."""
    union = {power for capability in spec.capabilities for power in powers[capability]}
    return [
        f"{spec.name} gives {verb} {power}"
        for verb in spec.verbs
        for power in sorted(union - {each for need in verbs.NEEDS[verb] for each in powers[need]})
    ]


def test_no_function_gives_a_verb_the_secret_tokens_or_executions_that_it_does_not_need(powers: Powers):
    assert [wider for spec in SPECS for wider in widened(spec, powers)] == []


def test_the_rule_sees_each_verb_that_is_put_where_it_must_not_be(powers: Powers):
    """Each verb of each function, in each other function: it goes only where the three powers are the same."""
    of = {verb: {each for need in needs for each in powers[need]} for verb, needs in verbs.NEEDS.items()}
    for spec in SPECS:
        for verb in set(FUNCTION_OF) - set(spec.verbs):
            wider = dataclasses.replace(spec, verbs=(*spec.verbs, verb))
            assert bool(widened(wider, powers)) == (of[verb] != of[spec.verbs[0]]), (spec.name, verb)


def test_what_is_hidden_in_a_capability_is_seen(powers: Powers):
    has = {power: {each.name for each in powers if power in powers[each]} for power in (SECRET, TOKENS, START)}
    assert has[SECRET] == {"FORGE"}
    assert has[TOKENS] == {
        *(
            "ANSWER_WORKERS",
            "ANSWER_JOBS",
            "ANSWER_SPECULATIVE_PLANS",
            "PLAN_SLOTS",
            "ANSWER_UPDATES",
            "ANSWER_CLUSTER_TASKS",
        )
    }
    assert has[START] == {
        *(
            "START_DEPLOYS",
            "START_PULL_REQUESTS",
            "START_DRIFT",
            "SCHEDULE_DRIFT",
            "START_UPDATES",
            "START_CLUSTER_ERRORS",
        )
    }


def test_speculative_plans_answer_nothing_of_deployments():
    """The tokens of reviews and of gates are others than those of places, which is finer than the rule."""
    (steps,) = (spec for spec in SPECS if spec.name == "pull_request_steps")
    assert {Capability.ANSWER_JOBS, Capability.ANSWER_WORKERS}.isdisjoint(steps.capabilities)


def test_what_reads_pull_requests_starts_nothing_and_what_judges_plans_knows_nothing(powers: Powers):
    """What works on texts of others has what these need and no more."""
    may = {spec.name: {power for need in spec.capabilities for power in powers[need]} for spec in SPECS}
    assert may["git_steps"] == {SECRET}
    assert may["check_policies"] == may["webhook"] == may["steps"] == set()


def test_there_are_few_functions(resources):
    assert len(SPECS) == len(resources("AWS::Lambda::Function")) <= MOST
    assert set(FUNCTION_OF) == set(verbs.NEEDS), "a verb without a function, or without needs"


def test_each_folder_is_a_function():
    folders = {path.parent.name for path in (Path(__file__).parents[2] / "functions").glob("*/handler.py")}
    assert folders == {spec.name for spec in SPECS}


def test_a_function_takes_from_the_queues_that_the_table_leads_from(template, other):
    """A queue is known by the variable with its URL, so its function has that variable and may take from the queue."""
    expected = {(function, variable) for function, queues in QUEUES.items() for variable in queues}
    assert _taken(other) == expected
    assert _taken(template) == expected - {("steps", "TIDEGATE_NOTIFICATION_QUEUE")}  # It has no destinations.


def _taken(template):
    """Return each function that takes from a queue, with the variable of the queue's URL."""
    taken = set()
    resources = template["Resources"]
    for mapping in (each["Properties"] for each in resources.values() if each["Type"] == MAPPING):
        name, queue = mapping["FunctionName"]["Ref"], mapping["EventSourceArn"]["Fn::GetAtt"][0]
        environ = resources[name]["Properties"]["Environment"]["Variables"]
        (variable,) = [variable for variable, url in environ.items() if url == {"Ref": queue}]
        spec = max((each for each in SPECS if each.id in name), key=lambda each: len(each.id))
        taken.add((spec.name, variable))
    return taken


def test_an_event_goes_by_a_rule_to_the_function_whose_verb_it_is_for():
    assert {(function, rule.name) for function, rules in RULES.items() for rule in rules.values()} == {
        (FUNCTION_OF[name], name) for name in ("execution_closed", "runner_stopped")
    }
