"""Holds a template against what AWS demands where one service calls another.

Each row of integrations.toml is a request that AWS makes, or that a role makes for it. It is decided by the template's
own policies, with the condition keys that AWS sends and no others: it has to be allowed, and where a row says so, the
same request on behalf of another account has to be refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tidegate_cdk.permissions import readable, resource_name
from tidegate_local.aws.iam import condition_holds, matches

DATA = Path(__file__).parent
_PLACE = re.compile(r"\{([^{}]+)\}")
_POLICIES = {
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics"),
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """What integrates: a resource, or a task of a state machine with the values of its placeholders in place."""

    name: str
    kind: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for what, on what, with which condition keys."""

    action: str
    resource: str
    context: Mapping[str, str]


class Template:
    """A synthesized template, with its references followed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.resources: Mapping[str, Any] = document["Resources"]

    def sources(self) -> Iterator[Source]:
        """Yield every resource, and every task of every state machine."""
        for name, resource in self.resources.items():
            properties = resource.get("Properties", {})
            yield Source(resource_name(name), resource["Type"], properties)
            if resource["Type"] == "AWS::StepFunctions::StateMachine":
                yield from self._tasks(name, properties)

    def _tasks(self, name: str, properties: Mapping[str, Any]) -> Iterator[Source]:
        """Yield the tasks of a state machine, each with the task definition that it runs, and its distributed Maps."""
        for title, state in states(json.loads(properties["DefinitionString"])):
            if "Label" in state:
                found = {**{key: properties[key] for key in ("RoleArn", "StateMachineName")}, "Label": state["Label"]}
                yield Source(f"{resource_name(name)}, {title!r}", "Distributed Map", found)
            if state["Type"] == "Task":
                arguments = _placed(state.get("Arguments", {}), properties["DefinitionSubstitutions"])
                definition = self.referred(arguments.get("TaskDefinition"))
                more = {"Definition": definition.properties} if definition else {}
                found = {"Arguments": arguments, "RoleArn": properties["RoleArn"], **more}
                yield Source(f"{resource_name(name)}, {title!r}", state["Resource"], found)

    def values(self, properties: Any, path: str) -> Iterator[Any]:
        """Yield what stands at a path: ``Targets[].Arn``; ``->`` goes on in the resource that is referred to."""
        first, arrow, rest = path.partition("->")
        found = _at(properties, first.split("."))
        if not arrow:
            yield from found
            return
        for value in found:
            target = self.referred(value)
            if target is not None:
                yield from self.values(target.properties, rest)

    def referred(self, value: Any) -> Source | None:
        """Return the resource that a value refers to."""
        name = reference(value)
        if name is None or name[0] not in self.resources:
            return None
        resource = self.resources[name[0]]
        return Source(resource_name(name[0]), resource["Type"], resource.get("Properties", {}))

    def role_statements(self, role: Any) -> list[Mapping[str, Any]]:
        """Return the statements of all policies of a role."""
        wanted = f"<{self.referred(role).name}>" if self.referred(role) else None
        found: list[Mapping[str, Any]] = []
        for resource in self.resources.values():
            properties = resource.get("Properties", {})
            if resource["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"} and wanted in map(
                readable, properties.get("Roles", [])
            ):
                found += properties["PolicyDocument"]["Statement"]
        return found

    def resource_statements(self, target: Source, principal: str) -> list[Mapping[str, Any]]:
        """Return the statements about this principal in the policy of a topic, a queue or a function."""
        wanted = f"<{target.name}>"
        if target.kind == "AWS::Lambda::Function":
            every = [r["Properties"] for r in self.resources.values() if r["Type"] == "AWS::Lambda::Permission"]
            return [
                _permission(p) for p in every if (readable(p["FunctionName"]), p["Principal"]) == (wanted, principal)
            ]
        if target.kind == "AWS::IAM::Role":
            trusting = target.properties["AssumeRolePolicyDocument"]["Statement"]
            return [{**s, "Resource": "*"} for s in trusting if principal in listed(s["Principal"].get("Service", []))]
        if target.kind == "AWS::KMS::Key":
            every = target.properties["KeyPolicy"]["Statement"]
            return [each for each in every if principal in map(readable, listed(each["Principal"].get("Service", [])))]
        policy, where = _POLICIES[target.kind]
        statements = [
            statement
            for resource in self.resources.values()
            if resource["Type"] == policy and wanted in map(readable, resource["Properties"][where])
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]
        ]
        return [s for s in statements if s["Principal"] in ("*", {"AWS": "*"}, {"Service": principal})]


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of this directory."""
    return tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))["row"]


def findings(document: Mapping[str, Any]) -> list[str]:
    """Return what AWS would refuse, or would not find, one line each."""
    template, table = Template(document), rows("integrations")
    return [line for source in template.sources() for line in _of(template, source, table)]


def allowed(statements: Iterable[Mapping[str, Any]], request: Request) -> bool:
    """Decide as IAM does: no denial fits, and something that allows does."""
    fitting = [statement["Effect"] for statement in statements if _fits(statement, request)]
    return "Allow" in fitting and "Deny" not in fitting


def _of(template: Template, source: Source, table: list[dict[str, Any]]) -> Iterator[str]:
    own = [row for row in table if fnmatchcase(source.kind, row["when"]) and not _left(template, source, row)]
    if not own:
        yield f"{source.name}: no row says what AWS demands of {source.kind} like this"
    for row in own:
        if "calls" in row and all(_holds(template, source, each) for each in row.get("if", [])):
            yield from _asked(template, source, row)


def _left(template: Template, source: Source, row: Mapping[str, Any]) -> bool:
    return any(_holds(template, source, each) for each in row.get("unless", []))


def _holds(template: Template, source: Source, condition: str) -> bool:
    path, equals, value = condition.partition("=")
    found = [readable(each) for each in template.values(source.properties, path)]
    return value in found if equals else bool(found)


def _asked(template: Template, source: Source, row: Mapping[str, Any]) -> Iterator[str]:
    for it in template.values(source.properties, row["of"]) if "of" in row else [None]:
        for statements, on in _who(template, source, row, it):
            for request in _requests(template, source, row, on):
                what = f"{source.name}: {row['as']} may not call {request.action} on {request.resource}"
                if not allowed(statements, request):
                    yield f"{what} ({row['calls']}; {row['see']})"
                for key, other in row.get("refused_with", {}).items():
                    if allowed(statements, Request(request.action, request.resource, {**request.context, key: other})):
                        yield f"{source.name}: {row['as']} may call {request.action} also with {key} {other}"


def _who(template: Template, source: Source, row: Mapping[str, Any], it: Any) -> Iterator[tuple[list[Any], str]]:
    """Yield the policies that decide, and what ``{it}`` stands for."""
    target = template.referred(it)
    if row["as"].endswith(".amazonaws.com"):
        if target is not None and target.kind == row["to"]:
            # A row may name what a target must not have, such as a key that other services may not use. One of the
            # template itself is judged by a row of its own.
            shut = any(
                _holds(template, target, each) and not _holds(template, target, f"{each}->KeyPolicy.Version")
                for each in row.get("target_without", [])
            )
            yield [] if shut else template.resource_statements(target, row["as"]), f"<{target.name}>"
    elif target is None or "to" not in row or target.kind == row["to"]:
        for role in template.values(source.properties, row["as"]):
            yield template.role_statements(role), readable(it) if it is not None else ""


def _requests(template: Template, source: Source, row: Mapping[str, Any], it: str) -> Iterator[Request]:
    for on in _filled(template, source, row.get("on", "{it}"), it):
        context = {key: next(_filled(template, source, value, it)) for key, value in row.get("with", {}).items()}
        for action in row["do"]:
            yield Request(action, on, context)


def _filled(template: Template, source: Source, text: str, it: str) -> Iterator[str]:
    """Yield the text with each place filled in, once for each value that the place has."""
    place = _PLACE.search(text)
    if place is None:
        yield text
        return
    if place[1] in {"it", "source"}:
        found = [it if place[1] == "it" else source.name]
    else:
        found = [readable(value) for value in template.values(source.properties, place[1])]
    for value in found:
        yield from _filled(template, source, text.replace(place[0], value, 1), it)


def _fits(statement: Mapping[str, Any], request: Request) -> bool:
    known = {key.lower(): value for key, value in request.context.items()}
    conditions = [
        condition_holds(operator, [readable(each) for each in listed(expected)], _known(known, key))
        for operator, keys in statement.get("Condition", {}).items()
        for key, expected in keys.items()
    ]
    return (
        any(matches(action.lower(), request.action.lower()) for action in listed(statement["Action"]))
        and any(matches(readable(each), request.resource) for each in listed(statement["Resource"]))
        and all(conditions)
    )


def _known(context: Mapping[str, str], key: str) -> list[str] | None:
    value = context.get(key.lower())
    return None if value is None else [value]


def _permission(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    condition = {"ArnLike": {"aws:SourceArn": properties["SourceArn"]}} if "SourceArn" in properties else {}
    resource = properties["FunctionName"]
    return {"Effect": "Allow", "Action": properties["Action"], "Resource": resource, "Condition": condition}


def states(machine: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for title, state in machine["States"].items():
        yield title, state
        for inner in (state.get("ItemProcessor"), *state.get("Branches", [])):
            if inner:
                yield from states(inner)


def _placed(value: Any, substitutions: Mapping[str, Any]) -> Any:
    """Return arguments with the values of placeholders. One in the middle of an expression stays."""
    if isinstance(value, dict):
        return {key: _placed(item, substitutions) for key, item in value.items()}
    if isinstance(value, list):
        return [_placed(item, substitutions) for item in value]
    found = re.fullmatch(r"\$\{(\w+)\}", value) if isinstance(value, str) else None
    return substitutions[found[1]] if found else value


def _at(value: Any, parts: list[str]) -> Iterator[Any]:
    if not parts:
        yield value
        return
    key, rest = parts[0], parts[1:]
    every = key.endswith("[]")
    if isinstance(value, Mapping) and key.removesuffix("[]") in value:
        found = value[key.removesuffix("[]")]
        for item in found if every else [found]:
            yield from _at(item, rest)


def reference(value: Any) -> tuple[str, str] | None:
    """Return the resource and the attribute that a value refers to; ``Ref`` is an attribute of its own."""
    if isinstance(value, Mapping) and set(value) == {"Ref"}:
        return str(value["Ref"]), "Ref"
    if isinstance(value, Mapping) and set(value) == {"Fn::GetAtt"}:
        return str(value["Fn::GetAtt"][0]), str(value["Fn::GetAtt"][1])
    return None


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
