"""Authorize a role's call, as IAM does, from the policies in moto.

Explicit deny wins, then any allow, else denied.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moto.iam.models import iam_backends

Context = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Check:
    """One permission that a call needs. ``resources``: at least one statement must allow each of them.

    An empty resource (``""``) stands for one that is not known, and matches every statement.
    """

    action: str
    resources: tuple[str, ...] = ("*",)
    context: Context = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Permission:
    """One action on one resource pattern that a role's policy allows."""

    role: str
    action: str
    resource: str


@functools.lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def matches(pattern: str, value: str) -> bool:
    """Tell whether an IAM pattern with ``*`` and ``?`` matches the whole value."""
    return _pattern(pattern).fullmatch(value) is not None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _string_equals(expected: str, actual: str) -> bool:
    return expected == actual


def _number(compare: str, expected: str, actual: str) -> bool:
    left, right = float(actual), float(expected)
    return {"Equals": left == right, "LessThan": left < right, "GreaterThan": left > right}[compare]


_OPERATORS: dict[str, Any] = {
    "StringEquals": _string_equals,
    "StringEqualsIgnoreCase": lambda expected, actual: expected.lower() == actual.lower(),
    "StringLike": matches,
    "ArnEquals": matches,
    "ArnLike": matches,
    "Bool": lambda expected, actual: str(expected).lower() == actual.lower(),
    "NumericEquals": functools.partial(_number, "Equals"),
    "NumericLessThan": functools.partial(_number, "LessThan"),
    "NumericGreaterThan": functools.partial(_number, "GreaterThan"),
}
_NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}


def condition_holds(operator: str, expected: Sequence[str], actual: Sequence[str] | None) -> bool:
    """Evaluate one condition. ``actual`` is None when the call has no such key. Raise KeyError for one unknown."""
    quantifier, _, name = operator.rpartition(":")
    optional = name.endswith("IfExists")
    name = name.removesuffix("IfExists")
    if name == "Null":
        return (actual is None) == (str(expected[0]).lower() == "true")
    if actual is None:
        return optional or quantifier == "ForAllValues" or name in _NEGATED
    negated = name in _NEGATED
    compare = _OPERATORS[_NEGATED.get(name, name)]

    def one(value: str) -> bool:
        return any(compare(str(item), value) for item in expected) != negated

    return all(map(one, actual)) if quantifier == "ForAllValues" else any(map(one, actual))


def _conditions_hold(statement: Mapping[str, Any], context: Context) -> bool:
    known = {key.lower(): value for key, value in context.items()}
    return all(
        condition_holds(operator, _listed(expected), known.get(key.lower()))
        for operator, keys in statement.get("Condition", {}).items()
        for key, expected in keys.items()
    )


def _action_matches(statement: Mapping[str, Any], action: str) -> bool:
    if "NotAction" in statement:
        return not _fitting(tuple(_listed(statement["NotAction"])), action)
    return bool(_fitting(tuple(_listed(statement.get("Action"))), action))


@functools.lru_cache(maxsize=4096)
def _fitting(patterns: tuple[str, ...], action: str) -> tuple[str, ...]:
    """Return the patterns that match an action, in any case. Some of AWS's own policies have thousands of them."""
    return tuple(pattern for pattern in patterns if matches(pattern.lower(), action.lower()))


def _resource_matches(statement: Mapping[str, Any], resource: str) -> bool:
    if not resource:
        return True
    if "NotResource" in statement:
        return not any(matches(item, resource) for item in _listed(statement["NotResource"]))
    return any(matches(item, resource) for item in _listed(statement.get("Resource")))


class Policies:
    """The policies of all roles of one account, as moto holds them."""

    def __init__(self, account: str) -> None:
        self._account = account

    def refusal(self, role: str, checks: Iterable[Check]) -> str | None:
        """Return why the role may not do this (AWS's wording), or None when it may."""
        statements = list(self._statements(role))
        for check in checks:
            for resource in check.resources:
                if not self._allowed(statements, check, resource):
                    return (
                        f"User: {_session(role)} is not authorized to perform: {check.action} on resource: "
                        f"{resource or '*'} because no identity-based policy allows the {check.action} action"
                    )
        return None

    def allows(self, role: str, action: str, resource: str, context: Context | None = None) -> bool:
        """Tell whether the role may do this."""
        return self.refusal(role, [Check(action, (resource,), context or {})]) is None

    def trust_refusal(self, role: str, caller: str) -> str | None:
        """Return why ``caller`` may not assume the role by its trust policy, or None when it may."""
        account = f"arn:aws:iam::{self._account}:root"
        for held in self._held(role):
            for statement in _parsed(_text(held.assume_role_policy_document)):
                principals = _listed(statement.get("Principal", {}).get("AWS"))
                if statement["Effect"] == "Allow" and {caller, account, "*"} & set(principals):
                    return None
        return f"User: {_session(caller)} is not authorized to perform: sts:AssumeRole on resource: {role}"

    def web_identity_refusal(self, role: str, claims: Mapping[str, Any]) -> str | None:
        """Return why a token with these claims does not assume the role by its trust policy, or None when it does.

        Nobody looks at the token's signature and times here: that needs the issuer, as which the local cloud may not
        be reached yet. The tests do.
        """
        issuer = str(claims["iss"]).partition("://")[2]
        provider = f"arn:aws:iam::{_account(role)}:oidc-provider/{issuer}"
        context = {f"{issuer}:{name}": [str(claims[name])] for name in ("aud", "sub")}
        for held in self._held(role):
            for statement in _parsed(_text(held.assume_role_policy_document)):
                trusted = provider in _listed(statement.get("Principal", {}).get("Federated"))
                asked = _action_matches(statement, "sts:AssumeRoleWithWebIdentity")
                if statement["Effect"] == "Allow" and trusted and asked and _conditions_hold(statement, context):
                    return None
        return "Not authorized to perform sts:AssumeRoleWithWebIdentity"

    def _held(self, role: str) -> list[Any]:
        """Return the role of an ARN, or of this account's a name, as moto holds it; nothing if there is none."""
        backend = iam_backends[_account(role) or self._account]["aws"]
        return [held for held in backend.roles.values() if held.name == role.rpartition("/")[2]]

    def granted(self) -> set[Permission]:
        """Return every action and resource pattern that any role's policy allows."""
        return {
            Permission(name, action, resource)
            for name in self._roles()
            for statement in self._statements(name)
            if statement.get("Effect") == "Allow"
            for action in _listed(statement.get("Action"))
            for resource in _listed(statement.get("Resource"))
        }

    @staticmethod
    def _allowed(statements: list[Mapping[str, Any]], check: Check, resource: str) -> bool:
        fitting = [
            statement
            for statement in statements
            if _action_matches(statement, check.action)
            and _resource_matches(statement, resource)
            and _conditions_hold(statement, check.context)
        ]
        return bool(fitting) and all(statement["Effect"] != "Deny" for statement in fitting)

    def _roles(self) -> list[str]:
        return [role.name for role in iam_backends[self._account]["aws"].roles.values()]

    def _statements(self, role: str) -> Iterator[Mapping[str, Any]]:
        for held in self._held(role):
            documents = [*held.policies.values(), *(_document(policy) for policy in held.managed_policies.values())]
            for document in documents:
                yield from _parsed(_text(document))


def _text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document)


def _document(policy: Any) -> str:
    return str(next(version.document for version in policy.versions if version.version_id == policy.default_version_id))


@functools.lru_cache(maxsize=512)
def _parsed(document: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(_listed(json.loads(document)["Statement"]))


def _account(role: str) -> str:
    """Return the account of a role's ARN, nothing of a name."""
    return [*role.split(":"), *([""] * 5)][4]


def _session(role: str) -> str:
    return f"arn:aws:sts::{_account(role)}:assumed-role/{role.rpartition('/')[2]}/local"
