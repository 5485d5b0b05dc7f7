"""Publish the result of a drift detection run to the event bus.

An event has the source ``tidegate``, the detail type ``Drift`` and this detail, where ``roots`` are those that drifted,
whose plans failed, or that were not checked, the first hundred of them::

    {"version": 1, "repository": …, "schedule": …, "revision": …, "branch": …, "at": …,
     "drifted": 1, "failed": 0, "skipped": 0, "none": 12, "notice": …,
     "roots": [{"root": …, "stack": …, "state": "drifted", "drifted_since": …, "reason": …, "deployment": …,
                "changes": {"add": 0, "change": 1, …} or null}]}

The event bus serves other systems: if it accepts no event, the loss is logged and the run continues.
"""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools import Logger

from tidegate.aws.boto import cloud_errors
from tidegate.config.rules.drift import DriftFinding, DriftRecord, DriftState
from tidegate.rules.errors import CloudUnavailable
from tidegate.rules.timestamp import timestamp_text

SOURCE, DETAIL_TYPE, EVENT_VERSION = "tidegate", "Drift", 1
#: An event takes 256 KB; a root takes 1 KB at most.
_MOST_ROOTS = 100

logger = Logger(service="tidegate", child=True)


class AwsDriftEvents:
    """The port ``DriftEvents``."""

    def __init__(self, events: Any, bus: str) -> None:
        self._events, self._bus = events, bus

    def looked_for(self, record: DriftRecord) -> None:
        detail = json.dumps(_detail(record))
        entry = {"EventBusName": self._bus, "Source": SOURCE, "DetailType": DETAIL_TYPE, "Detail": detail}
        try:
            with cloud_errors("EventBridge"):
                answer = self._events.put_events(Entries=[entry])
            lost = str(answer["Entries"][0].get("ErrorCode")) if answer.get("FailedEntryCount") else ""
        except CloudUnavailable as error:
            lost = str(error)
        if lost:
            logger.warning("EventBridge rejected an event", extra={"schedule": record.id, "refusal": lost})


def _detail(record: DriftRecord) -> dict[str, Any]:
    told = record.of(DriftState.FAILED, DriftState.DRIFTED, DriftState.SKIPPED)
    return {
        "version": EVENT_VERSION,
        "repository": record.repository,
        "schedule": record.entry.name,
        "revision": record.sha,
        "branch": record.branch,
        "at": timestamp_text(record.ended_at) if record.ended_at else "",
        **{state.value: len(record.of(state)) for state in DriftState},
        "notice": record.notice[:1000],
        "roots": [_root(each) for each in told[:_MOST_ROOTS]],
    }


def _root(finding: DriftFinding) -> dict[str, Any]:
    changes = finding.changes
    return {
        "root": finding.root,
        "stack": finding.stack,
        "state": finding.state.value,
        "drifted_since": timestamp_text(finding.drifted_since) if finding.drifted_since else None,
        "reason": finding.reason,
        "deployment": finding.deployment or None,
        "changes": changes.counts if changes else None,
    }
