"""The permissions of each role, as a table from the template.

``python -m tidegate_cdk.permissions`` writes docs/permissions.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate_cdk.pages import write_page
from tidegate_cdk.sources import ROOT

PAGE = ROOT / "docs" / "permissions.md"
_HASH = re.compile(r"[0-9A-F]{8}$")
_PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT"}
_INTRODUCTION = """# Permissions

All roles of an installation and their permissions, generated from the template by `make docs`; a test fails when
this page is stale. Names in angle brackets, like `<StorageTable>`, are resources of the stack; `REGION` and `ACCOUNT`
are the installation's.

A function handles several kinds of messages and events, each with a verb, and has the permissions of all its verbs. A
table above the permissions shows what each verb needs. No function can read the VCS provider's secret, answer task
tokens or start executions without a verb that needs it
([decision 0218](decisions/0218-functions-by-what-they-may-do.md)).

AWS cannot limit these actions to a resource, so they are allowed on `*`: X-Ray's, vended log deliveries,
`ecr:GetAuthorizationToken`. No others are. The engines' roles also have denials on `*`:
[what no engine may touch](security.md#what-no-engine-may-touch).
"""


@dataclass(frozen=True, slots=True)
class Permission:
    """One statement of a role's policy."""

    role: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: str


def resource_name(logical_id: str) -> str:
    """Return a readable name for a logical id: without the CDK's hash."""
    return _HASH.sub("", logical_id)


def readable(value: Any) -> str:
    """Return a value of a template as text: references as names in angle brackets, joins joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        ((function, argument),) = value.items()
        if function == "Ref":
            return _PSEUDO.get(argument, f"<{resource_name(argument)}>")
        if function == "Fn::GetAtt":
            return f"<{resource_name(argument[0])}>"
        if function == "Fn::Join":
            separator, parts = argument
            return str(separator).join(readable(part) for part in parts)
        if function == "Fn::Sub" and isinstance(argument, str):
            return re.sub(r"\$\{([\w:]+)\}", lambda match: readable({"Ref": match[1]}), argument)
    return json.dumps(value, sort_keys=True)


def permissions(template: Mapping[str, Any]) -> Iterator[Permission]:
    """Yield every statement of every role's policies, in the template's order."""
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}:
            for role in resource["Properties"]["Roles"]:
                yield from _statements(readable(role).strip("<>"), resource["Properties"]["PolicyDocument"])
        if resource["Type"] == "AWS::IAM::Role":
            for policy in resource["Properties"].get("Policies", []):
                yield from _statements(resource_name(logical_id), policy["PolicyDocument"])


def roles(template: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the properties of all roles by readable name."""
    return {
        resource_name(logical_id): resource["Properties"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
    }


def _statements(role: str, document: Mapping[str, Any]) -> Iterator[Permission]:
    for statement in document["Statement"]:
        yield Permission(
            role,
            statement["Effect"],
            tuple(sorted(_listed(statement["Action"]))),
            tuple(sorted(readable(resource) for resource in _listed(statement["Resource"]))),
            _condition(statement.get("Condition", {})),
        )


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _condition(condition: Mapping[str, Mapping[str, Any]]) -> str:
    return "; ".join(
        f"{key} {operator} {', '.join(readable(item) for item in _listed(expected))}"
        for operator, keys in condition.items()
        for key, expected in keys.items()
    )


def page(template: Mapping[str, Any]) -> str:
    """Return docs/permissions.md."""
    by_role: dict[str, list[Permission]] = {}
    for permission in permissions(template):
        by_role.setdefault(permission.role, []).append(permission)
    parts, verbs = [_INTRODUCTION], _verbs(template)
    for role, properties in sorted(roles(template).items()):
        parts.append(_section(role, properties, verbs.get(role, {}), by_role.get(role, [])))
    return "\n".join(parts)


def _verbs(template: Mapping[str, Any]) -> dict[str, Mapping[str, Sequence[str]]]:
    """Return by role what each verb of its function needs, as the function's metadata say."""
    functions = (item for item in template["Resources"].values() if item["Type"] == "AWS::Lambda::Function")
    return {
        readable(function["Properties"]["Role"]).strip("<>"): function.get("Metadata", {}).get("Tidegate::Verbs", {})
        for function in functions
    }


def _section(
    role: str, properties: Mapping[str, Any], verbs: Mapping[str, Sequence[str]], statements: Sequence[Permission]
) -> str:
    lines = [f"## {role}", "", f"{properties.get('Description', '')}. Assumed by {_trusted(properties)}.", ""]
    managed = [readable(policy) for policy in properties.get("ManagedPolicyArns", [])]
    if managed:
        lines += [f"Managed policies: {', '.join(f'`{policy}`' for policy in managed)}", ""]
    if verbs:
        lines += ["| Verb | Needs |", "|---|---|"]
        lines += [f"| `{verb}` | {'; '.join(needs)} |" for verb, needs in verbs.items()] + [""]
    lines += ["| Effect | Actions | On | Condition |", "|---|---|---|---|"]
    for statement in sorted(statements, key=lambda item: (item.effect, item.resources, item.actions)):
        actions, on = _cell(statement.actions), _cell(statement.resources)
        condition = f"`{statement.condition}`" if statement.condition else ""
        lines.append(f"| {statement.effect} | {actions} | {on} | {condition} |")
    return "\n".join([*lines, ""])


def _trusted(properties: Mapping[str, Any]) -> str:
    principals = [
        readable(name)
        for statement in properties["AssumeRolePolicyDocument"]["Statement"]
        for names in statement["Principal"].values()
        for name in _listed(names)
    ]
    return ", ".join(f"`{principal}`" for principal in principals)


def _cell(items: Sequence[str]) -> str:
    return "<br>".join(f"`{item}`" for item in items)


if __name__ == "__main__":
    sys.exit(write_page(PAGE, page))
