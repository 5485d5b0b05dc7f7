"""Searches everything that people can read, and everything that is stored of it, for the secrets of the modules."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

from soak.harness import Harness
from soak.modules import SECRET

#: Objects that hold secrets because the engine needs them: plans, and their JSON, which only runners may read.
_MAY_HOLD = (".tfplan", "plan.json")
_SHOWN = 60


def leaks(harness: Harness) -> tuple[tuple[str, ...], int]:
    """Return the places that hold a secret, and how many were searched."""
    found, searched = [], 0
    for place, text in _places(harness):
        searched += 1
        at = text.find(f"{SECRET}-")
        if at >= 0:
            found.append(f"{place}: {text[max(0, at - _SHOWN) : at + _SHOWN]}")
    return tuple(found), searched


def _places(harness: Harness) -> Iterator[tuple[str, str]]:
    yield from _shown(harness)
    yield from _items(harness)
    yield from _objects(harness)
    yield from _logs(harness)


def _shown(harness: Harness) -> Iterator[tuple[str, str]]:
    """Yield what the forge shows: check runs and comments."""
    for run in harness.board.values():
        yield f"check run {run['id']}", json.dumps(run["output"])
    for number, _, _ in harness.every_pull:
        for each in harness.maintainer.comments(harness.repository, number):
            yield f"comment on #{number}", str(each["body"])


def _items(harness: Harness) -> Iterator[tuple[str, str]]:
    """Yield the records and the chunks of logs in the table."""
    pages = harness.cloud.client("dynamodb").get_paginator("scan").paginate(TableName=harness.cloud.info["table"])
    for item in (item for page in pages for item in page["Items"]):
        texts = " ".join(_texts(item))
        yield f"item {item['pk'].get('S')} {item['sk'].get('S')}", texts


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode("utf-8", "replace")


def _objects(harness: Harness) -> Iterator[tuple[str, str]]:
    s3, bucket = harness.cloud.client("s3"), harness.cloud.info["artifact_bucket"]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    for key in (str(each["Key"]) for page in pages for each in page.get("Contents", ())):
        if not key.endswith(_MAY_HOLD):
            content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            yield f"object {key}", _rows(content) if key.endswith(".rows") else content.decode("utf-8", "replace")


def _rows(content: bytes) -> str:
    """Return the rows of a structured plan, with their attributes, as text: compressed parts after a length."""
    text, rest = "", content[4:]
    while rest:
        reader = zlib.decompressobj()
        text += reader.decompress(rest).decode()
        rest = reader.unused_data
    return text


def _logs(harness: Harness) -> Iterator[tuple[str, str]]:
    """Yield the lines of CloudWatch's logs, of functions and of runners."""
    for group in harness.cloud.info["log_groups"].values():
        pages = harness.cloud.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in (event for page in pages for event in page["events"]):
            yield f"log {group}", str(event["message"])
