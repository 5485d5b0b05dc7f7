"""What config updates take: from an announcement to the auto branch, from a verdict to the default branch, in calls.

The local cloud runs the real machines and the real runner with git; the repository is the example's. A relay tells when
webhooks were sent, and the API is only asked where nothing is measured.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.deploys import history
from bench.lines import Line
from bench.queues import until
from bench.relay import Relay
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient
from tidegate_local.options import PROJECT
from tidegate_local.updates_client import UpdatesClient

REPOSITORY, APP = "bench/config", "bench/shop"
SAMPLE = PROJECT / "examples" / "config-repository"
SET, SERVICES = "shop", ("web", "worker")
#: Seconds that Tidegate may add to the runner, and seconds from a verdict until the default branch has moved.
ADDED_SECONDS, LANDING_SECONDS = 2.0, 2.0
#: Calls to the provider from a verdict to the moved branch, and DynamoDB calls that name records of config updates,
#: from an announcement until the promotion waits for its targets.
LANDING_CALLS, ENTRY_CALLS = 8, 130
#: The time of an entry late in a long replay ÷ that of an early one.
FLAT = 1.1
_ROUNDS, _ENTRIES, _FEW = 7, 200, 8
_QUIET_SECONDS = 30.0
_NUMBERS = re.compile(r"/(\d+|[0-9a-f]{40})(?=/|$)")
#: What a claim and a promotion wait in.
_WAITS = ("Wait for an image set, a verdict or a report", "Wait for the required checks")
_FILE = """\
config_updates:
  required_checks: [{{name: check, app: github-actions}}]
  commands:
    introduce: [sh, -c, 'date +%s.%N >> {times}; cp "$0" images/staging.json; python3 generate.py', '{{image_file}}']
  sets:
    - name: shop
      app: {{repository: bench/shop}}
      environments: [{{name: staging, file: images/staging.json, targets: [{{name: staging-eu}}]}}]
"""


@dataclass(frozen=True, slots=True)
class Passed:
    """An entry that landed: seconds from its announcement to its commit on the auto branch, those of its runner's task,
    and seconds from the check's webhook until the default branch had moved.

    ``landing`` are the calls to the provider between these two, ``provider`` all. ``records`` are calls to DynamoDB
    that name records of config updates, by task, and ``dynamodb`` counts all.
    """

    pushed: float
    runner: float
    landed: float
    landing: Counter[str]
    provider: int
    records: Counter[str]
    dynamodb: int


class Updates:
    """A local cloud with a config repository, whose webhooks a relay passes on."""

    def __init__(self, cloud: LocalCloud, relay: Relay, directory: Path) -> None:
        self.cloud, self._relay = cloud, relay
        self.forge = ForgeClient(cloud.info["forge_url"], "maintainer")
        self.api = UpdatesClient(cloud.info["api_url"], self.forge, REPOSITORY, APP)
        self._operator, self._number = self.forge.user_token(), 0
        self._times = directory / "times"

    def begin(self) -> None:
        """Push the repositories."""
        files = {str(path.relative_to(SAMPLE)): path.read_text() for path in SAMPLE.rglob("*") if path.is_file()}
        self.forge.push(APP, {"README.md": "# Shop\n"}, "Begin")
        self.forge.push(REPOSITORY, {**files, "tidegate.yaml": _FILE.format(times=self._times)}, "Begin")
        self.forge.point_webhook_at(self._relay.url, self.cloud.info["webhook_secret"])

    def announce(self) -> str:
        """Announce the next build; return its entry."""
        self._number += 1
        return str(self.api.announce(SET, self._number, SERVICES)["id"])

    def get(self, path: str) -> dict[str, Any]:
        """Ask the API."""
        return self.api.call("GET", path, self._operator)

    def post(self, path: str, given: Mapping[str, str] | None = None) -> None:
        """Order something as an operator."""
        self.api.call("POST", path, self._operator, given or {})

    def pushed(self, branch: str) -> tuple[float, str]:
        """Wait until a branch moves; return when its webhook was sent, and the commit."""
        while True:
            sent = self._relay.next()
            if sent.event == "push" and sent.payload["ref"] == f"refs/heads/{branch}":
                return sent.at, str(sent.payload["after"])

    def passed(self) -> Passed:
        """Announce a build, let its check pass, and return what that took."""
        self.settle()
        began = time.time()
        self.announce()
        pushed, commit = self.pushed("auto")
        self.settle()
        reported = time.time()
        self.forge.report_check(REPOSITORY, commit, "check", "success")
        landed, _ = self.pushed("main")
        self.settle()
        (task,) = (task for task in self.cloud.read("tasks") if task["createdAt"] >= began)
        calls = [call for call in self.forge.calls() if call["at"] >= began and call["agent"] == "tidegate"]
        dynamodb = [
            call for call in self.cloud.read("calls") if call["at"] >= began and call["call"].startswith("dynamodb:")
        ]
        records = [call for call in dynamodb if any(str(item).startswith("updates#") for item in call["items"])]
        return Passed(
            pushed - began,
            task["stoppedAt"] - task["createdAt"],
            landed - reported,
            Counter(_kind(call) for call in calls if reported <= call["at"] <= landed),
            len(calls),
            Counter(call["task"] or str(call["role"]).rpartition("/")[2] for call in records),
            len(dynamodb),
        )

    def settle(self) -> None:
        """Wait until all executions wait, and nothing calls AWS any more."""
        before = -1
        while before != (before := sum(self.cloud.read("counts").values())) or not self._all_wait():
            time.sleep(1.0)

    def _all_wait(self) -> bool:
        newest: dict[str, str] = {}
        for machine in ("config_update", "promotion"):
            for status, event in history(self.cloud, machine):
                if status == "RUNNING":
                    newest[machine] = event.get("stateEnteredEventDetails", {}).get("name") or newest.get(machine, "")
        return all(state in _WAITS or state.startswith("Wait for") for state in newest.values())

    def events(self) -> int:
        """Return how many events the executions have had."""
        return sum(1 for machine in ("config_update", "promotion") for _ in history(self.cloud, machine))

    def turns(self, count: int) -> list[float]:
        """Return the seconds of each entry of the last replay, but for the last one, by the repository's command."""
        times = [float(line) for line in self._times.read_text().split()][-count:]
        return [later - earlier for earlier, later in pairwise(times)]


def _kind(call: Mapping[str, Any]) -> str:
    """Return what a call asks for, without numbers and commits."""
    path = str(call["path"]).removeprefix("/api/v3").replace(f"/repos/{REPOSITORY}", "")
    return f"{call['method']} {_NUMBERS.sub('/N', path)}"


@contextmanager
def _updates(*, quick: bool) -> Iterator[Updates]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, LocalCloud(clock=False) as cloud:
        if not quick:
            cloud.warm()
        with Relay(cloud.info["webhook_url"], REPOSITORY) as relay:
            measured = Updates(cloud, relay, Path(directory))
            measured.begin()
            yield measured


def run(*, quick: bool) -> Iterator[Line]:
    """Measure all. ``quick`` takes one entry, and few in place of many."""
    with _updates(quick=quick) as measured:
        if not quick:
            measured.passed()
        passed = [measured.passed() for _ in range(1 if quick else _ROUNDS)]
        yield from _one_entry(passed)
        yield _quiet(measured, 3.0 if quick else _QUIET_SECONDS)
        yield from _many(measured, _FEW if quick else _ENTRIES)


def _one_entry(passed: list[Passed]) -> Iterator[Line]:
    runs = {"runs": len(passed)}
    yield Line(
        "update_announced_to_auto",
        statistics.median(each.pushed for each in passed),
        statistics.median(each.runner for each in passed),
        target=ADDED_SECONDS,
        compared="difference",
        more={**runs, "baseline": "the runner's task, with the start of its process"},
    )
    yield Line(
        "update_green_to_landed",
        statistics.median(each.landed for each in passed),
        statistics.median(each.pushed for each in passed),
        target=LANDING_SECONDS,
        compared="median",
        more={**runs, "baseline": "the time from the announcement to the auto branch"},
    )
    last = passed[-1]
    yield Line(
        "update_landing_calls",
        last.landing.total(),
        last.provider,
        target=LANDING_CALLS,
        compared="median",
        unit="calls",
        more={"baseline": "all calls to the provider's API for the entry", "by_call": dict(last.landing)},
    )
    yield Line(
        "update_dynamodb_calls",
        last.records.total(),
        last.dynamodb,
        target=ENTRY_CALLS,
        compared="median",
        unit="calls",
        more={
            "baseline": "all DynamoDB calls, those of webhooks, check runs and the runner included",
            "by_task": dict(last.records),
        },
    )


def _quiet(measured: Updates, seconds: float) -> Line:
    """Let the checks of an entry run for some seconds, and count everything that happens meanwhile."""
    measured.settle()
    measured.announce()
    _, commit = measured.pushed("auto")
    measured.settle()
    until(lambda: all("stoppedAt" in task for task in measured.cloud.read("tasks")), "the end of all runners")
    before, since = measured.events(), time.time()
    time.sleep(seconds)
    found = {
        "calls to AWS": sum(call["at"] >= since for call in measured.cloud.read("calls")),
        "calls to the provider": sum(call["at"] >= since for call in measured.forge.calls()),
        "tasks": sum("stoppedAt" not in task for task in measured.cloud.read("tasks")),
        "events of executions": measured.events() - before,
    }
    measured.forge.report_check(REPOSITORY, commit, "check", "success")
    measured.pushed("main")
    more = {"baseline": "the seconds of the wait", **found, "looks_again_after_seconds": 600}
    return Line(
        "update_while_checks_run", sum(found.values()), seconds, target=0, compared="median", unit="events", more=more
    )


def _many(measured: Updates, count: int) -> Iterator[Line]:
    """Queue many entries, let one replay stack them, and another one make all anew without the lowest."""
    measured.settle()
    measured.post("/queue/pause", {"reason": "many builds"})
    entries = [measured.announce() for _ in range(count)]
    measured.settle()
    for name, made in (("update_queue_stacked", count), ("update_queue_rebuilt", count - 1)):
        began, tasks = time.time(), len(measured.cloud.read("tasks"))
        if made == count:
            measured.post("/queue/resume")
        else:
            lowest = measured.get(f"/entries/{entries[0]}")["commit"]
            measured.forge.report_check(REPOSITORY, lowest, "check", "failure")
        pushed, _ = measured.pushed("auto")
        measured.settle()
        turns = measured.turns(made)
        quarter = max(1, len(turns) // 4)
        first, last = (statistics.fmean(part) for part in (turns[:quarter], turns[-quarter:]))
        moves = [call for call in measured.forge.calls() if call["at"] >= began and "receive-pack" in call["path"]]
        more = {
            "baseline": "the same in the first quarter",
            "entries": made,
            "replays": len(measured.cloud.read("tasks")) - tasks,
            "pushes": sum(call["method"] == "POST" for call in moves),
            "seconds": round(pushed - began, 1),
            "on_auto": sum(each["state"] == "testing" for each in measured.get("/queue")["entries"]),
        }
        yield Line(name, last, first, target=FLAT, more=more)
