"""The quotas of AWS that the template comes near to, from data, each counted in the template as it is deployed."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from cdk.permissions import readable
from tests.aws.contract import DATA, Template, states

QUOTAS = {row["name"]: row for row in tomllib.loads((DATA / "quotas.toml").read_text(encoding="utf-8"))["quota"]}
#: What stands for the ARN of a resource whose name is generated: about as long as one can be.
_ARN = "arn:aws:states:ap-northeast-1:123456789012:stateMachine:" + 64 * "x"
#: What stands for a task token, and for any other value that an expression gives.
_TOKEN, _VALUE = 2_048 * "t", 400 * "v"


def _of(template: Template, *kinds: str) -> Iterator[Mapping[str, Any]]:
    yield from (each["Properties"] for each in template.resources.values() if each["Type"] in kinds)


def _plain(value: Any) -> Any:
    """Return a value with ARNs in place of references."""
    if (
        isinstance(value, Mapping)
        and len(value) == 1
        and next(iter(value)) in {"Ref", "Fn::GetAtt", "Fn::Join", "Fn::Sub"}
    ):
        text = readable(value).replace("ACCOUNT", "123456789012").replace("REGION", "ap-northeast-1")
        return re.sub(r"<\w+>", _ARN, text, count=1)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _size(value: Any) -> int:
    return len(json.dumps(_plain(value), separators=(",", ":")))


def _policies_of_roles(template: Template) -> Iterable[int]:
    sizes: Counter[str] = Counter()
    for policy in _of(template, "AWS::IAM::Policy"):
        for role in policy["Roles"]:
            sizes[readable(role)] += _size(policy["PolicyDocument"])
    return sizes.values()


def _managed(template: Template) -> Iterable[int]:
    own: Counter[str] = Counter(
        readable(role) for each in _of(template, "AWS::IAM::ManagedPolicy") for role in each["Roles"]
    )
    of_aws = [len(role.get("ManagedPolicyArns", [])) for role in _of(template, "AWS::IAM::Role")]
    return [max(own.values()) + max(of_aws)]


def _definitions(template: Template) -> Iterator[Mapping[str, Any]]:
    yield from (json.loads(each["DefinitionString"]) for each in _of(template, "AWS::StepFunctions::StateMachine"))


def _states(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for definition in _definitions(template):
        yield from states(definition)


def _behind_the_api(template: Template) -> Iterator[int]:
    for integration in _of(template, "AWS::ApiGatewayV2::Integration"):
        function = template.referred(integration["IntegrationUri"])
        yield function.properties["Timeout"] if function else 0


def _projected(template: Template) -> Iterator[int]:
    for table in _of(template, "AWS::DynamoDB::Table"):
        yield sum(len(index["Projection"]["NonKeyAttributes"]) for index in table["GlobalSecondaryIndexes"])


def _overrides(template: Template) -> Iterator[int]:
    for _, state in _states(template):
        if "Overrides" in state.get("Arguments", {}):
            text = json.dumps(state["Arguments"]["Overrides"])
            text = re.sub(r"\{% \$states\.context\.Task\.Token %\}", _TOKEN, text)
            yield len(re.sub(r"\{%.*?%\}", _VALUE, text))


def _filters(template: Template) -> Iterable[int]:
    return Counter(readable(each["LogGroupName"]) for each in _of(template, "AWS::Logs::MetricFilter")).values()


def _tags(template: Template) -> Iterator[int]:
    yield from (len(each.get("Tags", [])) for each in _of(template, *{r["Type"] for r in template.resources.values()}))


def _numbers(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    return lambda template: (int(each.get(key, 0)) for each in _of(template, kind))


def _lengths(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    return lambda template: (len(each.get(key, [])) for each in _of(template, kind))


_QUEUE, _FUNCTION = "AWS::SQS::Queue", "AWS::Lambda::Function"
COUNTED: Mapping[str, Callable[[Template], Iterable[int]]] = {
    "resources in a template": lambda template: [len(template.resources)],
    "bytes of a template": lambda template: [len(json.dumps(template.document, indent=1).encode())],
    "outputs of a template": lambda template: [len(template.document["Outputs"])],
    "characters of a role's inline policies": _policies_of_roles,
    "characters of a managed policy": lambda t: (_size(e["PolicyDocument"]) for e in _of(t, "AWS::IAM::ManagedPolicy")),
    "managed policies of a role": _managed,
    "bytes of a function's variables": lambda t: (
        _size(each["Environment"]["Variables"]) for each in _of(t, _FUNCTION)
    ),
    "seconds of a function": _numbers(_FUNCTION, "Timeout"),
    "seconds of a function behind the HTTP API": _behind_the_api,
    "MB of a function's memory": _numbers(_FUNCTION, "MemorySize"),
    "layers of a function": _lengths(_FUNCTION, "Layers"),
    "concurrent functions that queues start": lambda t: [
        sum(
            each.get("ScalingConfig", {}).get("MaximumConcurrency", 0)
            for each in _of(t, "AWS::Lambda::EventSourceMapping")
        )
    ],
    "bytes of a state machine's definition": lambda t: (
        len(each["DefinitionString"].encode()) for each in _of(t, "AWS::StepFunctions::StateMachine")
    ),
    "characters of a state's name": lambda template: (len(name) for name, _ in _states(template)),
    "iterations that a Map state in an execution runs at once": lambda template: (
        state.get("MaxConcurrency", 41) if state["Type"] == "Map" else 0 for _, state in _states(template)
    ),
    "metrics of an alarm's expression": lambda t: (
        sum("MetricStat" in metric for metric in each.get("Metrics", [])) for each in _of(t, "AWS::CloudWatch::Alarm")
    ),
    "metric filters of a log group": _filters,
    "targets of a rule": _lengths("AWS::Events::Rule", "Targets"),
    "bytes of a rule's pattern": lambda t: (
        _size(each.get("EventPattern", {})) for each in _of(t, "AWS::Events::Rule")
    ),
    "seconds that a queue hides a message": _numbers(_QUEUE, "VisibilityTimeout"),
    "seconds that a queue keeps a message": _numbers(_QUEUE, "MessageRetentionPeriod"),
    "seconds that a queue delays a message": _numbers(_QUEUE, "DelaySeconds"),
    "global secondary indexes of a table": _lengths("AWS::DynamoDB::Table", "GlobalSecondaryIndexes"),
    "attributes that a table's indexes name": _projected,
    "seconds that a container has to stop": lambda t: (
        each["StopTimeout"] for task in _of(t, "AWS::ECS::TaskDefinition") for each in task["ContainerDefinitions"]
    ),
    "GiB of a task's storage": lambda t: (
        task["EphemeralStorage"]["SizeInGiB"] for task in _of(t, "AWS::ECS::TaskDefinition")
    ),
    "bytes of a task definition": lambda t: (_size(each) for each in _of(t, "AWS::ECS::TaskDefinition")),
    "characters of a task's overrides": _overrides,
    "rules of a bucket's life cycle": lambda t: (
        len(each["LifecycleConfiguration"]["Rules"]) for each in _of(t, "AWS::S3::Bucket")
    ),
    "tags of a resource": _tags,
}


@pytest.mark.parametrize("name", sorted(QUOTAS))
def test_the_template_stays_within_the_quota(installation: dict[str, Any], name: str):
    used = max(COUNTED[name](Template(installation)))
    assert 0 < used <= QUOTAS[name]["limit"], f"{name}: {used} of {QUOTAS[name]['limit']}"


def test_each_quota_is_counted_and_has_its_document():
    assert set(COUNTED) == set(QUOTAS)
    assert all(row["url"].startswith("https://docs.aws.amazon.com/") for row in QUOTAS.values())
