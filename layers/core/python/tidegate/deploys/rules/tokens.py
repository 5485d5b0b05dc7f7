"""The format of tokens (JSON Web Token, RS256), and the documents by which verifiers find the keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.rules.errors import TidegateError


class NotARsaKey(TidegateError):
    """What is to be a public key of RSA is none."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The key {key} is not an RSA key. Set identity_keys to keys that Tidegate's CDK stack created."
        )


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key as KMS gives it: its name, and a SubjectPublicKeyInfo in DER."""

    name: str
    der: bytes


def signing_input(claims: Mapping[str, object], key: str) -> str:
    """Return what is signed of a token: its header, which names the key, and its claims."""
    header = {"alg": "RS256", "typ": "JWT", "kid": key}
    return f"{_part(header)}.{_part(claims)}"


def token(signed: str, signature: bytes) -> str:
    """Return a token."""
    return f"{signed}.{encoded(signature)}"


def discovery(issuer: str, key_set_path: str) -> Mapping[str, object]:
    """Return the discovery document of an issuer. Nobody signs in with it: it has only what verifying needs."""
    return {
        "issuer": issuer,
        "jwks_uri": f"{issuer}{key_set_path}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid"],
        "claims_supported": [
            *("iss", "sub", "aud", "iat", "nbf", "exp", "jti"),
            *("repository", "stack", "root", "phase", "ref", "sha", "deployment"),
        ],
    }


def _part(content: Mapping[str, object]) -> str:
    return encoded(json.dumps(content, separators=(",", ":")).encode())


def encoded(content: bytes) -> str:
    """Return bytes as tokens and keys have them."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
