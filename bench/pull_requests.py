"""What pull requests take: until the first sign, until all of many roots is planned, and in calls to the forge.

The roots are on the default branch before webhooks are looked at, so nothing is deployed. Bare plans are made by the
same commands of the engine, two roots at a time, in one clone.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import roots
from bench.deploys import DeployFailed, by_hand, timed
from bench.lines import Line
from bench.relay import Relay, Sent
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient

REPOSITORY = "bench/pull-requests"
#: Wall time ÷ that of the bare plans, seconds until the first sign, and calls to the forge for each root.
RATIO, FIRST_SIGN_SECONDS, CALLS = 1.15, 1.0, 2.0
FEW, MANY = 10, 50
_AT_ONCE = 2
_ROUNDS = 7
_WHOLE = "tidegate/plan"
#: What tells one object of the forge from others of its kind.
_NUMBERS = re.compile(r"/(\d+|[0-9a-f]{40}(?:\.{3}[0-9a-f]{40})?)(?=/|$)")


@dataclass(frozen=True, slots=True)
class Planned:
    """A pull request that was planned: its branch, epoch seconds of its webhook, first sign and verdict, its calls.

    ``ended`` is when the check run of the whole had its verdict; ``calls`` are Tidegate's REST calls, by what they
    ask, and ``fetches`` its requests by git.
    """

    branch: str
    began: float
    seen: float
    ended: float
    calls: Counter[str]
    fetches: int


class PullRequests:
    """A local cloud with warm functions, and a repository with roots that nobody deploys."""

    def __init__(self, cloud: LocalCloud, relay: Relay, directory: Path) -> None:
        self._cloud, self._relay, self._directory = cloud, relay, directory
        self._forge = ForgeClient(cloud.info["forge_url"], "maintainer")
        self._number = 0

    def begin(self, kinds: dict[str, int]) -> None:
        """Push so many roots of each kind, of which Tidegate does not hear: it would plan them all, meanwhile."""
        bucket = self._cloud.info["state_bucket"]
        names = [(kind, _name(kind, number)) for kind, count in kinds.items() for number in range(count)]
        files = {f"{name}/main.tf": roots.module(kind, name, bucket) for kind, name in names}
        self._forge.point_webhook_at(None, "")
        self._forge.push(REPOSITORY, files, "Begin")
        self._forge.point_webhook_at(self._relay.url, self._cloud.info["webhook_secret"])

    def planned(self, kind: str, count: int) -> Planned:
        """Open a pull request that changes so many roots; return when all of it is shown. Raise DeployFailed."""
        self._number += 1
        branch = f"change-{self._number}"
        files = {f"{_name(kind, number)}/change.tf": f"# {self._number}\n" for number in range(count)}
        sha = self._forge.push(REPOSITORY, files, f"Change {count} roots", branch=branch, base="main")
        asked = time.time()
        self._forge.open_pull_request(REPOSITORY, branch, title=f"Change {count} roots")
        began, created, completed = 0.0, dict[str, float](), dict[str, float]()
        while len(completed) < count + 1:
            sent = self._relay.next()
            if sent.event == "pull_request" and sent.payload["pull_request"]["head"]["sha"] == sha:
                began = sent.at
            elif sent.event == "check_run" and sent.payload["check_run"]["head_sha"] == sha:
                _note(sent, created, completed)
        calls = [call for call in self._forge.calls() if call["at"] >= asked]
        return Planned(
            branch,
            began,
            created[_WHOLE],
            completed[_WHOLE],
            Counter(_kind(call) for call in calls if call["agent"] == "tidegate"),
            sum(".git/" in call["path"] for call in calls),
        )

    def bare(self, kind: str, count: int, branch: str) -> float:
        """Plan the same roots by the bare commands; return the seconds that it took. Raise DeployFailed."""
        place, environ = self._directory / branch, by_hand(self._cloud, self._directory)
        clone = ["git", "clone", "--quiet", "--branch", branch, self._forge.clone_url(REPOSITORY), str(place)]
        timed(clone, self._directory, environ)
        began = time.perf_counter()
        with ThreadPoolExecutor(_AT_ONCE) as workers:
            list(workers.map(lambda number: _plan(place / _name(kind, number), environ), range(count)))
        return time.perf_counter() - began


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:02}"


def _note(sent: Sent, created: dict[str, float], completed: dict[str, float]) -> None:
    """Remember when a check run appeared, and when it ended. Raise DeployFailed when it did not end well."""
    run = sent.payload["check_run"]
    if sent.payload["action"] == "created":
        created.setdefault(run["name"], sent.at)
    if run["status"] == "completed":
        completed.setdefault(run["name"], sent.at)
        if run["conclusion"] != "success":
            raise DeployFailed(f"{run['name']}: {run['conclusion']}: {run['output']['title']}")


def _kind(call: dict[str, Any]) -> str:
    """Return what a call asks of which kind of thing."""
    path = str(call["path"]).removeprefix("/api/v3").replace(f"/repos/{REPOSITORY}", "")
    return f"{call['method']} {_NUMBERS.sub('/N', path) or '/'}"


def _plan(root: Path, environ: dict[str, str]) -> None:
    timed(["terraform", "init", "-input=false", "-no-color"], root, environ)
    timed(["terraform", "plan", "-lock=false", "-input=false", "-no-color", "-out=plan.tfplan"], root, environ)
    with (root / "plan.json").open("wb") as output:
        command = ["terraform", "show", "-json", "-no-color", "plan.tfplan"]
        subprocess.run(command, cwd=root, env=environ, stdout=output, check=True)


@contextmanager
def pull_requests(kinds: dict[str, int], *, quick: bool) -> Iterator[PullRequests]:
    """Start a local cloud with so many roots of each kind. ``quick`` leaves functions cold."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, LocalCloud(clock=False) as cloud:
        if not quick:
            cloud.warm()
        with Relay(cloud.info["webhook_url"], REPOSITORY) as relay:
            measured = PullRequests(cloud, relay, Path(directory))
            measured.begin(kinds)
            yield measured


def run(*, quick: bool) -> Iterator[Line]:
    """Measure all three. ``quick`` plans few roots without a provider, cold: its times mean nothing."""
    few, many = (2, 4) if quick else (FEW, MANY)
    kind = "data" if quick else "aws"
    with pull_requests({"data": many, kind: many}, quick=quick) as measured:
        if not quick:
            measured.planned("data", 1)
        yield _first_sign([measured.planned("data", 1) for _ in range(1 if quick else _ROUNDS)])
        yield _calls(measured, few, many)
        yield _ratio(measured, kind, many)


def _first_sign(planned: list[Planned]) -> Line:
    signs = sorted(each.seen - each.began for each in planned)
    return Line(
        "pull_request_first_sign",
        statistics.median(signs),
        statistics.median(each.ended - each.began for each in planned),
        target=FIRST_SIGN_SECONDS,
        compared="median",
        more={"baseline": "the time until the verdict", "runs": len(signs), "longest": round(signs[-1], 3)},
    )


def _calls(measured: PullRequests, few: int, many: int) -> Line:
    smaller, larger = measured.planned("data", few), measured.planned("data", many)
    totals = smaller.calls.total(), larger.calls.total()
    slope = (totals[1] - totals[0]) / (many - few)
    more = {
        "baseline": "the one check run that each root has",
        "calls": {str(few): totals[0], str(many): totals[1]},
        "constant": round(totals[0] - slope * few, 2),
        "by_call": dict(larger.calls),
        "git_requests": {str(few): smaller.fetches, str(many): larger.fetches},
    }
    return Line("pull_request_calls_per_root", max(slope, 0.0), 1.0, target=CALLS, unit="calls", more=more)


def _ratio(measured: PullRequests, kind: str, many: int) -> Line:
    planned = measured.planned(kind, many)
    ours, bare = planned.ended - planned.began, measured.bare(kind, many, planned.branch)
    more = {
        "baseline": f"init, plan and show of the same roots in one clone, {_AT_ONCE} concurrently",
        "roots": many,
        "added_seconds_per_root": round((ours - bare) / many, 3),
    }
    return Line("pull_request_many_roots", ours, bare, target=RATIO, more=more)
