"""What a webhook is: whether its signature holds, and which few fields of which events are used."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.domain.errors import InvalidName, InvalidWebhook, OversizedWebhook, UnverifiedWebhook
from tidegate.domain.root import commit_sha, repository_name

#: Bytes of a body that are taken. GitHub sends at most 25 MB, Lambda is given at most 6 MB, and the
#: largest push event (2,048 commits) has about 3 MB.
MAXIMUM_BODY = 5 * 1024 * 1024
#: Names of our check runs start so; buttons on others are not ours.
OUR_CHECK_RUNS = "tidegate/"

_DELIVERY = re.compile(r"[A-Za-z0-9-]{8,64}")
_LOGIN = re.compile(r"[A-Za-z0-9_.-]{1,100}(\[bot\])?")
_DEPLOYMENT = re.compile(r"[A-Za-z0-9-]{1,64}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_ -]{1,20}")
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//|/$|^/")
_MAXIMUM_BRANCH = 1024
_MAXIMUM_CHECK_RUN = 200
_ZEROS = re.compile(r"0+")


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event that is acted on: its kind, and the fields of it that are used."""

    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that nothing follows from, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that would be acted on but for a name in it that is not accepted."""

    reason: str


def check_size(size: int) -> None:
    """Raise OversizedWebhook when a body of ``size`` bytes is larger than Tidegate takes."""
    if size > MAXIMUM_BODY:
        raise OversizedWebhook(f"The body has more than {MAXIMUM_BODY} bytes.")


def check_signature(body: bytes, signature: str | None, secrets: Sequence[str]) -> None:
    """Raise UnverifiedWebhook unless ``signature`` is that of ``body`` under one of ``secrets``.

    ``signature`` is the value of ``X-Hub-Signature-256``. The time taken depends on the body's size
    and on the number of secrets only.
    """
    given = (signature or "").encode("utf-8", "replace")
    holds = False
    for secret in secrets:
        expected = "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()
        holds |= hmac.compare_digest(expected.encode(), given)
    if not holds:
        raise UnverifiedWebhook(
            "The signature does not hold. Send X-Hub-Signature-256 made with the configured secret."
        )


def delivery_id(text: str | None) -> str:
    """Return ``text`` if it may be the id of a delivery. Raise InvalidWebhook."""
    if text is None or not _DELIVERY.fullmatch(text):
        raise InvalidWebhook("X-GitHub-Delivery is missing, or is not the id of a delivery.")
    return text


def parse_payload(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object in ``body``. Raise InvalidWebhook."""
    try:
        payload = json.loads(body.decode())
    except RecursionError:
        raise InvalidWebhook("The body is nested too deeply.") from None
    except ValueError:
        raise InvalidWebhook("The body is not JSON in UTF-8. Choose the content type application/json.") from None
    if not isinstance(payload, dict):
        raise InvalidWebhook("The body is not a JSON object.")
    return payload


def read_event(event: str, payload: Mapping[str, Any]) -> Accepted | Ignored | Refused:
    """Choose what follows from an event. Raise InvalidWebhook when it lacks what its kind must have."""
    try:
        match event:
            case "push":
                return _read_push(payload)
            case "check_run":
                return _read_check_run(payload)
            case _:
                return Ignored("Nothing follows from events of this kind.")
    except InvalidName as error:
        return Refused(str(error))


def branch_name(text: str) -> str:
    """Return ``text`` if git would take it as a branch's name; raise InvalidName otherwise."""
    if not text or len(text) > _MAXIMUM_BRANCH or _NOT_IN_BRANCHES.search(text):
        raise InvalidName("branch", text, "git does not allow such a name")
    return text


def _read_push(payload: Mapping[str, Any]) -> Accepted | Ignored:
    ref, after = _text(payload, "ref"), _text(payload, "after")
    if ref.startswith("refs/tags/"):
        return Ignored("A tag was pushed, not a branch.")
    if payload.get("deleted") is True or _ZEROS.fullmatch(after):
        return Ignored("The branch was deleted.")
    repository = _object(payload, "repository")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref or branch != _text(repository, "default_branch"):
        return Ignored("The push is not to the default branch.")
    fields = {
        "repository": repository_name(_text(repository, "full_name")),
        "before": commit_sha(_text(payload, "before")),
        "after": commit_sha(after),
        "branch": branch_name(branch),
        "installation": _installation(payload),
        "sender": _sender(payload),
        "forced": payload.get("forced") is True,
    }
    return Accepted("push", fields)


def _read_check_run(payload: Mapping[str, Any]) -> Accepted | Ignored:
    if payload.get("action") != "requested_action":
        return Ignored("No button of a check run was pressed.")
    check_run = _object(payload, "check_run")
    name = _text(check_run, "name")
    if not name.startswith(OUR_CHECK_RUNS):
        return Ignored("The button is not on a check run of Tidegate.")
    fields = {
        "repository": repository_name(_text(_object(payload, "repository"), "full_name")),
        "id": _number(check_run, "id"),
        "external_id": _matching(_DEPLOYMENT, check_run, "external_id"),
        "name": _plain(name),
        "head_sha": commit_sha(_text(check_run, "head_sha")),
        "identifier": _matching(_IDENTIFIER, _object(payload, "requested_action"), "identifier"),
        "installation": _installation(payload),
        "sender": _sender(payload),
    }
    return Accepted("check_run", fields)


def _object(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = payload.get(key)
    if not isinstance(value, dict):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if not isinstance(value, str):
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _number(payload: Mapping[str, Any], key: str) -> int:
    value = payload.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 63:
        raise InvalidWebhook(f"The event has no {key}.")
    return value


def _matching(pattern: re.Pattern[str], payload: Mapping[str, Any], key: str) -> str:
    text = _text(payload, key)
    if not pattern.fullmatch(text):
        raise InvalidName(key, text, "Tidegate never makes such a one")
    return text


def _plain(name: str) -> str:
    if not name.isprintable() or len(name) > _MAXIMUM_CHECK_RUN:
        raise InvalidName("check run", name, "Tidegate never makes such a one")
    return name


def _installation(payload: Mapping[str, Any]) -> int:
    """Return the installation's id: without a GitHub App, Tidegate can neither read nor report."""
    if not isinstance(payload.get("installation"), dict):
        raise InvalidWebhook("The event has no installation. Send webhooks from the GitHub App, not from a repository.")
    return _number(payload["installation"], "id")


def _sender(payload: Mapping[str, Any]) -> str:
    return _matching(_LOGIN, _object(payload, "sender"), "login")
