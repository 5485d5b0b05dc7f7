"""The form of tokens (JSON Web Token, RS256) and of the keys that they are verified with (JSON Web Key)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.rules.errors import TidegateError

#: Tags of DER that a public key is made of.
_SEQUENCE, _INTEGER, _BITS, _OBJECT = 0x30, 0x02, 0x03, 0x06
_LONG_FORM = 0x80
#: 1.2.840.113549.1.1.1, rsaEncryption.
_RSA = bytes.fromhex("2a864886f70d010101")


class NotARsaKey(TidegateError):
    """What is to be a public key of RSA is none."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The key {key} is no key of RSA. Name one in identity_keys that Tidegate's stack has made.")


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
    return f"{signed}.{_encoded(signature)}"


def key_set(keys: Sequence[PublicKey]) -> Mapping[str, object]:
    """Return the JSON Web Key Set of these keys. Raise NotARsaKey."""
    return {"keys": [_key(each) for each in keys]}


def discovery(issuer: str, key_set_path: str) -> Mapping[str, object]:
    """Return the discovery document of an issuer. Nobody signs in with it: it has no more than verifying needs."""
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


def _key(key: PublicKey) -> Mapping[str, str]:
    try:
        modulus, exponent = _rsa_numbers(key.der)
    except (IndexError, ValueError):
        raise NotARsaKey(key.name) from None
    return {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": key.name,
        "n": _encoded(modulus),
        "e": _encoded(exponent),
    }


def _rsa_numbers(der: bytes) -> tuple[bytes, bytes]:
    """Return modulus and exponent of a SubjectPublicKeyInfo (RFC 5280, RFC 8017). Raise ValueError, IndexError.

    Read by hand, as the library that could takes longer to load than the function that serves it takes to answer.
    """
    whole, rest = _element(der, _SEQUENCE)
    algorithm, bits = _element(whole, _SEQUENCE)
    kind, _ = _element(algorithm, _OBJECT)
    content, end = _element(bits, _BITS)
    if kind != _RSA or rest or end or content[0] != 0:
        raise ValueError("this is no public key of RSA")
    numbers, _ = _element(content[1:], _SEQUENCE)
    modulus, more = _element(numbers, _INTEGER)
    exponent, _ = _element(more, _INTEGER)
    return modulus.lstrip(b"\0"), exponent.lstrip(b"\0")


def _element(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the content of the first element, and what follows it."""
    if der[0] != tag:
        raise ValueError("this is another element")
    length, at = der[1], 2
    if length & _LONG_FORM:
        digits = length & ~_LONG_FORM
        length, at = int.from_bytes(der[2 : 2 + digits], "big"), 2 + digits
    if at + length > len(der):
        raise ValueError("this ends too early")
    return der[at : at + length], der[at + length :]


def _part(content: Mapping[str, object]) -> str:
    return _encoded(json.dumps(content, separators=(",", ":")).encode())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
