"""What the soak changes in the product's table: how long things have been unfinished."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from botocore.exceptions import ClientError

from soak.harness import Harness


def reconcile(harness: Harness, minutes: float = 30) -> None:
    """Let the reconciler run, to which everything unfinished has been so for these minutes at least."""
    let_time_pass(harness, minutes)
    harness.cloud.fire_schedule("Reconcile")


def let_time_pass(harness: Harness, minutes: float = 30) -> None:
    """Let everything that is unfinished have been so for these minutes at least: nobody waits for the reconciler.

    Fewer than none: as if it came from the future. Some items keep no time there, but a name.
    """
    before = datetime.now(UTC) - timedelta(minutes=minutes)
    table, then = harness.cloud.client("dynamodb"), before.isoformat(timespec="microseconds")
    name = harness.cloud.info["table"]
    fields, later = {"#open": "open"}, ">" if minutes > 0 else "<"
    pages = table.get_paginator("scan").paginate(
        TableName=name,
        FilterExpression=f"attribute_exists(#open) AND begins_with(open_since, :times) AND open_since {later} :then",
        ExpressionAttributeNames=fields,
        ExpressionAttributeValues={":then": {"S": then}, ":times": {"S": "20"}},
    )
    for item in (item for page in pages for item in page["Items"]):
        try:
            table.update_item(
                TableName=name,
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET open_since = :then",
                ConditionExpression="attribute_exists(#open)",
                ExpressionAttributeNames=fields,
                ExpressionAttributeValues={":then": {"S": then}},
            )
        except ClientError:
            continue  # It was finished meanwhile.


def held(harness: Harness) -> int:
    """Return how many concurrency slots are held or waited for: those of the installation and of repositories."""
    pages = (
        harness.cloud.client("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=harness.cloud.info["table"],
            FilterExpression="begins_with(pk, :slots) AND sk = :head",
            ExpressionAttributeValues={":slots": {"S": "places#"}, ":head": {"S": "#head"}},
        )
    )
    items = [item for page in pages for item in page["Items"]]
    return sum(len(item.get("held", {}).get("SS", ())) + len(item.get("line", {}).get("L", ())) for item in items)
