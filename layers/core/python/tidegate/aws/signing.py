"""AWS Signature Version 4 with the standard library."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys of a role. ``expires`` is in seconds since the epoch; None means that they do not expire."""

    access_key: str
    secret_key: str
    session_token: str | None = None
    expires: float | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"


class Request(NamedTuple):
    """The signed request: ``path`` and ``query`` as in the request line, headers in lower case.

    ``body_sha256`` is the SHA-256 of the body in hexadecimal.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body_sha256: str


def signed_headers(
    request: Request, credentials: Credentials, region: str, service: str, timestamp: str
) -> dict[str, str]:
    """Return the request's headers with its signature. ``timestamp`` has the form ``20261121T081500Z``."""
    headers = {**request.headers, "x-amz-date": timestamp}
    if credentials.session_token:
        headers["x-amz-security-token"] = credentials.session_token
    if service == "s3":
        headers["x-amz-content-sha256"] = request.body_sha256
    ordered = sorted(headers)
    names = ";".join(ordered)
    scope = f"{timestamp[:8]}/{region}/{service}/aws4_request"
    canonical = "\n".join(
        [
            request.method,
            request.path,
            request.query,
            *[f"{name}:{' '.join(headers[name].split())}" for name in ordered],
            "",
            names,
            request.body_sha256,
        ]
    )
    text = "\n".join([ALGORITHM, timestamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = _signing_key(credentials.secret_key, timestamp[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    headers["authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


@lru_cache(maxsize=16)
def _signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
