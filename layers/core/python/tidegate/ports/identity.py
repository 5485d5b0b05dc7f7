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
        """Return a signature of RS256. Raise SigningRefused, or CloudUnavailable for what may pass."""


class PublicKeys(Protocol):
    def usable(self) -> Sequence[PublicKey]:
        """Return the keys that tokens may be verified with: those that are not disabled or about to be deleted.

        Raise CloudUnavailable where that cannot be told.
        """
