"""Prints where the time of one deploy goes: ``python -m bench.timeline [aws|data]``.

Every webhook, state, AWS call, function and task of the deploy, in order, with the milliseconds since the
webhook was sent and since the line before. Nothing in Tidegate is changed for it: all is read from the
local cloud's records, the execution histories and the logs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bench.deploys import Bench, Deployed, bench, history
from bench.roots import KINDS

_DETAILS = ("stateEnteredEventDetails", "stateExitedEventDetails")


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """Something that happened: when (epoch seconds), where, and what."""

    at: float
    where: str
    what: str


def moments(measured: Bench, deployed: Deployed) -> list[Moment]:
    """Return all that is known of a deploy, in order."""
    found = [*_webhooks(deployed), *_calls(measured), *_states(measured), *_tasks(measured), *_logs(measured)]
    return sorted(moment for moment in found if deployed.began - 0.001 <= moment.at <= deployed.ended + 0.001)


def _webhooks(deployed: Deployed) -> Iterator[Moment]:
    for sent in deployed.webhooks:
        run = sent.payload.get("check_run")
        shown = f": {run['output']['title']}" if run else ""
        yield Moment(sent.at, "forge", f"{sent.event} {sent.payload.get('action', '')}{shown}")


def _calls(measured: Bench) -> Iterator[Moment]:
    names = {arn_name(function): name for name, function in measured.cloud.info["functions"].items()}
    for call in measured.cloud.read("calls"):
        role = call["role"].rpartition("/")[2]
        who = next((name for function, name in names.items() if function in role.lower()), role[:28])
        yield Moment(call["at"], who, f"{call['call']} answered ({call['status']})")


def arn_name(function: str) -> str:
    """Return a function's name as it stands in its role's: ``tidegate-begin-job`` → ``beginjob``."""
    return function.removeprefix("tidegate-").replace("-", "")


def _states(measured: Bench) -> Iterator[Moment]:
    for machine in measured.cloud.info["state_machines"]:
        for _, event in history(measured.cloud, machine):
            name = next((event[key]["name"] for key in _DETAILS if key in event), "")
            yield Moment(event["timestamp"].timestamp(), machine, f"{event['type']} {name}".strip())


def _tasks(measured: Bench) -> Iterator[Moment]:
    for task in measured.cloud.read("tasks"):
        yield Moment(task["createdAt"], "task", f"started for {task['startedBy']}")
        if "stoppedAt" in task:
            yield Moment(task["stoppedAt"], "task", f"stopped for {task['startedBy']}")


def _logs(measured: Bench) -> Iterator[Moment]:
    client = measured.cloud.client("logs")
    groups = [group for group in measured.cloud.info["log_groups"].values() if "/" in group]
    for group in groups:
        for event in client.filter_log_events(logGroupName=group)["events"]:
            if not event["message"].startswith("{"):
                yield Moment(event["timestamp"] / 1000, group.rpartition("/")[2], event["message"].strip()[:110])


def show(found: list[Moment]) -> None:
    """Print a timeline: milliseconds since its beginning, since the line before, where, what."""
    before = found[0].at
    for moment in found:
        since, step = moment.at - found[0].at, moment.at - before
        print(f"{since * 1000:8.0f} {step * 1000:+6.0f}  {moment.where:<24} {moment.what}")
        before = moment.at


def main(kind: str) -> None:
    """Deploy twice, since the first deploy warms everything up, and show the second."""
    with bench() as measured:
        measured.whole(kind)
        deployed = measured.whole(kind)
        show(moments(measured, deployed))


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] in ([kind] for kind in KINDS) else "data")
