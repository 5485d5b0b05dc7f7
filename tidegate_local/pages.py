"""Pages that check runs link to, instead of the AWS console: a job's log, and an execution's history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from http import HTTPStatus
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.artifacts import S3Artifacts
from tidegate.deploys.adapters.jobs import DynamoJobLogs
from tidegate.deploys.rules.job import log_key
from tidegate.rules.errors import NotFound
from tidegate_local.aws.clients import Clients

_RUNNING = "RUNNING"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } .status { color: #59636e }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-top: 1px solid #d1d9e0 }
td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; color: #59636e }
td:last-child { color: #59636e } .failed td { color: #d1242f } pre { white-space: pre-wrap; margin: 0 }
"""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer for a browser."""

    content: str
    kind: str = "text/plain"
    status: HTTPStatus = HTTPStatus.OK

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Untrusted text stays text: nothing in it is run."""
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return [
            ("Content-Type", f"{self.kind}; charset=utf-8"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", policy),
        ]


def links(endpoint: str) -> dict[str, str]:
    """Return the variables of functions that say where executions are to be seen: there is no console here."""
    return {"TIDEGATE_EXECUTION_URL": f"{endpoint}/_tidegate/executions/{{deployment}}"}


def log_page(clients: Clients, table: str, bucket: str, job: str) -> Page:
    """Return a job's log: all of it once it has ended, until then as far as it has come."""
    try:
        content = S3Artifacts(clients.operator("s3"), bucket).get(log_key(job)).decode(errors="replace")
    except NotFound:
        chunks = DynamoJobLogs(clients.operator("dynamodb"), table).read(job, 0)
        content = "".join(f"{line}\n" for chunk in chunks for line in chunk.lines)
    if not content:
        return Page(f"The job {job} has no log (yet).\n", status=HTTPStatus.NOT_FOUND)
    return Page(content)


def execution_page(clients: Clients, machine: str, deployment: str) -> Page:
    """Return the history of a deployment's execution of the Terraform machine (an ARN)."""
    states = clients.operator("stepfunctions")
    arn = f"{machine.replace(':stateMachine:', ':execution:')}:{deployment}"
    try:
        execution = states.describe_execution(executionArn=arn)
    except ClientError:
        return Page(f"The deployment {deployment} has no execution (yet).\n", status=HTTPStatus.NOT_FOUND)
    comments = _comments(states.describe_state_machine(stateMachineArn=machine)["definition"])
    pages = states.get_paginator("get_execution_history").paginate(executionArn=arn)
    rows = [row for page in pages for event in page["events"] for row in _rows(event, comments)]
    refresh = '<meta http-equiv="refresh" content="5">' if execution["status"] == _RUNNING else ""
    content = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}<title>{escape(deployment)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(deployment)}</h1>"
        f'<p class="status">{escape(str(execution["status"]).lower())}</p>'
        f"<table><tr><th>Time (UTC)</th><th>State</th><th>Comment</th></tr>{''.join(rows)}</table></body></html>"
    )
    return Page(content, "text/html")


def _comments(definition: str) -> Mapping[str, str]:
    return {name: state.get("Comment", "") for name, state in json.loads(definition)["States"].items()}


def _rows(event: Mapping[str, Any], comments: Mapping[str, str]) -> Iterator[str]:
    """Yield a row for an event that a person wants to see: a state that was entered, something that failed."""
    at: datetime = event["timestamp"]
    kind = str(event["type"])
    details: Mapping[str, Any] = next((value for key, value in event.items() if key.endswith("EventDetails")), {})
    if kind.endswith("StateEntered"):
        name = str(details["name"])
        yield _row(at, name, escape(comments.get(name, "")))
    elif kind.endswith(("Failed", "TimedOut", "Aborted")):
        cause = f"<pre>{escape(str(details.get('cause') or ''))}</pre>"
        yield _row(at, str(details.get("error") or kind), cause, failed=True)


def _row(at: datetime, state: str, comment: str, *, failed: bool = False) -> str:
    """``comment`` is HTML."""
    mark = ' class="failed"' if failed else ""
    return (
        f"<tr{mark}><td>{at:%H:%M:%S}.{at.microsecond // 1000:03}</td><td>{escape(state)}</td><td>{comment}</td></tr>"
    )
