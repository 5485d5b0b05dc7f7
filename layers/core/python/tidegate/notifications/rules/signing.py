"""Signatures of webhooks, by the specification Standard Webhooks 1.0.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

_PREFIX = "whsec_"
#: The specification's limits of a key, in bytes.
_SHORTEST_KEY, _LONGEST_KEY = 24, 64


def signing_key(secret: str) -> bytes:
    """Return the key of a secret, ``whsec_`` and Base64 of 24 to 64 bytes. Raise ValueError."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(_PREFIX) or not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise ValueError("a signing secret is whsec_ and Base64 of 24 to 64 random bytes")
    return key


def signed_headers(secret: str, message: str, seconds: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of a signed message: its id, its time in seconds since 1970, and the signature.

    Raise ValueError for a secret that is none.
    """
    content = f"{message}.{seconds}.".encode() + body
    signature = base64.b64encode(hmac.digest(signing_key(secret), content, hashlib.sha256)).decode()
    return {"webhook-id": message, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{signature}"}
