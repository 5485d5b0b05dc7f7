"""Signs tokens of jobs (OpenID Connect), and tells the public key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

#: Seconds for which a token holds, as on GitHub and, unless a job says otherwise, on GitLab.
LIFETIME = 300
_ALGORITHM = "RS256"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key (PEM), and its name."""

    private: str
    name: str

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token with these claims."""
        return jwt.encode(dict(claims), self.private, algorithm=_ALGORITHM, headers={"kid": self.name})

    def published(self) -> dict[str, Any]:
        """Return the key set of the issuer."""
        key = serialization.load_pem_private_key(self.private.encode(), password=None)
        if not isinstance(key, RSAPrivateKey):
            raise TypeError("the key is no RSA key")
        public: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
        return {"keys": [{**public, "kid": self.name, "alg": _ALGORITHM, "use": "sig"}]}


def discovery(issuer: str, keys_url: str) -> dict[str, Any]:
    """Return the discovery document of an issuer."""
    return {
        "issuer": issuer,
        "jwks_uri": keys_url,
        "subject_types_supported": ["public", "pairwise"],
        "response_types_supported": ["id_token"],
        "id_token_signing_alg_values_supported": [_ALGORITHM],
        "scopes_supported": ["openid"],
    }
