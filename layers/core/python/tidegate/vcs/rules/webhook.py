"""A webhook's size, signature, id and content."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.rules.errors import InvalidWebhook, OversizedWebhook, UnverifiedWebhook

#: Bytes of a body at most. GitHub sends at most 25 MB, Lambda takes at most 6 MB, and the largest push event (2,048
#: commits) has about 3 MB.
MAXIMUM_BODY = 5 * 1024 * 1024
_DELIVERY = re.compile(r"[A-Za-z0-9-]{8,64}")
#: Escapes of surrogates: two form one character, a single one is invalid.
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


def check_size(size: int) -> None:
    """Raise OversizedWebhook if a body of ``size`` bytes is too large."""
    if size > MAXIMUM_BODY:
        raise OversizedWebhook(f"The body exceeds {MAXIMUM_BODY} bytes.")


def check_signature(body: bytes, signature: str | None, secrets: Sequence[str]) -> None:
    """Raise UnverifiedWebhook unless ``signature`` is that of ``body`` under one of ``secrets``.

    ``signature`` is the value of ``X-Hub-Signature-256``. The time depends only on the body's size and the number of
    secrets.
    """
    given = (signature or "").encode("utf-8", "replace")
    holds = False
    for secret in secrets:
        expected = "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()
        holds |= hmac.compare_digest(expected.encode(), given)
    if not holds:
        raise UnverifiedWebhook(
            "Invalid signature. Sign the body with the configured secret and send the signature as X-Hub-Signature-256."
        )


def check_token(token: str | None, secrets: Sequence[str]) -> None:
    """Raise UnverifiedWebhook unless ``token``, the value of ``X-Gitlab-Token``, is one of ``secrets``.

    The time depends only on the token's size and the number of secrets.
    """
    given = hashlib.sha256((token or "").encode("utf-8", "replace")).digest()
    holds = False
    for secret in secrets:
        holds |= hmac.compare_digest(hashlib.sha256(secret.encode()).digest(), given)
    if not holds:
        raise UnverifiedWebhook("Invalid token. Send the configured secret as X-Gitlab-Token.")


def delivery_id(text: str | None, header: str = "X-GitHub-Delivery") -> str:
    """Return ``text``, the value of ``header``, if it is a valid delivery id. Raise InvalidWebhook."""
    if text is None or not _DELIVERY.fullmatch(text):
        raise InvalidWebhook(f"The header {header} is missing or is not a delivery id.")
    return text


def event_delivery_id(text: str | None, event: str, body: bytes) -> str:
    """Return the id of one delivery of GitLab's event ``text``. Raise InvalidWebhook.

    Several events of one request at GitLab may share its number.
    """
    number = delivery_id(text, "X-Gitlab-Event-UUID")
    digest = hashlib.sha256(b"\0".join((event.encode("utf-8", "replace"), body))).hexdigest()
    return f"{number[:40]}-{digest[:16]}"


def content_delivery_id(fields: Mapping[str, Any]) -> str:
    """Return the id of a delivery by its fields, whatever its number."""
    content = json.dumps(fields, sort_keys=True).encode()
    return f"content-{hashlib.sha256(content).hexdigest()[:40]}"


def parse_payload(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object in ``body``. Raise InvalidWebhook.

    Escaped single surrogates, which UTF-8 cannot encode, become question marks.
    """
    try:
        payload = json.loads(body.decode())
        if _HALVES.search(body):
            payload = json.loads(json.dumps(payload, ensure_ascii=False).encode(errors="replace"))
    except RecursionError:
        raise InvalidWebhook("The JSON in the body is nested too deep.") from None
    except ValueError:
        raise InvalidWebhook(
            "The body is not JSON in UTF-8. Set the webhook's content type to application/json."
        ) from None
    if not isinstance(payload, dict):
        raise InvalidWebhook("The body is not a JSON object.")
    return payload
