"""The organization's configuration file in the artifact bucket (S3), read again only after a change."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code

_MISSING = frozenset({"NoSuchKey", "404"})
_UNCHANGED = frozenset({"304", "NotModified"})


class S3OrganizationFile:
    """The port ``OrganizationFile``. It reads one byte more than ``most``, to detect a larger file."""

    def __init__(self, client: Any, bucket: str, key: str, most: int) -> None:
        self._client, self._where, self._most = client, {"Bucket": bucket, "Key": key}, most
        self._etag, self._content = "", b""

    def read(self) -> bytes | None:
        unless = {"IfNoneMatch": self._etag} if self._etag else {}
        with cloud_errors("S3"):
            try:
                answer = self._client.get_object(**self._where, **unless)
            except ClientError as error:
                if error_code(error) in _UNCHANGED:
                    return self._content
                self._etag = ""
                if error_code(error) in _MISSING:
                    return None
                raise
            self._content = answer["Body"].read(self._most + 1)
            self._etag = answer["ETag"]
        return self._content
