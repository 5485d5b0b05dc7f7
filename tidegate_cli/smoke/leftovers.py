"""A smoke test's remaining resources, found by their names, and how to delete each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate_cli.smoke.names import Names

Clients = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something with the prefix: its kind in words, its name, and what deletes it."""

    kind: str
    name: str
    delete: Callable[[], object]


def stack_id(clients: Clients, names: Names) -> str | None:
    """Return the id of the stack, None if there is none."""
    pages = clients("cloudformation").get_paginator("list_stacks").paginate()
    every = (each for page in pages for each in page["StackSummaries"])
    ours = (each for each in every if each["StackName"] == names.stack and each["StackStatus"] != "DELETE_COMPLETE")
    return next((str(each["StackId"]) for each in ours), None)


def leftovers(clients: Clients, names: Names) -> Iterator[Leftover]:
    """Yield what there is besides the stack and its parts. The bucket of the state, which knows the rest, is last."""
    for find in (_tables, _logs, _queues, _task_definitions, _secrets, _buckets):
        yield from find(clients, names)


def _listed(client: Any, call: str, key: str, **wanted: Any) -> Iterator[Any]:
    for page in client.get_paginator(call).paginate(**wanted):
        yield from page.get(key, [])


def _tables(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("dynamodb")

    def delete(name: str) -> None:
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.get_waiter("table_exists").wait(TableName=name)
        client.delete_table(TableName=name)

    for name in filter(names.is_ours, _listed(client, "list_tables", "TableNames")):
        yield Leftover("table", name, partial(delete, name))


def _logs(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("logs")
    for group in _listed(client, "describe_log_groups", "logGroups"):
        name = str(group["logGroupName"])
        if names.is_ours(name):
            yield Leftover("log group", name, partial(client.delete_log_group, logGroupName=name))


def _queues(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("sqs")
    for url in client.list_queues(QueueNamePrefix=names.probe).get("QueueUrls", []):
        yield Leftover("queue", url.rpartition("/")[2], partial(client.delete_queue, QueueUrl=url))


def _task_definitions(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("ecs")
    families = _listed(client, "list_task_definition_families", "families", familyPrefix=names.prefix, status="ALL")
    for family in filter(names.is_ours, list(families)):
        for status in ("ACTIVE", "INACTIVE"):
            for arn in _listed(
                client, "list_task_definitions", "taskDefinitionArns", familyPrefix=family, status=status
            ):
                name = str(arn).rpartition("/")[2]
                yield Leftover("task definition", name, partial(_delete_definition, client, str(arn)))


def _delete_definition(client: Any, arn: str) -> None:
    client.deregister_task_definition(taskDefinition=arn)
    client.delete_task_definitions(taskDefinitions=[arn])


def _secrets(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("secretsmanager")
    for secret in _listed(client, "list_secrets", "SecretList"):
        name = str(secret["Name"])
        if names.is_ours(name) and not secret.get("DeletedDate"):
            yield Leftover(
                "secret", name, partial(client.delete_secret, SecretId=name, ForceDeleteWithoutRecovery=True)
            )


def _buckets(clients: Clients, names: Names) -> Iterator[Leftover]:
    client = clients("s3")
    ours = sorted(each["Name"] for each in client.list_buckets()["Buckets"] if names.is_ours(each["Name"]))
    for name in sorted(ours, key=lambda name: name.startswith(f"{names.prefix}-states-")):
        yield Leftover("bucket", name, partial(_delete_bucket, client, name))


def _delete_bucket(client: Any, name: str) -> None:
    pages = client.get_paginator("list_object_versions").paginate(Bucket=name)
    for page in pages:
        found: Iterable[Any] = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        keys = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in found]
        if keys:
            client.delete_objects(Bucket=name, Delete={"Objects": keys, "Quiet": True})
    client.delete_bucket(Bucket=name)
