"""The artifact bucket (S3): plans, logs, rescued states."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.ports import ObjectStart
from tidegate.rules.errors import CloudUnavailable, NotFound

#: S3's errors for a missing object.
_MISSING = frozenset({"NoSuchKey", "404"})
#: Chunk size in bytes for hashing an object.
_CHUNK = 1 << 20
#: Objects in one S3 delete request.
_MOST = 1000


class S3Artifacts:
    """The port ``Artifacts`` on one bucket."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def get(self, key: str) -> bytes:
        content: bytes = self._read(key)["Body"].read()
        return content

    def get_start(self, key: str, size: int) -> ObjectStart:
        """Read the whole object once, so that the shown part is covered by the hash; only the start is kept."""
        start, whole, digest = bytearray(), 0, hashlib.sha256()
        body = self._read(key)["Body"]
        with cloud_errors("S3"):
            while chunk := body.read(_CHUNK):
                start += chunk[: size - len(start)]
                whole += len(chunk)
                digest.update(chunk)
        return ObjectStart(bytes(start), whole, digest.hexdigest())

    def put(self, key: str, content: bytes) -> None:
        with cloud_errors("S3"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content)

    def remove(self, keys: Collection[str]) -> None:
        every = [{"Key": key} for key in sorted(set(keys))]
        for start in range(0, len(every), _MOST):
            batch = {"Objects": every[start : start + _MOST], "Quiet": True}
            with cloud_errors("S3"):
                answer = self._client.delete_objects(Bucket=self._bucket, Delete=batch)
            if refused := answer.get("Errors"):
                raise CloudUnavailable("S3", f"{refused[0]['Code']}: {len(refused)} objects were not deleted")

    def _read(self, key: str) -> Any:
        with cloud_errors("S3"):
            try:
                return self._client.get_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if error_code(error) in _MISSING:
                    raise NotFound("object", key) from error
                raise
