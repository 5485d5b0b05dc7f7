"""Adapt the synthesized CloudFormation template to moto, and list what the local cloud emulates itself.

Everything that differs from AWS in the template is here. Resources of a type that moto cannot deploy
are left out (``LEFT_OUT`` says why); references to them get a stand-in. The properties that the local
cloud needs to play a resource itself become outputs of the stack, so that moto resolves them.
"""

# ruff: noqa: ARG001 - every rewrite of a resource has the same parameters.
from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate_local.options import PREFIX

DEPLOYED = {
    "AWS::DynamoDB::Table",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::EIP",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::ECS::Cluster",
    "AWS::ECS::TaskDefinition",
    "AWS::Events::EventBus",
    "AWS::Events::Rule",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SSM::Parameter",
    "AWS::StepFunctions::StateMachine",
}

PLAYED = {
    "AWS::ApiGatewayV2::Integration": ("IntegrationUri",),
    "AWS::ApiGatewayV2::Route": ("RouteKey", "Target"),
    "AWS::CloudWatch::Alarm": ("AlarmName", "AlarmActions.0"),
    "AWS::Lambda::EventInvokeConfig": (
        "FunctionName",
        "DestinationConfig.OnFailure.Destination",
        "MaximumRetryAttempts",
    ),
    "AWS::Lambda::EventSourceMapping": ("EventSourceArn", "FunctionName"),
    "AWS::Lambda::Permission": ("FunctionName", "Principal", "SourceArn"),
    "AWS::Scheduler::ScheduleGroup": ("Name",),
    "AWS::SNS::Subscription": ("TopicArn", "Protocol", "Endpoint"),
}
"""Resources that the local cloud plays, and which of their properties it needs resolved."""

LEFT_OUT = {
    "AWS::ApiGatewayV2::": "moto's CloudFormation ignores HTTP APIs; services/http_api.py serves their routes",
    "AWS::CDK::Metadata": "metadata that does not affect the application",
    "AWS::CloudWatch::": "there are no metrics here; services/alarms.py publishes alarm states that are set by hand",
    "AWS::EC2::FlowLog": "there is no VPC network here",
    "AWS::EC2::VPCEndpoint": "every process can reach the local cloud",
    "AWS::Lambda::EventInvokeConfig": "services/async_invokes.py plays asynchronous invocations",
    "AWS::Lambda::EventSourceMapping": "moto would start Docker; services/queues.py polls",
    "AWS::Lambda::LayerVersion": "a layer is a directory on the function's path here",
    "AWS::Lambda::Version": "only a number here; processes/lambdas.py keeps the deployed configuration",
    "AWS::Lambda::Permission": "read by the local cloud, which invokes functions itself",
    "AWS::Logs::": "moto does not deploy log policies and filters",
    "AWS::S3::BucketPolicy": "moto's CloudFormation does not support it; everything is on the loopback interface",
    "AWS::Scheduler::": "moto's CloudFormation does not support it; the group is created through the API",
    "AWS::SecretsManager::": "created before the stack, as a person does on AWS",
    "AWS::SNS::": "subscriptions are created through the API; topic policies guard cross-account access",
    "AWS::SQS::QueuePolicy": "moto's CloudFormation does not support it; queues get messages only from this account",
}


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the template cannot know: where the HTTP API, the forge, logs and executions are on this machine.

    What has a generated name on AWS has one that begins with ``prefix``. ``versions`` are the numbers of functions'
    versions by their logical ids, 1 where there is none.
    """

    api: str
    function_environment: Mapping[str, str] = field(default_factory=dict)
    prefix: str = PREFIX
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Adapted:
    """The template for moto. ``outputs`` tells which stack output holds (resource, property)."""

    template: dict[str, Any]
    outputs: dict[str, tuple[str, str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    played: dict[str, Mapping[str, Any]] = field(default_factory=dict)


Limits = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Shorter times for tests: state machine (``deploy``, ``terraform``) → state → fields to replace."""


def adapt(template: Mapping[str, Any], addresses: Addresses, account: str, region: str, limits: Limits) -> Adapted:
    """Return what moto can deploy of the template."""
    adapted = Adapted(copy.deepcopy(dict(template)))
    document = adapted.template
    document.pop("Rules", None)
    document.pop("Metadata", None)
    document.get("Parameters", {}).pop("BootstrapVersion", None)  # Only the cdk command asks for it.
    resources: dict[str, Any] = document["Resources"]
    instead = {
        name: found for name, resource in resources.items() if (found := _instead(name, resource, addresses.versions))
    }
    for name, resource in list(resources.items()):
        if resource["Type"] in PLAYED:
            adapted.played[name] = resource
        if resource["Type"] not in DEPLOYED:
            adapted.left_out[name] = resource["Type"]
            del resources[name]
    document["Outputs"] = {**document.get("Outputs", {}), **dict(_outputs(adapted))}
    for name, resource in resources.items():
        _drop_dependencies(resource, adapted.left_out)
        _name(name, resource, addresses.prefix, account)
        _REWRITES.get(resource["Type"], _as_it_is)(
            name, resource.setdefault("Properties", {}), (account, region), limits
        )
        if resource["Type"] == "AWS::Lambda::Function" and addresses.function_environment:
            _readdress(resource["Properties"], addresses.function_environment)
    adapted.template = _replace_references(_replace_refs(document, instead), adapted.left_out, addresses)
    return adapted


def _instead(name: str, resource: Mapping[str, Any], versions: Mapping[str, str]) -> Any:
    """Return what stands for ``Ref`` of a resource for which moto has another value than AWS, or None."""
    if resource["Type"] == "AWS::Events::EventBus":
        return {"Fn::GetAtt": [name, "Name"]}  # In moto the reference is an object.
    if resource["Type"] == "AWS::Lambda::Version":
        function, version = resource["Properties"]["FunctionName"]["Ref"], versions.get(name, "1")
        return {"Fn::Join": [":", [{"Fn::GetAtt": [function, "Arn"]}, version]]}
    return None


def _outputs(adapted: Adapted) -> Iterator[tuple[str, Any]]:
    """Yield outputs for the properties of played resources, and the names and ARNs of deployed ones."""
    count = 0
    for name, resource in adapted.played.items():
        for wanted in PLAYED[resource["Type"]]:
            value: Any = resource.get("Properties", {})
            for part in wanted.split("."):
                value = _part(value, part)
            if value is not None:
                count += 1
                adapted.outputs[f"Local{count}"] = (name, wanted)
                yield f"Local{count}", {"Value": str(value) if isinstance(value, int) else value}


def _part(value: Any, name: str) -> Any:
    """Return a member of an object, or, by its number, of a list; None where there is no such member."""
    if isinstance(value, list):
        return value[int(name)] if int(name) < len(value) else None
    return value.get(name) if isinstance(value, Mapping) else None


def _drop_dependencies(resource: dict[str, Any], left_out: Mapping[str, str]) -> None:
    wanted = resource.get("DependsOn", [])
    kept = [name for name in ([wanted] if isinstance(wanted, str) else wanted) if name not in left_out]
    resource.pop("DependsOn", None)
    if kept:
        resource["DependsOn"] = kept


def _as_it_is(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """Most resources deploy as they are."""


def _function(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """The code runs from its directory (processes/lambdas.py); moto only has to know the function."""
    properties["Code"] = {"ZipFile": "pass"}
    properties["Runtime"] = properties.get("Runtime", "python3.11")
    properties.setdefault("Handler", "handler.lambda_handler")
    properties.setdefault("FunctionName", name)
    for key in ("Layers", "PackageType", "ImageConfig", "VpcConfig", "DeadLetterConfig", "TenancyConfig"):
        properties.pop(key, None)


def _name(name: str, resource: dict[str, Any], prefix: str, account: str) -> None:
    """Name what has a generated name: a function like the directory with its code, a bucket without capitals."""
    properties, source = resource.setdefault("Properties", {}), resource.get("Metadata", {}).get("Tidegate::Source", "")
    if resource["Type"] == "AWS::S3::Bucket":
        properties.setdefault("BucketName", f"{prefix}-{name.lower()[-29:]}-{account}")
    elif resource["Type"] == "AWS::Lambda::Function" and source:
        # Several functions are the runner.
        own = name if source == "runner" else source.rpartition("/")[2].replace("_", "-")
        properties.setdefault("FunctionName", f"{prefix}-{own}")


def _readdress(properties: dict[str, Any], environment: Mapping[str, str]) -> None:
    """The local forge stands where the template names GitHub, and pages of ours where it names the AWS console."""
    variables = properties.get("Environment", {}).get("Variables", {})
    variables.update({name: value for name, value in environment.items() if name in variables})


def _state_machine(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """Moto ignores DefinitionSubstitutions: Fn::Sub does the same. Limits are shortened for tests."""
    definition = properties["DefinitionString"]
    if isinstance(definition, str):
        machine = json.loads(definition)
        for part, states in limits.items():
            if name.lower().startswith(part.replace("_", "")):
                every = _states(machine)
                for state, fields in states.items():
                    every[state].update(fields)
        definition = json.dumps(machine)
    substitutions = properties.pop("DefinitionSubstitutions", {})
    properties["DefinitionString"] = {"Fn::Sub": [definition, substitutions]} if substitutions else definition
    properties.setdefault("StateMachineName", name)


def _states(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return all states by their names, those that the items of a Map go through as well."""
    states = dict(machine["States"])
    for state in machine["States"].values():
        if "ItemProcessor" in state:
            states |= _states(state["ItemProcessor"])
    return states


def _queue(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """A FIFO queue without a name gets one that moto refuses (it must end in .fifo)."""
    if properties.get("FifoQueue") and "QueueName" not in properties:
        properties["QueueName"] = f"{name}.fifo"


def _bucket(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """Nothing is replicated to another region here."""
    properties.pop("ReplicationConfiguration", None)


def _vpc(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """RunTask in moto needs a VPC with DNS host names."""
    properties.update({"EnableDnsHostnames": True, "EnableDnsSupport": True})


def _key(name: str, properties: dict[str, Any], place: tuple[str, str], limits: Limits) -> None:
    """Tags of keys have other fields in KMS than in CloudFormation, which moto does not put right."""
    properties["Tags"] = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in properties.get("Tags", [])]


_REWRITES = {
    "AWS::KMS::Key": _key,
    "AWS::Lambda::Function": _function,
    "AWS::StepFunctions::StateMachine": _state_machine,
    "AWS::SQS::Queue": _queue,
    "AWS::S3::Bucket": _bucket,
    "AWS::EC2::VPC": _vpc,
}


def _replace_references(value: Any, left_out: Mapping[str, str], addresses: Addresses) -> Any:
    if isinstance(value, dict):
        target = _target(value)
        if target is not None and target[0] in left_out:
            return _stand_in(target, left_out[target[0]], addresses)
        return {key: _replace_references(item, left_out, addresses) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_references(item, left_out, addresses) for item in value]
    return value


def _replace_refs(value: Any, instead: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        target = _target(value)
        if target is not None and target[0] in instead and not target[1]:
            return instead[target[0]]
        return {key: _replace_refs(item, instead) for key, item in value.items()}
    return [_replace_refs(item, instead) for item in value] if isinstance(value, list) else value


def _target(value: Mapping[str, Any]) -> tuple[str, str] | None:
    if set(value) == {"Ref"}:
        return str(value["Ref"]), ""
    if set(value) == {"Fn::GetAtt"}:
        target = value["Fn::GetAtt"]
        name, attribute = target.split(".", 1) if isinstance(target, str) else target[:2]
        return str(name), str(attribute)
    return None


def _stand_in(target: tuple[str, str], kind: str, addresses: Addresses) -> str:
    name, attribute = target
    if kind == "AWS::ApiGatewayV2::Api":
        return addresses.api if attribute == "ApiEndpoint" else "local"
    if kind == "AWS::ApiGatewayV2::Stage":
        return "$default"
    return name
