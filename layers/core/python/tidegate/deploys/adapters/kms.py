"""Signing keys of workload identity, in KMS. Private keys never leave KMS."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.deploys.rules.tokens import PublicKey
from tidegate.rules.errors import CloudUnavailable, SigningRefused

#: Errors of KMS for a key that stays unusable until a person acts (botocore's model of Sign).
_UNUSABLE = frozenset(
    {
        "AccessDeniedException",
        "DisabledException",
        "InvalidKeyUsageException",
        "KMSInvalidStateException",
        "NotFoundException",
        "ValidationException",
    }
)
#: Seconds after which keys are read again, so that a disabled one is soon no longer served.
KEPT_SECONDS = 300.0
#: Seconds for which a missing key is cached: anybody may request the keys, and each answer would call KMS.
NONE_KEPT_SECONDS = 10.0


class KmsSigner:
    """The port ``TokenSigner``: one key, by its ARN."""

    def __init__(self, client: Any, key_arn: str) -> None:
        self._client, self._arn = client, key_arn

    @property
    def key(self) -> str:
        return key_name(self._arn)

    def sign(self, content: bytes) -> bytes:
        asked = {"MessageType": "RAW", "SigningAlgorithm": "RSASSA_PKCS1_V1_5_SHA_256"}
        try:
            signature: bytes = self._client.sign(KeyId=self._arn, Message=content, **asked)["Signature"]
        except ClientError as error:
            if error_code(error) in _UNUSABLE:
                raise SigningRefused(self._arn, error_code(error)) from error
            raise CloudUnavailable("KMS", error_code(error)) from error
        except BotoCoreError as error:
            raise CloudUnavailable("KMS", type(error).__name__) from error
        return signature


class KmsPublicKeys:
    """The port ``PublicKeys`` for the keys with these ARNs. ``monotonic`` is a clock in seconds."""

    def __init__(self, client: Any, key_arns: Sequence[str], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client, self._arns, self._monotonic = client, key_arns, monotonic
        self._found: Sequence[PublicKey] = ()
        self._again_at = float("-inf")

    def usable(self) -> Sequence[PublicKey]:
        if self._monotonic() >= self._again_at:
            self._look()
        return self._found

    def _look(self) -> None:
        try:
            found = [self._public(arn) for arn in self._arns]
        except CloudUnavailable:
            if not self._found:
                raise
            return  # The cached keys are better than none; the next request tries again.
        self._found = [each for each in found if each is not None]
        self._again_at = self._monotonic() + (KEPT_SECONDS if self._found else NONE_KEPT_SECONDS)

    def _public(self, arn: str) -> PublicKey | None:
        with cloud_errors("KMS"):
            try:
                return PublicKey(key_name(arn), self._client.get_public_key(KeyId=arn)["PublicKey"])
            except ClientError as error:
                if error_code(error) not in _UNUSABLE:
                    raise
                return None


def key_name(arn: str) -> str:
    """Return a key's id (``kid``) in tokens."""
    return arn.rpartition("/")[2]
