"""Public keys as a JSON Web Key Set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from tidegate.deploys.rules.tokens import NotARsaKey, PublicKey, encoded


def key_set(keys: Sequence[PublicKey]) -> Mapping[str, object]:
    """Return the key set of these keys. Raise NotARsaKey."""
    return {"keys": [_key(each) for each in keys]}


def _key(key: PublicKey) -> Mapping[str, str]:
    try:
        read = load_der_public_key(key.der)
    except (ValueError, UnsupportedAlgorithm):
        raise NotARsaKey(key.name) from None
    if not isinstance(read, RSAPublicKey):
        raise NotARsaKey(key.name)
    numbers = read.public_numbers()
    said = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": key.name}
    return {**said, "n": _number(numbers.n), "e": _number(numbers.e)}


def _number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8))
