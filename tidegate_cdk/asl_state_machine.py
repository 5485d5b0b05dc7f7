"""A state machine from a file in stepfunctions/, with exactly the values and grants that its file needs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from tidegate.aws.definitions import rendered
from tidegate_cdk.trust import for_machine

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
#: Step Functions' own rule, by which ``startExecution.sync:2`` learns of the child's end.
_SYNC_RULE = "StepFunctionsGetEventsForStepFunctionsExecutionRule"
#: The label of the distributed Maps, whose items are layers.
LAYERS = "Layers"


@dataclass(frozen=True, slots=True)
class TaskToRun:
    """A task definition that the machine may run, and the cluster that it may run it in."""

    definition: ecs.FargateTaskDefinition
    cluster: ecs.ICluster


@dataclass(frozen=True, slots=True)
class MachinesToStart:
    """Machines that the machine may start by their names, patterns of which these are. The value is ``begins``."""

    begins: str
    names: tuple[str, ...]


class PlaceholderMismatch(ValueError):  # Named after its meaning.
    """A file has a placeholder without a value, or there is a value without a placeholder."""

    def __init__(self, file: str, without_value: set[str], without_placeholder: set[str]) -> None:
        super().__init__(
            f"{file}: no value for {sorted(without_value)}, no placeholder for {sorted(without_placeholder)}"
        )


def placeholders_in(file: Path) -> set[str]:
    """Return the placeholders of a state machine's file."""
    return set(PLACEHOLDER.findall(rendered(file)))


def machine_arn(scope: Construct, name: str) -> str:
    """Return a state machine's ARN by its name, which avoids a cycle between resources."""
    return Stack.of(scope).format_arn(
        service="states", resource="stateMachine", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )


def execution_arn(scope: Construct, name: str) -> str:
    """Return the ARN pattern of all executions of a state machine."""
    return Stack.of(scope).format_arn(
        service="states", resource="execution", resource_name=f"{name}:*", arn_format=ArnFormat.COLON_RESOURCE_NAME
    )


def token_arns(scope: Construct, name: str) -> tuple[str, str]:
    """Return the ARNs that task tokens of a machine with layers may belong to: its own, and with its Map's label.

    Child workflow executions have "a labelled State Machine ARN" (Step Functions, Viewing a Distributed Map Run).
    """
    return machine_arn(scope, name), machine_arn(scope, f"{name}/{LAYERS}")


def tasks_arn(scope: Construct, cluster: ecs.ICluster) -> str:
    """Return the ARN pattern of all tasks of a cluster."""
    return Stack.of(scope).format_arn(service="ecs", resource="task", resource_name=f"{cluster.cluster_name}/*")


class AslStateMachine(Construct):
    """A Standard state machine from ``file``; each value in ``values`` grants what its type needs.

    Functions are called by their current version, tasks are run of their current revision. "Running executions will
    continue to use the previous definition and roleArn" (Step Functions, UpdateStateMachine), so they go on with what
    their own definition names. The role is the same for all of them, with the policies that it has now: it may use
    every version and every revision.

    ``at_once`` tells by the names of Map states how many items each works on at a time, in place of what the file says.
    ``without`` names states that this installation has no use for.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        file: Path,
        name: str,
        values: Mapping[str, Value],
        at_once: Mapping[str, int] | None = None,
        without: Collection[str] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name
        definition = without_states(rendered(file), without)
        definition = _with_concurrency(definition, at_once or {})
        self.labels = _labels(definition)
        self.log_group = log_group(self, name)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=for_machine(self, name),
            description=f"The state machine {name}",
        )
        self.machine = sfn.StateMachine(
            self,
            "Resource",
            state_machine_name=name,
            definition_body=sfn.DefinitionBody.from_string(definition),
            definition_substitutions=substitutions(file.name, definition, values) or None,
            role=self.role,
            tracing_enabled=True,
            logs=logged_to(self.log_group),
        )
        self.functions = [value for value in values.values() if isinstance(value, lambda_.Function)]
        for value in values.values():
            grant_value(self, self.role, value)
        for label in self.labels:
            self._grant_items(label)

    def _grant_items(self, label: str) -> None:
        """Grant what a distributed Map needs: it starts its items as executions of the machine itself.

        If the Map ends first, because its execution was stopped, Step Functions uses this to stop them.
        """
        self.role.add_to_policy(
            iam.PolicyStatement(actions=["states:StartExecution"], resources=[machine_arn(self, self.name)])
        )
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=["states:DescribeExecution", "states:StopExecution"],
                resources=[execution_arn(self, self.name), execution_arn(self, f"{self.name}/{label}")],
            )
        )


def log_group(scope: Construct, name: str) -> logs.LogGroup:
    """Return the log group of machines under a name."""
    return logs.LogGroup(
        scope,
        "Log",
        log_group_name=f"/aws/vendedlogs/states/{name}",
        retention=logs.RetentionDays.SIX_MONTHS,
        removal_policy=RemovalPolicy.DESTROY,
    )


def logged_to(group: logs.LogGroup) -> sfn.LogOptions:
    """Return what of a machine is logged: all but execution data.

    It holds task tokens, which control running deployments: they stay out of the log.
    """
    return sfn.LogOptions(destination=group, level=sfn.LogLevel.ALL, include_execution_data=False)


def grant_value(scope: Construct, role: iam.Role, value: Value) -> None:
    """Grant a machine's role what the type of a value in its definition needs."""
    if isinstance(value, TaskToRun):
        _grant_run(scope, role, value)
    elif isinstance(value, AslStateMachine):
        _grant_start(scope, role, value.name)
    elif isinstance(value, MachinesToStart):
        for name in value.names:
            _grant_start(scope, role, name)
    elif isinstance(value, lambda_.Function):
        _allow(role, ["lambda:InvokeFunction"], f"{value.function_arn}:*")


def _grant_run(scope: Construct, role: iam.Role, task: TaskToRun) -> None:
    definition = task.definition
    family = Stack.of(scope).format_arn(
        service="ecs", resource="task-definition", resource_name=f"{definition.family}:*"
    )
    _allow(role, ["ecs:RunTask"], family, {"ArnEquals": {"ecs:cluster": task.cluster.cluster_arn}})
    # Tasks get the tags of their definition (PropagateTags): without this, ECS refuses to start any.
    tasks, creating = tasks_arn(scope, task.cluster), {"StringEquals": {"ecs:CreateAction": "RunTask"}}
    _allow(role, ["ecs:TagResource"], tasks, creating)
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[definition.task_role.role_arn, definition.obtain_execution_role().role_arn],
            conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
        )
    )


def _grant_start(scope: Construct, role: iam.Role, child: str) -> None:
    """Grant what startExecution.sync:2 needs: start, describe and stop the child, and its end event."""
    rule = Stack.of(scope).format_arn(service="events", resource="rule", resource_name=_SYNC_RULE)
    _allow(role, ["states:StartExecution"], machine_arn(scope, child))
    _allow(role, ["states:DescribeExecution", "states:StopExecution"], execution_arn(scope, child))
    _allow(role, ["events:DescribeRule", "events:PutRule", "events:PutTargets"], rule)


def _allow(role: iam.Role, actions: list[str], on: str, under: Mapping[str, object] | None = None) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[on], conditions=under))


Value = lambda_.Function | TaskToRun | AslStateMachine | MachinesToStart | str


def _labels(definition: str) -> tuple[str, ...]:
    """Return the labels of the distributed Maps of a definition."""
    states = json.loads(definition)["States"].values()
    configs = ((state, state.get("ItemProcessor", {}).get("ProcessorConfig", {})) for state in states)
    return tuple(state["Label"] for state, config in configs if config.get("Mode") == "DISTRIBUTED")


def without_states(definition: str, names: Collection[str]) -> str:
    """Return the definition without these states, and without choices that lead to them."""
    if not names:
        return definition
    document = json.loads(definition)
    for states in _all_states(document):
        _remove(states, names)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _all_states(document: Any) -> Iterator[dict[str, Any]]:
    yield document["States"]
    for state in document["States"].values():
        if "ItemProcessor" in state:
            yield from _all_states(state["ItemProcessor"])


def _remove(states: dict[str, Any], names: Collection[str]) -> None:
    instead: dict[str, str] = {}
    for name, state in list(states.items()):
        if "Choices" in state:
            state["Choices"] = [choice for choice in state["Choices"] if choice["Next"] not in names]
            if not state["Choices"]:
                instead[name] = state["Default"]
        if name in names or name in instead:
            del states[name]
    for state in states.values():
        for rule in (state, *state.get("Choices", ()), *state.get("Catch", ())):
            if rule.get("Next") in instead:
                rule["Next"] = instead[rule["Next"]]


def _with_concurrency(definition: str, at_once: Mapping[str, int]) -> str:
    """Return the definition with other concurrency limits. CloudFormation's placeholders are text, not numbers."""
    if not at_once:
        return definition
    document = json.loads(definition)
    for name, number in at_once.items():
        document["States"][name]["MaxConcurrency"] = number
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def substitutions(name: str, definition: str, values: Mapping[str, Value]) -> dict[str, str]:
    """Return the texts that stand for values in a definition.

    Raise PlaceholderMismatch unless each placeholder has a value, and each value a placeholder.
    """
    placeholders = set(PLACEHOLDER.findall(definition))
    if placeholders != set(values):
        raise PlaceholderMismatch(name, placeholders - set(values), set(values) - placeholders)
    return {placeholder: _text(value) for placeholder, value in values.items()}


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, MachinesToStart):
        return value.begins
    if isinstance(value, TaskToRun):
        return value.definition.task_definition_arn
    if isinstance(value, AslStateMachine):
        return value.machine.state_machine_arn
    return value.current_version.function_arn
