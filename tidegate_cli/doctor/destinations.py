"""Whether each destination of notifications has the secret that it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.notifications.rules.destination import Destination, DestinationKind, DestinationRefused, destination
from tidegate.notifications.rules.signing import signing_key
from tidegate_cli.doctor.result import Result, reason_of

#: The field without which nothing is sent.
_NEEDED = {
    DestinationKind.WEBHOOK: "signing_secret",
    DestinationKind.SLACK: "bot_token",
    DestinationKind.TEAMS: "url",
}


def check_destinations(context: Mapping[str, Any], secrets: Any) -> Iterator[Result]:
    """Yield what is found of each destination in cdk.json. ``secrets`` is a boto3 client of Secrets Manager.

    A deploy works without their secrets, and notifications are tried again for a day: nothing fails for that.
    """
    given = context.get("destinations")
    for name, each in given.items() if isinstance(given, Mapping) else ():
        try:
            one = destination(name, each)
        except DestinationRefused as error:
            yield Result(f"destination {name}", "fail", f"It cannot be used: {error.problem}.", f"{error.allowed}.")
            continue
        if one.secret:
            yield _secret(one, secrets)


def _secret(one: Destination, secrets: Any) -> Result:
    check, needed = f"destination {one.name}", _NEEDED[one.kind]
    do = f"Store a JSON object with {needed} in the secret {one.secret}."
    try:
        fields = _fields(secrets.get_secret_value(SecretId=one.secret).get("SecretString", ""))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return Result(check, "warn", f"The secret {one.secret} does not exist, so nothing is sent.", do)
        return Result(check, "warn", reason_of(error), "Allow secretsmanager:GetSecretValue for this check.")
    except BotoCoreError as error:
        return Result(check, "warn", reason_of(error), "Try again.")
    if problem := _problem(one.kind, fields):
        return Result(check, "warn", f"The secret {one.secret} {problem}, so nothing is sent.", do)
    if one.kind is DestinationKind.SLACK and not fields.get("signing_secret"):
        return Result(check, "ok", "Its secret exists. Without signing_secret in it, messages have no buttons.")
    return Result(check, "ok", "Its secret exists.")


def _problem(kind: DestinationKind, fields: Mapping[str, Any]) -> str:
    """Return what is wrong with a secret, without its content."""
    value = str(fields.get(_NEEDED[kind]) or "")
    if not value:
        return f"has no {_NEEDED[kind]}"
    try:
        if kind is DestinationKind.WEBHOOK:
            signing_key(value)
    except ValueError as error:
        return f"is not valid ({error})"
    return ""


def _fields(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
