"""The artifact bucket, as tasks use it."""

from __future__ import annotations

import io

from runner.faults import RunnerFault
from runner.job import Tools
from tidegate.aws.client import AwsError


class Bucket:
    """What is stored of one cluster, under ``folder``. Calls raise RunnerFault."""

    def __init__(self, tools: Tools, folder: str) -> None:
        self._tools, self._folder = tools, folder

    def key(self, name: str) -> str:
        """Return where something of this cluster lies."""
        return f"{self._folder}/{name}"

    def stored(self, key: str) -> bytes | None:
        """Return an object, None if there is none."""
        content = io.BytesIO()
        try:
            self._tools.aws.get_object(self._tools.settings.bucket, key, content)
        except AwsError as error:
            if error.code == "NoSuchKey":
                return None
            raise RunnerFault(f"{key} cannot be read: {error}.") from error
        return content.getvalue()

    def store(self, key: str, content: bytes, content_type: str = "application/json") -> None:
        try:
            self._tools.aws.put_object(self._tools.settings.bucket, key, content, content_type)
        except AwsError as error:
            raise RunnerFault(f"{key} cannot be stored: {error}.") from error

    def discard(self, key: str) -> None:
        try:
            self._tools.aws.delete_object(self._tools.settings.bucket, key)
        except AwsError as error:
            raise RunnerFault(f"{key} cannot be deleted: {error}.") from error
