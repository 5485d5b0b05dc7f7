"""What ``tidegate local info --json`` says of a running local cloud, in names that people and scripts can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate_local.forge.settings import PEOPLE, TEAMS

#: What stands around the name in a logical id: the construct that it is part of, what it is, and CDK's hash.
_AROUND = re.compile(r"^(?:Messaging|Functions)?(?P<name>\w+?)(?:FunctionLog|LogGroup|Log)?[0-9A-F]{8}$")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Processes are found by their number; scripts have no business with them.
_LEFT_OUT = frozenset({"command_pid"})


def for_scripts(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the information with readable names, the forge's users, and how to reach the AWS API."""
    shown = {name: value for name, value in found.items() if name not in _LEFT_OUT}
    shown["web_url"] = found["api_url"]  # Pages and API have one address.
    for kind in ("queues", "log_groups"):
        shown[kind] = readable(shown.get(kind, {}))
    if found.get("forge_url"):
        shown["users"] = [
            {
                "login": person.login,
                "password": person.token,
                "token": person.token,
                "permission": person.permission,
                "teams": [team.slug for team in TEAMS if person.login in team.members],
            }
            for person in PEOPLE
        ]
    shown["aws_environment"] = {
        "AWS_ENDPOINT_URL": found["aws_endpoint_url"],
        "AWS_REGION": found["region"],
        "AWS_DEFAULT_REGION": found["region"],  # Of the two, boto3 reads only this one.
        "AWS_ACCESS_KEY_ID": "operator",
        "AWS_SECRET_ACCESS_KEY": "operator",
    }
    return shown


def readable(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same values by readable names; a name that would stand for two stays as it was."""
    short = {logical: _short(logical) for logical in named}
    unique = [name for name in short.values() if list(short.values()).count(name) == 1]
    return {short[logical] if short[logical] in unique else logical: value for logical, value in named.items()}


def _short(logical: str) -> str:
    found = _AROUND.match(logical)
    return _WORDS.sub("_", found["name"]).lower() if found else logical
