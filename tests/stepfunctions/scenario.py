"""Tidegate on a local cloud from outside, as an operator: its use cases, and what its executions did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.ports import Ports
from tidegate_local.client import LocalCloud


class OperatorPorts(Ports):
    """The ports with an operator's rights, from outside."""

    def __init__(self, cloud: LocalCloud) -> None:
        queues = {name: url for name, url in cloud.queues.items() if "Dead" not in name and "Later" not in name}
        words = ("CheckRun", "Positions", "Change")
        check_run, positions, change = (next(url for name, url in queues.items() if word in name) for word in words)
        super().__init__(
            {
                "TIDEGATE_TABLE": cloud.table,
                "TIDEGATE_EVENT_BUS": cloud.event_bus,
                "TIDEGATE_CHECK_RUN_QUEUE": check_run,
                "TIDEGATE_POSITIONS_QUEUE": positions,
                "TIDEGATE_CHANGE_QUEUE": change,
                "TIDEGATE_DEPLOY_STATE_MACHINE": cloud.state_machines["deploy"],
                "TIDEGATE_PULL_REQUEST_STATE_MACHINE": cloud.state_machines["pull_request"],
                "TIDEGATE_AUDIT_TOPIC": cloud.info["audit_topic"],
                "TIDEGATE_PULL_REQUEST_PLANS": "1",
                "TIDEGATE_RUNNER_SLOTS": "40",
            }
        )
        vars(self)["_cloud"] = cloud

    def client(self, service: str) -> Any:
        return self._cloud.client(service)


def events_of(states: Any, execution_arn: str) -> Iterator[dict[str, Any]]:
    request = {"executionArn": execution_arn, "maxResults": 1000}
    while True:
        try:
            answer = states.get_execution_history(**request)
        except states.exceptions.ExecutionDoesNotExist:
            return
        yield from answer["events"]
        if "nextToken" not in answer:
            return
        request["nextToken"] = answer["nextToken"]
