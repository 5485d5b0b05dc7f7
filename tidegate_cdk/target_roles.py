"""The context keys of target roles: those that engines may assume, and those that roots may name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from tidegate.deploys.rules.aws_target import AllowedRole, AllowedRoles, Phase

#: By the kind of runner: its key, and the phase of the roles that roots may name.
KEYS: Mapping[str, tuple[str, Phase]] = {
    "plan": ("plan_target_roles", Phase.PLAN),
    "apply": ("apply_target_roles", Phase.APPLY),
    "speculate": ("pull_request_target_roles", Phase.PULL_REQUEST),
}
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/*-]{1,512}")
_REPOSITORIES = re.compile(r"[A-Za-z0-9_.*/-]{1,255}")
#: What an entry may name, by its key: roles of AWS, service accounts of Google Cloud, applications of Azure.
_NAMED: Mapping[str, tuple[re.Pattern[str], str]] = {
    "role": (_ROLE, ""),
    "service_account": (
        re.compile(r"[a-z0-9*-]{1,30}@[a-z0-9*-]{1,30}\.iam\.gserviceaccount\.com"),
        "a service account, where * matches any text, such as plan-*@my-project.iam.gserviceaccount.com",
    ),
    "client_id": (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "the client id of an application"),
}
ALLOWED = (
    "the ARN of a role that the engine may assume directly, where * matches any text; or a mapping of such a role "
    'and the repositories whose roots may use it, as in {"role": ARN, "repositories": ["acme/*"]}, with '
    "service_account or client_id instead of role for other clouds"
)


class UnusableRole(ValueError):
    """An entry cannot be used: which, and why. ``allowed`` says what may stand there."""

    def __init__(self, key: str, value: object, allowed: str = ALLOWED) -> None:
        super().__init__(key)
        self.key, self.value, self.allowed = key, value, allowed


def engine_roles(key: str, entries: Sequence[object]) -> tuple[str, ...]:
    """Return the plain patterns: roles that an engine may assume itself. Raise UnusableRole."""
    return tuple(_role(f"{key}[{at}]", each) for at, each in enumerate(entries) if not isinstance(each, Mapping))


def allowed_roles(entries: Mapping[str, Sequence[object]]) -> AllowedRoles:
    """Return what roots may name, of the entries by kind of runner that name repositories. Raise UnusableRole."""
    found = {
        phase: tuple(
            _allowed(f"{key}[{at}]", each) for at, each in enumerate(entries[kind]) if isinstance(each, Mapping)
        )
        for kind, (key, phase) in KEYS.items()
    }
    by_itself = {phase: engine_roles(key, entries[kind]) for kind, (key, phase) in KEYS.items()}
    for phase in (Phase.PLAN, Phase.PULL_REQUEST):
        _check_apart(phase, [each.role for each in found[phase]], [each.role for each in found[Phase.APPLY]])
        _check_apart(phase, by_itself[phase], [each.role for each in found[Phase.APPLY]])
        _check_apart(phase, [each.role for each in found[phase]], by_itself[Phase.APPLY])
    return AllowedRoles(found)


def _allowed(place: str, entry: Mapping[object, object]) -> AllowedRole:
    repositories = entry.get("repositories")
    named = [each for each in _NAMED if each in entry]
    if len(named) != 1 or len(entry) != len(named) + 1 or not isinstance(repositories, list) or not repositories:
        raise UnusableRole(place, entry)
    for each in repositories:
        if not isinstance(each, str) or not _REPOSITORIES.fullmatch(each):
            raise UnusableRole(f"{place}.repositories", each, "OWNER/NAME, where * matches any text")
    (key,) = named
    return AllowedRole(_role(f"{place}.{key}", entry[key], key), tuple(repositories))


def _role(place: str, role: object, key: str = "role") -> str:
    pattern, allowed = _NAMED[key]
    if not isinstance(role, str) or not pattern.fullmatch(role):
        raise UnusableRole(place, role, allowed or ALLOWED)
    return role


def _check_apart(phase: Phase, planning: Sequence[str], applying: Sequence[str]) -> None:
    """Refuse a role for both applies and plans: any plan, even of a pull request, could apply with it."""
    for one, other in product(planning, applying):
        if overlap(one, other):
            advice = f"a role that is not used for applies: it overlaps with {other!r} in apply_target_roles"
            raise UnusableRole(f"{phase}_target_roles", one, advice)


def overlap(one: str, other: str) -> bool:
    """Tell whether some text matches both patterns, in which ``*`` stands for any text."""
    seen, ahead = set(), [(0, 0)]
    while ahead:
        places = at, beside = ahead.pop()
        if places == (len(one), len(other)):
            return True
        if places in seen:
            continue
        seen.add(places)
        here, there = one[at : at + 1], other[beside : beside + 1]
        if "*" in {here, there}:
            # A star stands for nothing, or for one letter more of the other.
            ahead += [(at + 1, beside)] if here else []
            ahead += [(at, beside + 1)] if there else []
        elif here and here == there:
            ahead.append((at + 1, beside + 1))
    return False
