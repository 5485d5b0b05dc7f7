"""The quotas of AWS that the template comes near to, from data, each counted in the template as it is deployed."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.aws.contract import DATA, Template, states
from tests.aws.metrics import body
from tidegate_cdk.permissions import readable, resource_name

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


def _policies(kind: str, of: str) -> Callable[[Template], Iterable[int]]:
    """Return the sizes of the policies of each resource that has some."""

    def sizes(template: Template) -> Iterable[int]:
        found: Counter[str] = Counter()
        for each in _of(template, kind):
            targets = each[of] if isinstance(each[of], list) else [each[of]]
            for target in targets:
                found[readable(target)] += _size(each.get("PolicyDocument", each))
        return found.values()

    return sizes


def _names(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    """Return how long names would be that begin with the longest prefix. Those that are made by AWS always fit."""

    def lengths(template: Template) -> Iterator[int]:
        prefix = next(each["ClusterName"] for each in _of(template, "AWS::ECS::Cluster"))
        for each in _of(template, kind):
            name = each.get(key, "")
            yield len(name.replace(prefix, 20 * "x")) if isinstance(name, str) else 0

    return lengths


def _texts(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    return lambda template: (len(_plain(each.get(key, ""))) for each in _of(template, kind))


def _tag_values(template: Template) -> Iterator[int]:
    for each in _of(template, *{r["Type"] for r in template.resources.values()}):
        tags = each.get("Tags", [])
        values = tags.values() if isinstance(tags, Mapping) else [tag["Value"] for tag in tags]
        yield from (len(_plain(value)) for value in values)


def _subnets(template: Template) -> Iterator[int]:
    for machine in _of(template, "AWS::StepFunctions::StateMachine"):
        subnets = machine["DefinitionSubstitutions"].get("Subnets", "")
        yield len(subnets.split(",") if isinstance(subnets, str) else str(subnets).split(","))


def _vended(template: Template) -> Iterable[int]:
    """Count log groups that services write to by a policy of the account. Names that AWS knows need no room in it."""
    named = {
        readable(each["CloudWatchLogsLogGroup"]["LogGroupArn"])
        for machine in _of(template, "AWS::StepFunctions::StateMachine")
        for each in machine["LoggingConfiguration"]["Destinations"]
    }
    named |= {
        readable(each["AccessLogSettings"]["DestinationArn"]) for each in _of(template, "AWS::ApiGatewayV2::Stage")
    }
    groups = {f"<{resource_name(name)}>": r for name, r in template.resources.items()}
    return [
        sum(not groups[name]["Properties"].get("LogGroupName", "").startswith("/aws/vendedlogs/") for name in named)
    ]


def _bytes(template: Template) -> Iterable[int]:
    """Count the template's bytes without the definitions that are files beside it: those of clusters' workflows."""
    document = copy.deepcopy(dict(template.document))
    for name, resource in document["Resources"].items():
        if name.startswith("ClusterWorkflows"):
            resource.get("Properties", {}).pop("DefinitionString", None)
    return [len(json.dumps(document, indent=1).encode())]


def _widgets(template: Template) -> Iterator[Mapping[str, Any]]:
    for each in _of(template, "AWS::CloudWatch::Dashboard"):
        yield from (widget["properties"] for widget in body(each["DashboardBody"])["widgets"])


def _receives(template: Template) -> Iterator[int]:
    yield from (int(each.get("RedrivePolicy", {}).get("maxReceiveCount", 0)) for each in _of(template, _QUEUE))


def _bursts(template: Template) -> Iterator[int]:
    for stage in _of(template, "AWS::ApiGatewayV2::Stage"):
        for each in (stage["DefaultRouteSettings"], *stage["RouteSettings"].values()):
            yield each["ThrottlingBurstLimit"]


def _batches(template: Template) -> Iterator[int]:
    for each in _of(template, "AWS::Lambda::EventSourceMapping"):
        queue = template.referred(each["EventSourceArn"])
        if queue and queue.properties.get("FifoQueue"):
            yield int(each["BatchSize"])


def _numbers(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    return lambda template: (int(each.get(key, 0)) for each in _of(template, kind))


def _lengths(kind: str, key: str) -> Callable[[Template], Iterator[int]]:
    return lambda template: (len(each.get(key, [])) for each in _of(template, kind))


_QUEUE, _FUNCTION = "AWS::SQS::Queue", "AWS::Lambda::Function"
COUNTED: Mapping[str, Callable[[Template], Iterable[int]]] = {
    "resources in a template": lambda template: [len(template.resources)],
    "bytes of a template": _bytes,
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
    "characters of a queue's name": _names(_QUEUE, "QueueName"),
    "characters of a state machine's name": _names("AWS::StepFunctions::StateMachine", "StateMachineName"),
    "characters of a rule's name": _names("AWS::Events::Rule", "Name"),
    "characters of a schedule group's name": _names("AWS::Scheduler::ScheduleGroup", "Name"),
    "characters of a layer's name": _names("AWS::Lambda::LayerVersion", "LayerName"),
    "characters of a log group's name": _names("AWS::Logs::LogGroup", "LogGroupName"),
    "characters of an alarm's description": _texts("AWS::CloudWatch::Alarm", "AlarmDescription"),
    "characters of a function's description": _texts(_FUNCTION, "Description"),
    "characters of a role's description": _texts("AWS::IAM::Role", "Description"),
    "characters of a rule's description": _texts("AWS::Events::Rule", "Description"),
    "characters of a security group's description": _texts("AWS::EC2::SecurityGroup", "GroupDescription"),
    "characters of a metric filter's pattern": _texts("AWS::Logs::MetricFilter", "FilterPattern"),
    "characters of a tag's value": _tag_values,
    "characters of a role's trust policy": lambda t: (
        _size(each["AssumeRolePolicyDocument"]) for each in _of(t, "AWS::IAM::Role")
    ),
    "bytes of a queue's policy": _policies("AWS::SQS::QueuePolicy", "Queues"),
    "statements of a queue's policy": lambda t: (
        len(each["PolicyDocument"]["Statement"]) for each in _of(t, "AWS::SQS::QueuePolicy")
    ),
    "bytes of a topic's policy": _policies("AWS::SNS::TopicPolicy", "Topics"),
    "bytes of a bucket's policy": _policies("AWS::S3::BucketPolicy", "Bucket"),
    "bytes of a function's policy": _policies("AWS::Lambda::Permission", "FunctionName"),
    "bytes of a key's policy": lambda t: (_size(each["KeyPolicy"]) for each in _of(t, "AWS::KMS::Key")),
    "roles of an account": lambda t: [len(list(_of(t, "AWS::IAM::Role")))],
    "VPCs of a region": lambda t: [len(list(_of(t, "AWS::EC2::VPC")))],
    "public addresses of a region": lambda t: [len(list(_of(t, "AWS::EC2::EIP")))],
    "rules of the default bus": lambda t: [sum("EventBusName" not in each for each in _of(t, "AWS::Events::Rule"))],
    "resource policies of logs": lambda t: [len(list(_of(t, "AWS::Logs::ResourcePolicy")))],
    "log groups that vended logs would add to a resource policy": _vended,
    "routes of an API": lambda t: [len(list(_of(t, "AWS::ApiGatewayV2::Route")))],
    "containers of a task definition": _lengths("AWS::ECS::TaskDefinition", "ContainerDefinitions"),
    "subnets of a task": _subnets,
    "receives of a message before it is a dead letter": _receives,
    "messages of a batch from a FIFO queue": _batches,
    "requests at once of a route": _bursts,
    "metrics of a dashboard that is free": lambda t: [
        sum(isinstance(each[0], str) for widget in _widgets(t) for each in widget.get("metrics", []))
    ],
    "log groups of a query": lambda t: (widget.get("query", "").count("SOURCE ") for widget in _widgets(t)),
    "alarms of a widget": lambda t: (len(widget.get("alarms", [])) for widget in _widgets(t)),
}


def test_the_template_stays_within_each_quota(installation: dict[str, Any]):
    template = Template(installation)
    used = {name: max(count(template), default=0) for name, count in COUNTED.items()}
    assert [
        f"{name}: {used[name]} of {row['limit']}" for name, row in QUOTAS.items() if used[name] > row["limit"]
    ] == []
    assert [name for name, row in QUOTAS.items() if not used[name] and not row.get("may_be_none")] == [], "none counted"


def test_each_quota_is_counted_and_has_its_document():
    assert set(COUNTED) == set(QUOTAS)
    assert all(re.match(r"https://(docs\.)?aws\.amazon\.com/", row["url"]) for row in QUOTAS.values())
