"""What it takes to roll a change out over many roots, in four waves: an engine upgrade, for example.

A small fleet runs in a local cloud, for the executions and their events. A thousand roots are played in memory by
``tests/bench/rollout.py``, in a process of its own: the real verbs on stores that count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import scripted_runner
from bench.deploys import history
from bench.lines import Line
from bench.queues import until
from soak.clone import Clone
from tidegate_local.client import LocalCloud

REPOSITORY = "bench/fleet"
#: DynamoDB calls of a deployment in a fleet ÷ those in one of a tenth, and seconds of our own for each.
FLAT, OWN_SECONDS = 2.0, 0.5
#: Events of both machines for each deployment.
EVENTS = 150
_TOLD = ("roots", "records_read", "most_at_once", "simulated_hours")


def _machines() -> Line:
    """Roll out a small fleet in a local cloud, with the real machines, and return its executions and their events."""
    shares = {"canary": 1, "early": 2, "half": 4, "rest": 5}
    names = [f"{stack}-{number}" for stack, share in shares.items() for number in range(share)]
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        environment = {scripted_runner.SECONDS: "0.1"}
        runner = ("python", str(Path(scripted_runner.__file__).resolve()))
        with LocalCloud(environment=environment, runner=runner, clock=False) as cloud:
            scheme, _, rest = str(cloud.info["forge_url"]).partition("://")
            clone = Clone(Path(directory, "clone"), f"{scheme}://maintainer:maintainer@{rest}/{REPOSITORY}.git")
            clone.begin()
            files = {f"{name}/versions.tf": 'terraform { required_version = "1.11.4" }\n' for name in names}
            clone.commit({**files, "tidegate.yaml": _file(shares)}, "Upgrade the engine")
            clone.push()
            applied = partial(_applied, cloud, len(names))
            until(applied, "all applied")
            found = {machine: list(history(cloud, machine)) for machine in ("deploy", "terraform")}
            executions = sum(event["id"] == 1 for each in found.values() for _, event in each)
            events = {machine: round(len(each) / len(names), 1) for machine, each in found.items()}
    more = {"baseline": "executions for each", "roots": len(names), "events_by_machine": events}
    return Line(
        "fleet_history_events",
        sum(events.values()),
        executions / len(names),
        target=EVENTS,
        compared="median",
        unit="events",
        more=more,
    )


def _applied(cloud: LocalCloud, count: int) -> bool:
    ended = [message for message in cloud.audit() if message["state"] == "SUCCESS"]
    return len(ended) == count


def _file(shares: Mapping[str, int]) -> str:
    """Return the configuration of the small fleet."""
    roots = "".join(f"  - {{dir: {name}-{each}}}\n" for name, share in shares.items() for each in range(share))
    return f"version: 1\nplan_review: never\nstacks:\n  names:\n{waves(shares)}roots:\n{roots}"


def waves(names: Iterable[str]) -> str:
    """Return the lines of stacks of which each waits for the one before."""
    stacks, before = [], ""
    for name in names:
        rules = f"max_concurrent: 2, stop_on_failures: 1, apply_after: [{before}]"
        stacks.append(f"    {name}: {{tag_query: 'dir:{name}-*', rules: {{{rules}}}}}\n")
        before = name
    return "".join(stacks)


def _rolled(module: str, roots: int) -> dict[str, Any]:
    command = [sys.executable, "-m", module, str(roots)]
    told: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told


def run(*, quick: bool) -> Iterator[Line]:
    """Roll out a small fleet with the machines, and compare what a deployment takes in a small and a large one."""
    yield _machines()
    yield from rolled_out("fleet", "tests.bench.rollout", (20, 40) if quick else (100, 1000))


def rolled_out(name: str, module: str, sizes: tuple[int, int]) -> Iterator[Line]:
    """Compare what a deployment takes in a small and a large rollout in memory, which ``module`` plays."""
    small, large = (_rolled(module, roots) for roots in sizes)
    roots, few = large["roots"], small["roots"]
    more = {"baseline": f"the same of {few} roots", **{field: large[field] for field in _TOLD}}
    calls = {"by_call": large["by_call"], "by_verb": large["by_verb"]}
    yield Line(
        f"{name}_dynamodb_calls",
        large["calls"] / roots,
        small["calls"] / few,
        target=FLAT,
        unit="calls",
        more={**more, **calls},
    )
    own, own_of_few = (sum(each["seconds"].values()) for each in (large, small))
    told = {**more, "by_verb": large["seconds"]}
    yield Line(f"{name}_own_seconds", own / roots, own_of_few / few, target=OWN_SECONDS, compared="median", more=told)
