"""One local cloud as its neighbours see it: the forge, webhooks, the AWS API and the levers of the local cloud."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from tests.e2e.deadlines import eventually
from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient

#: Nothing listens there: what is sent is lost, as when Tidegate's API is down.
_NOWHERE = "http://127.0.0.1:9/"
#: Nobody talks to this machine's own services through a proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook as the forge recorded it."""

    number: int
    guid: str
    event: str
    payload: Mapping[str, Any]


@dataclass
class Installation:
    """Tidegate, installed on a local cloud."""

    cloud: LocalCloud
    maintainer: ForgeClient = field(init=False)

    def __post_init__(self) -> None:
        self.maintainer = self.person("maintainer")

    def person(self, name: str) -> ForgeClient:
        """Return somebody at the forge; ``maintainer`` and ``reviewer`` may write, ``visitor`` may not."""
        return ForgeClient(self.cloud.info["forge_url"], name)

    def post(self, body: bytes, *, event: str = "push", guid: str | None = None, **headers: str | None) -> Any:
        """Post a webhook, signed unless ``signature`` says otherwise; return status and answer."""
        signed = "sha256=" + hmac.new(self.cloud.info["webhook_secret"].encode(), body, hashlib.sha256).hexdigest()
        every = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid or str(uuid.uuid4()),
            "X-Hub-Signature-256": signed,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        given = {name: value for name, value in every.items() if value is not None}
        request = urllib.request.Request(self.cloud.info["webhook_url"], data=body, headers=given)
        try:
            with _OPENER.open(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def deliver(self, delivery: Delivery, *, guid: str | None = None) -> Any:
        """Post a recorded webhook, under its own or another delivery id; return status and answer."""
        body = json.dumps(delivery.payload).encode()
        return self.post(body, event=delivery.event, guid=guid or delivery.guid)

    @contextmanager
    def webhooks_lost(self) -> Iterator[None]:
        """Let the forge reach nobody meanwhile; it records what it could not deliver."""
        self.maintainer.point_webhook_at(_NOWHERE, "nobody's")
        yield
        self.maintainer.point_webhook_at(self.cloud.info["webhook_url"], self.cloud.info["webhook_secret"])

    def sent(self, event: str, repository: str, **wanted: Any) -> Delivery:
        """Return the newest recorded webhook of this kind with these fields, once it was sent."""
        return eventually(lambda: self._find(event, repository, wanted), what=f"{event} of {repository} {wanted}")

    def _find(self, event: str, repository: str, wanted: Mapping[str, Any]) -> Delivery | None:
        for item in self._app("GET", "/app/hook/deliveries?per_page=100"):
            if item["event"] == event and item["status"] != "pending":
                whole = self._app("GET", f"/app/hook/deliveries/{item['id']}")
                payload = whole["request"]["payload"]
                if payload["repository"]["full_name"] == repository and wanted.items() <= payload.items():
                    return Delivery(item["id"], item["guid"], event, payload)
        return None

    def send_again(self, delivery: Delivery) -> None:
        """Click *Redeliver* on a recorded webhook, as the App's owner may."""
        self._app("POST", f"/app/hook/deliveries/{delivery.number}/attempts")

    def _app(self, method: str, path: str) -> Any:
        secret = self.cloud.client("secretsmanager").get_secret_value(
            SecretId=f"{self.cloud.info['prefix']}/github-app"
        )
        app = json.loads(secret["SecretString"])
        now = int(time.time())
        claims = {"iss": app["app_id"], "iat": now - 60, "exp": now + 300}
        token = jwt.encode(claims, app["private_key"], algorithm="RS256")
        return ForgeClient(self.maintainer.url, "app", token).call(method, path)

    def reconcile(self) -> None:
        """Let the five minutes of the reconciler's schedule be over."""
        self.cloud.fire_schedule("Reconcile")

    def minutes_pass(self, begins: str) -> int:
        """Let deliveries that are stored and not queued be two minutes old, if their ids begin so. Return how many."""
        table = self.cloud.client("dynamodb")
        found = table.query(
            TableName=self.cloud.table,
            IndexName="open",
            KeyConditionExpression="#open = :open",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":open": {"S": "delivery"}},
        )["Items"]
        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in found]
        meant = [key for key in keys if key["pk"]["S"].startswith(f"delivery#{begins}")]
        then = {"S": (datetime.now(UTC) - timedelta(minutes=2)).isoformat(timespec="microseconds")}
        for key in meant:
            table.update_item(
                TableName=self.cloud.table,
                Key=key,
                UpdateExpression="SET open_since = :then",
                ExpressionAttributeValues={":then": then},
            )
        return len(meant)

    def object(self, bucket: str, key: str) -> bytes | None:
        """Return an object's content, or None when there is no such object."""
        s3 = self.cloud.client("s3")
        try:
            content: bytes = s3.get_object(Bucket=self.cloud.info[bucket], Key=key)["Body"].read()
        except s3.exceptions.NoSuchKey:
            return None
        return content

    def log_of(self, job: str) -> str:
        """Return the whole log of a job once it is stored: the runner stores it beside its answer, not before."""
        found = eventually(lambda: self.object("artifact_bucket", f"logs/{job}.txt"), what=f"the whole log of {job}")
        return found.decode()

    def audited(self, deployment: str) -> list[str]:
        """Return the states that the audit topic heard of a deployment, oldest first."""
        return [message["state"] for message in self.cloud.audit() if message["deployment"] == deployment]

    def log_lines(self, job: str) -> list[str]:
        """Return what CloudWatch has of the runners that were started for a job."""
        group = next(name for key, name in self.cloud.info["log_groups"].items() if "Runner" in key)
        found = []
        for task in self._tasks(job):
            stream = task["taskArn"].rpartition("/")[2]
            pages = self.cloud.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
            events = [event for page in pages for event in page["events"] if stream in event["logStreamName"]]
            found += [event["message"] for event in events]
        return found

    def runners(self, job: str, status: str = "RUNNING") -> list[str]:
        """Return the tasks that were started for a job and are in this status."""
        return [task["taskArn"] for task in self._tasks(job) if task["lastStatus"] == status]

    def _tasks(self, job: str) -> list[Mapping[str, Any]]:
        return [task for task in self.cloud.read("tasks") if job_of(task) == job]

    def executions(self, machine: str, part_of_name: str) -> list[Mapping[str, Any]]:
        """Return the executions of a machine with this in their names."""
        pages = self.cloud.client("stepfunctions").get_paginator("list_executions")
        arn = self.cloud.info["state_machines"][machine]
        every = [item for page in pages.paginate(stateMachineArn=arn) for item in page["executions"]]
        return [item for item in every if part_of_name in item["name"]]

    def states(self, deployment: str) -> list[str]:
        """Return the states that a deployment's Terraform execution has entered, in order."""
        arn = self.executions("terraform", deployment)[0]["executionArn"]
        pages = self.cloud.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=arn)
        events = [event for page in pages for event in page["events"]]
        return [event["stateEnteredEventDetails"]["name"] for event in events if "stateEnteredEventDetails" in event]

    def story(self) -> str:
        """Return how the newest executions stand and what functions complained of, for a test that failed."""
        told = []
        for machine, arn in self.cloud.info["state_machines"].items():
            for item in self.cloud.client("stepfunctions").list_executions(stateMachineArn=arn)["executions"][:2]:
                told += [f"{machine} {item['name']} {item['status']}", *self._last_events(item["executionArn"])]
        for group in self.cloud.info["log_groups"].values():
            events = self.cloud.client("logs").filter_log_events(logGroupName=group)["events"]
            lines = [event["message"] for event in events]
            told += [_ends(line) for line in lines if any(each in line for each in _COMPLAINTS)][-2:]
        return "\n".join(told)

    def _last_events(self, execution: str) -> list[str]:
        events = self.cloud.client("stepfunctions").get_execution_history(executionArn=execution)["events"]
        return [json.dumps(event, default=str)[:400] for event in events[-3:]]


#: What functions, or whatever runs them, complain with.
_COMPLAINTS = ("ERROR", "imed out", "exited with", '"postponed"')


def _ends(line: str) -> str:
    """Return the start of a line, and its end: a traceback says what happened last."""
    return line if len(line) <= 1000 else f"{line[:200]} … {line[-800:]}"


def job_of(task: Mapping[str, Any]) -> str | None:
    """Return the job that a task was started for, from the environment that its start gave it."""
    overrides = task["overrides"].get("containerOverrides", [])
    environment = {entry["name"]: entry["value"] for override in overrides for entry in override["environment"]}
    return environment.get("TIDEGATE_JOB")
