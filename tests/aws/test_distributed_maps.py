"""Items of distributed Maps are executions of their own, under their machine's ARN with the Map's label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.aws.contract import states
from tidegate_cdk.permissions import readable


def _labelled(template: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each state machine with a distributed Map, and the Map's label."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            properties = resource["Properties"]
            for _, state in states(json.loads(properties["DefinitionString"])):
                if state.get("ItemProcessor", {}).get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED":
                    yield properties["StateMachineName"], state["Label"]


def _answering(template: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield which policy allows which answer to task tokens of what."""
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::IAM::Policy":
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                yield from _answers(name, statement)


def _answers(policy: str, statement: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    actions, resources = (_list(statement.get(key, [])) for key in ("Action", "Resource"))
    if statement["Effect"] == "Allow":
        for action in actions:
            if action.startswith("states:SendTask"):
                yield from ((policy, action, readable(resource).rpartition(":")[2]) for resource in resources)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_who_answers_the_task_tokens_of_a_machine_answers_those_of_its_items(installation: dict[str, Any]):
    labelled, answers = list(_labelled(installation)), set(_answering(installation))
    assert len(labelled) == 2
    for machine, label in labelled:
        own = {(policy, action) for policy, action, of in answers if of == machine}
        of_items = {(policy, action) for policy, action, of in answers if of == f"{machine}/{label}"}
        assert own
        assert own == of_items


def test_ends_of_items_are_not_taken_for_ends_of_their_machine(installation: dict[str, Any]):
    """Events of items name the ARN with the label, which no rule asks for: their machine tells how they ended."""
    for resource in installation["Resources"].values():
        if resource["Type"] == "AWS::Events::Rule":
            asked = resource["Properties"].get("EventPattern", {}).get("detail", {}).get("stateMachineArn", [])
            # Those of clusters, which have no Map with items of its own, are asked for by what their names begin with.
            assert all("Ref" in arn or "-cluster-" in json.dumps(arn["prefix"]) for arn in asked)
