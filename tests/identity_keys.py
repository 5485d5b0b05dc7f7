"""Keys of workload identity for tests: made once, as making one takes a while."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tidegate.deploys.rules.tokens import PublicKey


@cache
def private_key(name: str) -> RSAPrivateKey:
    """Return the key of this name."""
    return generate_private_key(65537, 2048)


def public_key(name: str) -> PublicKey:
    """Return its public half as KMS gives it."""
    der = private_key(name).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(name, der)


@dataclass
class Signer:
    """The port ``TokenSigner``; raises ``failures`` first."""

    key: str = "one"
    failures: list[Exception] = field(default_factory=list)

    def sign(self, content: bytes) -> bytes:
        if self.failures:
            raise self.failures.pop(0)
        return private_key(self.key).sign(content, PKCS1v15(), hashes.SHA256())
