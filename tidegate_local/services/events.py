"""EventBridge: events of AWS services to the matching rules, rules to Lambda functions, and schedules."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast

from moto.events.models import EventsBackend, Rule
from moto.events.utils import EventTemplateParser

_RATE = re.compile(r"rate\((\d+) (second|minute|hour|day)s?\)")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


class Events:
    """The event buses of one account and region."""

    def __init__(self, backend: EventsBackend, account: str, region: str, submit: Callable[[str, bytes], None]) -> None:
        self._backend, self._account, self._region, self._submit = backend, account, region, submit
        self._stop = threading.Event()

    def emit(self, source: str, detail_type: str, detail: Mapping[str, Any], resources: list[str]) -> None:
        """Send an event of an AWS service to the default bus (PutEvents refuses ``aws.`` sources)."""
        event = self._event(source, detail_type, detail, resources)
        bus = self._backend.describe_event_bus("default")
        for rule in list(bus.rules.values()):
            if not rule.scheduled_expression:
                rule.send_to_targets(cast(Any, event))

    def execution_changed(self, execution: Any) -> None:
        """Send "Step Functions Execution Status Change" for this execution."""
        described = execution.to_describe_output()
        detail = {
            "executionArn": execution.exec_arn,
            "stateMachineArn": execution.state_machine.arn,
            "name": execution.name,
            "status": str(getattr(execution.exec_status, "value", execution.exec_status)),
            "startDate": _milliseconds(execution.start_date),
            "stopDate": _milliseconds(execution.stop_date),
            "input": described["input"],
            "inputDetails": {"included": True},
            "output": described.get("output"),
            "outputDetails": {"included": True} if "output" in described else None,
            "error": execution.error,
            "cause": execution.cause,
        }
        self.emit("aws.states", "Step Functions Execution Status Change", detail, [execution.exec_arn])

    def invoke_target(self, target: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Send a rule's function or topic the event, its constant input or its transformed input."""
        sent = {**event, "time": _iso(event.get("time"))}
        payload: Any = sent
        if "Input" in target:
            payload = json.loads(target["Input"])
        elif "InputTransformer" in target:
            transformer = target["InputTransformer"]
            payload = EventTemplateParser.parse(
                transformer.get("InputTemplate"), transformer.get("InputPathsMap", {}), cast(Any, sent)
            )
        body = payload if isinstance(payload, str) else json.dumps(payload)
        self._submit(target["Arn"], body.encode())

    def schedules(self) -> dict[str, str]:
        """Return rule name and expression of every schedule."""
        return {rule.name: str(rule.scheduled_expression) for rule in self._scheduled()}

    def fire(self, rule: str) -> None:
        """Run a schedule now. ``rule`` is its name or a part of it. Raise KeyError when none fits."""
        found = [item for item in self._scheduled() if rule.lower().replace("_", "") in item.name.lower()]
        if not found:
            raise KeyError(rule)
        for item in found:
            self._fire(item)

    def start_schedules(self) -> None:
        """Run the schedules by the clock from now on, first after one period (``rate(...)`` only)."""
        for rule in self._scheduled():
            found = _RATE.fullmatch(str(rule.scheduled_expression))
            if found:
                period = int(found.group(1)) * _SECONDS[found.group(2)]
                threading.Thread(target=self._repeat, args=(rule, period), name=rule.name, daemon=True).start()

    def close(self) -> None:
        """Stop the schedules."""
        self._stop.set()

    def _scheduled(self) -> list[Rule]:
        buses = list(self._backend.event_buses.values())
        return [rule for bus in buses for rule in bus.rules.values() if rule.scheduled_expression]

    def _repeat(self, rule: Rule, period: float) -> None:
        while not self._stop.wait(period):
            if rule.state == "ENABLED":
                self._fire(rule)

    def _fire(self, rule: Rule) -> None:
        event = self._event("aws.events", "Scheduled Event", {}, [rule.arn])
        for target in rule.targets:
            self.invoke_target(target, event)

    def _event(self, source: str, detail_type: str, detail: Mapping[str, Any], resources: list[str]) -> dict[str, Any]:
        return {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": detail_type,
            "source": source,
            "account": self._account,
            "time": time.time(),
            "region": self._region,
            "resources": resources,
            "detail": detail,
        }


def _milliseconds(value: dt.datetime | None) -> int | None:
    return None if value is None else int(value.timestamp() * 1000)


def _iso(value: Any) -> Any:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(value)) if isinstance(value, int | float) else value
