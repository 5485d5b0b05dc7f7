"""What readers wait for: a log's new line until the page's endpoint has it, and a page of many deployments.

The log page asks every 400 ms while lines come, and so does this. Lines are written by the real runner every 50 ms,
each with the time at which it was written; only the engine is left out.
"""

from __future__ import annotations

import re
import statistics
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from bench import scripted_runner
from bench.lines import Line
from bench.queues import until
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient

REPOSITORY, ROOT = "bench/reading", "app"
#: Seconds between two questions of the log page while lines come (web/static/log.js).
QUESTION_SECONDS = 0.4
#: A line is to be seen within this, 99 of 100 times.
TARGET_SECONDS = 1.0
LINE_SECONDS = 0.05
FEW, MANY = 100, 10_000
_WRITTEN = re.compile(r"written (\d+\.\d+)")
_BATCH = 25
#: Part of the name of the role that pages and the API read with.
_API = "ApiFunction"


def run(*, quick: bool) -> Iterator[Line]:
    """Measure both on one local cloud, with one deployment that was really made."""
    seconds = 3.0 if quick else 30.0
    environment = {scripted_runner.SECONDS: str(seconds), scripted_runner.LINES: str(LINE_SECONDS)}
    runner = ("python", str(Path(scripted_runner.__file__).resolve()))
    with LocalCloud(environment=environment, runner=runner, clock=False) as cloud:
        if not quick:
            cloud.warm()
        _push(cloud)
        yield _line_seen(cloud)
        yield _pages_read(cloud, FEW, FEW * 2 if quick else MANY)


def _push(cloud: LocalCloud) -> None:
    configuration = f"version: 1\nplan_review: never\nroots:\n  - name: {ROOT}\n    dir: {ROOT}\n"
    files = {"tidegate.yaml": configuration, f"{ROOT}/main.tf": "# one\n"}
    ForgeClient(cloud.info["forge_url"], "maintainer").push(REPOSITORY, files, "Begin")


def _line_seen(cloud: LocalCloud) -> Line:
    """Follow the plan's log as the page does; return the line with the 99th percentile of all lines' delays."""
    job = str(until(lambda: next(iter(_jobs(cloud)), None), "a runner"))
    delays, position, ended = [], 0, False
    while not ended:
        page = _get(cloud, f"/api/v1/jobs/{job}/log?after={position}")
        seen = time.time()
        delays += [seen - float(found[1]) for line in page["lines"] if (found := _WRITTEN.search(str(line)))]
        position, ended = page["next"], page["ended"]
        time.sleep(QUESTION_SECONDS)
    slowest = statistics.quantiles(delays, n=100, method="inclusive")[98]
    more = {"baseline": "the median of the same lines", "lines": len(delays), "longest": round(max(delays), 3)}
    return Line(
        "log_line_seen", slowest, statistics.median(delays), target=TARGET_SECONDS, compared="median", more=more
    )


def _jobs(cloud: LocalCloud) -> Iterator[str]:
    for task in cloud.read("tasks"):
        overrides = task["overrides"].get("containerOverrides", [])
        for entry in (entry for override in overrides for entry in override["environment"]):
            if entry["name"] == "TIDEGATE_JOB":
                yield entry["value"]


def _pages_read(cloud: LocalCloud, few: int, many: int) -> Line:
    """Return the line with the DynamoDB calls of one page among many deployments and among few."""
    until(lambda: any(message["state"] == "SUCCESS" for message in cloud.audit()), "the deployment's end")
    path = f"/api/v1/deployments?{urllib.parse.urlencode({'repository': REPOSITORY, 'limit': 100})}"
    _multiply(cloud, 1, few)
    _get(cloud, path)  # Who may read what is known from now on, as for every page but the first.
    among_few = _reads(cloud, path)
    _multiply(cloud, few, many)
    among_many = _reads(cloud, path)
    more = {"baseline": f"the same page among {few} deployments", "deployments": many}
    return Line("page_of_deployments", among_many, among_few, target=1.0, unit="DynamoDB calls", more=more)


def _multiply(cloud: LocalCloud, begin: int, end: int) -> None:
    """Store copies of the one deployment that was made, each requested a second after the other."""
    table, client = cloud.info["table"], cloud.client("dynamodb")
    found = client.scan(
        TableName=table,
        FilterExpression="sk = :record AND attribute_exists(#apply.#job)",
        ExpressionAttributeNames={"#apply": "apply", "#job": "job"},
        ExpressionAttributeValues={":record": {"S": "record"}},
    )["Items"]
    original = min(found, key=lambda item: str(item["requested_at"]["S"]))
    copies = [{"PutRequest": {"Item": _copy(original, number)}} for number in range(begin, end)]
    for first in range(0, len(copies), _BATCH):
        client.batch_write_item(RequestItems={table: copies[first : first + _BATCH]})


def _copy(item: Mapping[str, Any], number: int) -> dict[str, Any]:
    name = f"{item['id']['S']}-{number}"
    at = f"2030-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000000+00:00"
    request = {"M": {**item["request"]["M"], "at": {"S": at}}}
    own = {"pk": {"S": f"deployment#{name}"}, "id": {"S": name}, "requested_at": {"S": at}}
    return {**item, **own, "request": request}


def _reads(cloud: LocalCloud, path: str) -> int:
    """Return how many DynamoDB calls one page takes. Raise AssertionError when it is not full."""
    began = time.time()
    assert len(_get(cloud, path)["deployments"]) == 100  # noqa: PLR2004 - the limit in the path.
    calls = [call for call in cloud.read("calls") if call["at"] >= began and _API in call["role"]]
    return sum(call["call"].startswith("dynamodb:") for call in calls)


def _get(cloud: LocalCloud, path: str) -> Any:
    headers = {"Authorization": "Bearer reviewer"}
    return httpx.get(f"{cloud.info['api_url']}{path}", headers=headers, timeout=60, trust_env=False).json()
