"""The keys of workload identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidegate.deploys.rules.tokens import PublicKey


class TokenSigner(Protocol):
    @property
    def key(self) -> str:
        """The name of the key that signs, as in ``PublicKey``."""

    def sign(self, content: bytes) -> bytes:
        """Return an RS256 signature. Raise SigningRefused, or CloudUnavailable for a temporary failure."""


class PublicKeys(Protocol):
    def usable(self) -> Sequence[PublicKey]:
        """Return the keys for verifying tokens: not disabled, and not scheduled for deletion.

        Raise CloudUnavailable if that is unknown.
        """
