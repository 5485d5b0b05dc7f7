"""The function that answers pages may read all that they show: the rights of the template against the reads of each."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tests.bench.installation import Installation
from tests.bench.page_reads import measured, pages
from tidegate_cdk.permissions import Permission

#: A read of items in a transaction needs the right to read an item.
_RIGHTS = {"TransactGetItems": "GetItem"}


def test_the_api_may_read_what_each_page_and_route_shows(allowed: list[Permission]):
    rights = [permission for permission in allowed if permission.role == "FunctionsApiFunctionRole"]
    installation = Installation(roots=60, deployments=80, resources=5)
    installation.client.reads.clear()
    for route, path in pages():
        measured(installation, route, path, runs=0)
    refused = {read for read in installation.client.reads if not any(_allows(right, *read) for right in rights)}
    assert refused == set()


def _allows(right: Permission, call: str, index: str, partitions: tuple[str, ...]) -> bool:
    """Tell whether a statement allows a read. One with a condition on keys must allow all of its partitions."""
    resource = f"<StorageTable>/index/{index}" if index else "<StorageTable>"
    if f"dynamodb:{_RIGHTS.get(call, call)}" not in right.actions or resource not in right.resources:
        return False
    keys = right.condition.split(" ", 2)[2].split(", ") if right.condition else ["*"]
    return all(any(fnmatchcase(partition, key) for key in keys) for partition in partitions)
