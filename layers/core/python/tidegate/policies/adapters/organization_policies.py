"""The organization's policy sets in the artifact bucket (S3): objects under ``configuration/policies/NAME/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.aws.boto import cloud_errors
from tidegate.policies.rules.files import MAXIMUM_FILE, MAXIMUM_FILES, ORGANIZATION, is_policy_file


class S3OrganizationPolicies:
    """The port ``OrganizationPolicies``. It reads one file more than a set may have, to detect that."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client, self._bucket = client, bucket

    def read(self, policy_set: str) -> Mapping[str, bytes | None]:
        prefix = f"{ORGANIZATION}{policy_set}/"
        with cloud_errors("S3"):
            found = {key.removeprefix(prefix): size for key, size in self._listed(prefix)}
            wanted = [path for path in found if is_policy_file(path)][: MAXIMUM_FILES + 1]
            return {path: self._content(prefix + path) if found[path] <= MAXIMUM_FILE else None for path in wanted}

    def _listed(self, prefix: str) -> Iterator[tuple[str, int]]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        for page in pages:
            for each in page.get("Contents", ()):
                yield each["Key"], each["Size"]

    def _content(self, key: str) -> bytes:
        content: bytes = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        return content
