"""The artifact bucket (S3): plans, logs, rescued states."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from tidegate.adapters.boto import cloud_errors, error_code
from tidegate.domain.errors import NotFound
from tidegate.ports import ObjectStart

#: What S3 says of an object that is not there; of an empty one that has no first byte.
_MISSING = frozenset({"NoSuchKey", "404"})
_EMPTY = "InvalidRange"


class S3Artifacts:
    """The port ``Artifacts`` on one bucket."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def get(self, key: str) -> bytes:
        content: bytes = self._read(key)["Body"].read()
        return content

    def get_start(self, key: str, size: int) -> ObjectStart:
        try:
            answer = self._read(key, Range=f"bytes=0-{size - 1}")
        except _EmptyObject:
            return ObjectStart(b"", 0)
        content = answer["Body"].read()
        whole = answer.get("ContentRange", "").rpartition("/")[2]
        return ObjectStart(content, int(whole) if whole.isdigit() else len(content))

    def put(self, key: str, content: bytes) -> None:
        with cloud_errors("S3"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content)

    def _read(self, key: str, **arguments: str) -> Any:
        with cloud_errors("S3"):
            try:
                return self._client.get_object(Bucket=self._bucket, Key=key, **arguments)
            except ClientError as error:
                if error_code(error) in _MISSING:
                    raise NotFound("object", key) from error
                if error_code(error) == _EMPTY:
                    raise _EmptyObject from error
                raise


class _EmptyObject(Exception):  # It does not leave this module.
    pass
