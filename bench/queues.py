"""How fast queues empty: many deployments on one root, then on many roots, against the time that runners take.

The runner is the real one, but its engine only takes a known time, so that what the system adds shows. Plans are
applied without a review. All deployments are queued before the first may end: a gate holds the runners until then.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from bench import scripted_runner
from bench.lines import Line
from soak.clone import Clone
from tidegate.deploys.adapters.queues import HEAD, queue_key
from tidegate.roots.rules.root import queue_id
from tidegate_local.client import LocalCloud

Found = TypeVar("Found")

REPOSITORY = "bench/queues"
#: Wall time ÷ the time of one root's runners, one after the other.
TARGET = 1.10
_TIME_LIMIT = 1800.0
_LOOK, _LOOK_SOON = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """How many deployments wait on how many roots, and the seconds of each of their two jobs."""

    roots: int
    deployments: int
    seconds: float

    @property
    def each(self) -> int:
        """Deployments of one root."""
        return self.deployments // self.roots

    @property
    def names(self) -> list[str]:
        """The roots' names."""
        return [f"root-{number}" for number in range(self.roots)]


@dataclass(frozen=True, slots=True)
class Emptied:
    """How queues emptied: wall seconds, the seconds of all runners, and the wall seconds of each deployment's turn.

    ``turns`` are the times between the ends of one root's deployments, in order.
    """

    wall: float
    runners: float
    turns: tuple[float, ...]


def run(*, quick: bool) -> Iterator[Line]:
    """Measure both loads. On many roots jobs are long enough for the machine's cores to start all their runners.

    ``quick`` empties one small load, cold, for both.
    """
    small = Load(2, 4, 0.2)
    one, many = (small, small) if quick else (Load(1, 200, 1.0), Load(20, 200, 10.0))
    emptied = empty(one, warm=not quick)
    yield Line("queue_one_root", emptied.wall, emptied.runners, target=TARGET, more=_more(one, emptied))
    spread = emptied if quick else empty(many, warm=True)
    yield Line("queue_many_roots", spread.wall, spread.runners / many.roots, target=TARGET, more=_more(many, spread))


def _more(load: Load, emptied: Emptied) -> dict[str, Any]:
    """Return what the wall time consists of; a queue that slows down has later turns that take longer."""
    added = (emptied.wall - emptied.runners / load.roots) / load.each
    return {
        "roots": load.roots,
        "deployments": load.deployments,
        "job_seconds": load.seconds,
        "baseline": "the time of one root's runners, including process start and end",
        "added_seconds_per_deployment": round(added, 3),
        "turn_seconds_first_and_last_quarter": _quarters(emptied.turns),
    }


def _quarters(turns: tuple[float, ...]) -> list[float]:
    """Return the mean of the first and of the last quarter; nothing where one root's turns cannot be told apart."""
    count = len(turns) // 4
    return [round(sum(part) / count, 3) for part in (turns[:count], turns[-count:])] if count else []


def empty(load: Load, *, warm: bool) -> Emptied:
    """Fill the queues of a fresh local cloud, open the gate, and return how they emptied."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        gate = Path(directory, "gate")
        environment = {scripted_runner.SECONDS: str(load.seconds), scripted_runner.GATE: str(gate)}
        runner = ("python", str(Path(scripted_runner.__file__).resolve()))
        with LocalCloud(environment=environment, runner=runner, clock=False) as cloud:
            if warm:
                cloud.warm()
            _fill(cloud, load, Path(directory, "clone"))
            began = time.time()
            gate.touch()
            until(lambda: not any(_in_line(cloud, load)), "all deployments ended")
            until(lambda: all("stoppedAt" in task for task in cloud.read("tasks")), "waiting for all runners to end")
            until(lambda: all(item["status"] != "RUNNING" for item in _executions(cloud)), "all executions ended")
            return _measured(cloud, load, began)


def _fill(cloud: LocalCloud, load: Load, place: Path) -> None:
    """Push one commit after the other, each changing every root, as soon as the one before is queued.

    The forge sends webhooks side by side: of two pushes at once the later may overtake, and supersedes the earlier.
    """
    scheme, _, rest = str(cloud.info["forge_url"]).partition("://")
    clone = Clone(place, f"{scheme}://maintainer:maintainer@{rest}/{REPOSITORY}.git")
    clone.begin()
    names = load.names
    configuration = "version: 1\nplan_review: never\nroots:\n"
    configuration += "".join(f"  - name: {name}\n    dir: {name}\n" for name in names)
    for number in range(1, load.each + 1):
        files = {f"{name}/main.tf": f"# {number}\n" for name in names}
        clone.commit({**files, "tidegate.yaml": configuration}, f"Change {number}")
        clone.push()
        until(
            partial(_are_in_line, cloud, load, number * load.roots), f"deployments of push {number} queued", _LOOK_SOON
        )


def _are_in_line(cloud: LocalCloud, load: Load, deployments: int) -> bool:
    return sum(_in_line(cloud, load)) >= deployments


def _in_line(cloud: LocalCloud, load: Load) -> list[int]:
    """Return how many deployments each root's queue holds, with the one in flight.

    Only the queues' heads are read: to look through the whole table takes the local cloud longer than a deployment.
    """
    keys = [{"pk": {"S": queue_key(queue_id(REPOSITORY, name))}, "sk": {"S": HEAD}} for name in load.names]
    table = str(cloud.info["table"])
    answer = cloud.client("dynamodb").batch_get_item(RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
    return [int(head["length"]["N"]) + ("in_flight" in head) for head in answer["Responses"][table]]


def until(look: Callable[[], Found], what: str, pause: float = _LOOK) -> Found:
    """Return the first truthy answer of ``look``. Raise AssertionError after half an hour."""
    end = time.monotonic() + _TIME_LIMIT
    while not (found := look()):
        assert time.monotonic() < end, f"timed out waiting for: {what}"
        time.sleep(pause)
    return found


def _executions(cloud: LocalCloud) -> list[Any]:
    pages = cloud.client("stepfunctions").get_paginator("list_executions")
    arn = cloud.info["state_machines"]["terraform"]
    return [item for page in pages.paginate(stateMachineArn=arn) for item in page["executions"]]


def _measured(cloud: LocalCloud, load: Load, began: float) -> Emptied:
    """Return what the executions and the tasks tell. Raise AssertionError when not all deployments were applied."""
    ends = sorted(item["stopDate"].timestamp() for item in _executions(cloud) if item["status"] == "SUCCEEDED")
    applied = [message for message in cloud.audit() if message["state"] == "SUCCESS"]
    assert len(ends) == len(applied) == load.deployments, f"{len(applied)} of {load.deployments} were applied"
    tasks = [(max(began, task["createdAt"]), task["stoppedAt"]) for task in cloud.read("tasks")]
    turns = tuple(later - earlier for earlier, later in pairwise(ends)) if load.roots == 1 else ()
    return Emptied(ends[-1] - began, sum(stopped - created for created, stopped in tasks), turns)
