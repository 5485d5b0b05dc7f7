"""Runs ECS tasks as processes: RunTask, StopTask and DescribeTasks, and the event when one stops.

The container's program is the one of its image: here the entry point ``python -m runner``, or the
task definition's own command. Its environment, role, log group and stop time-out come from the
task definition and the overrides.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moto.ecs.models import EC2ContainerServiceBackend, TaskDefinition
from moto.secretsmanager.models import secretsmanager_backends

from tidegate_local.aws.credentials import Credentials
from tidegate_local.aws.iam import Policies
from tidegate_local.caches import compiled
from tidegate_local.latency import LATENCY
from tidegate_local.processes.logs import Logs, follow
from tidegate_local.processes.process_supervisor import Process, ProcessSupervisor

_DEFAULT_STOP_TIMEOUT = 30
_MODULE = ("python", "python3")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all tasks share: where AWS is, the region, their program's directory and extra environment."""

    aws_endpoint: str
    account: str
    region: str
    program: Path
    python_path: tuple[Path, ...]
    work: Path
    environment: Mapping[str, str]
    entry_point: tuple[str, ...] = ("python", "-m", "runner")


@dataclass(slots=True)
class Task:
    """A task, in the words of the ECS API."""

    arn: str
    cluster: str
    definition: TaskDefinition
    overrides: Mapping[str, Any]
    started_by: str
    group: str
    directory: Path
    process: Process | None = None
    status: str = "PENDING"
    stop_code: str | None = None
    stopped_reason: str | None = None
    exit_code: int | None = None
    created_at: float = field(default_factory=time.time)
    stopped_at: float | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def id(self) -> str:
        return self.arn.rpartition("/")[2]

    @property
    def container(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.definition.container_definitions[0]
        return found

    def describe(self) -> dict[str, Any]:
        """Return the task as DescribeTasks gives it (times: epoch seconds)."""
        container = {
            "containerArn": self.arn.replace(":task/", ":container/") + "/1",
            "taskArn": self.arn,
            "name": self.container["name"],
            "image": self.container.get("image", ""),
            "lastStatus": self.status,
            "networkInterfaces": [],
        }
        described = {
            "taskArn": self.arn,
            "clusterArn": self.cluster,
            "taskDefinitionArn": self.definition.arn,
            "overrides": self.overrides,
            "lastStatus": self.status,
            "desiredStatus": "STOPPED" if self.stop_code or self.stopping.is_set() else "RUNNING",
            "cpu": str(self.definition.cpu or ""),
            "memory": str(self.definition.memory or ""),
            "containers": [container],
            "startedBy": self.started_by,
            "launchType": "FARGATE",
            "group": self.group or f"family:{self.definition.family}",
            "createdAt": self.created_at,
            "attachments": [],
            "tags": [],
        }
        if self.exit_code is not None:
            container["exitCode"] = self.exit_code
        ending = {"stopCode": self.stop_code, "stoppedReason": self.stopped_reason, "stoppedAt": self.stopped_at}
        return {**described, **{name: value for name, value in ending.items() if value is not None}}


class Tasks:
    """All tasks of the stack's clusters. ``emit`` receives the detail of each state change event."""

    def __init__(
        self,
        *,
        around: Surroundings,
        backend: EC2ContainerServiceBackend,
        process_supervisor: ProcessSupervisor,
        credentials: Credentials,
        policies: Policies,
        logs: Logs,
        emit: Callable[[str, str, Mapping[str, Any], list[str]], None],
    ) -> None:
        self._around, self._backend, self._warden = around, backend, process_supervisor
        self._credentials, self._policies, self._logs, self._emit = credentials, policies, logs, emit
        self._tasks: dict[str, Task] = {}

    def all(self) -> list[Task]:
        """Return every task of this local cloud, oldest first."""
        return list(self._tasks.values())

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start a task as RunTask does; the answer is RunTask's."""
        definition = self._backend.describe_task_definition(str(request["taskDefinition"]))
        name = str(request.get("cluster", "default")).rpartition("/")[2]
        cluster = self._arn(f"cluster/{name}")
        task = Task(
            arn=self._arn(f"task/{name}/{uuid.uuid4().hex}"),
            cluster=cluster,
            definition=definition,
            overrides=request.get("overrides", {}),
            started_by=str(request.get("startedBy", "")),
            group=str(request.get("group", "")),
            directory=Path(tempfile.mkdtemp(prefix="task-", dir=self._around.work)),
        )
        self._tasks[task.arn] = task
        LATENCY.later("runner_fargate", task.id, lambda: self._start(task))
        return {"tasks": [task.describe()], "failures": []}

    def describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer DescribeTasks."""
        found = {wanted: self._find(str(wanted)) for wanted in request.get("tasks", [])}
        return {
            "tasks": [task.describe() for task in found.values() if task],
            "failures": [{"arn": wanted, "reason": "MISSING"} for wanted, task in found.items() if not task],
        }

    def listed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ListTasks."""
        wanted = request.get("desiredStatus", "RUNNING")
        return {"taskArns": [task.arn for task in self.all() if task.describe()["desiredStatus"] == wanted]}

    def stop(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop a task as StopTask does: SIGTERM, and SIGKILL after the container's stop time-out."""
        task = self._find(str(request["task"]))
        if task is None:
            raise KeyError(request["task"])
        if not task.stopping.is_set() and task.status != "STOPPED":
            task.stop_code = "UserInitiated"
            task.stopped_reason = str(request.get("reason") or "Task stopped by user")
            self._terminate(task)
        return {"task": task.describe()}

    def interrupt(self, task: str) -> None:
        """End a task as Fargate Spot does: SIGTERM, then SIGKILL, with Spot's stop code."""
        found = self._find(task)
        if found is not None:
            found.stop_code, found.stopped_reason = "SpotInterruption", "Your Spot Task was interrupted."
            self._terminate(found)

    def kill(self, task: str) -> None:
        """Kill a task's container without warning, as when it runs out of memory."""
        found = self._find(task)
        if found is not None and found.process is not None:
            found.process.signal(signal.SIGKILL)

    def _find(self, wanted: str) -> Task | None:
        return next((task for task in self._tasks.values() if wanted in (task.arn, task.id)), None)

    def _arn(self, resource: str) -> str:
        return f"arn:aws:ecs:{self._around.region}:{self._around.account}:{resource}"

    def _terminate(self, task: Task) -> None:
        task.stopping.set()
        if task.process is None:
            return
        task.process.signal(signal.SIGTERM)
        stop_timeout = float(task.container.get("stopTimeout") or _DEFAULT_STOP_TIMEOUT)
        process = task.process

        def finish() -> None:
            if process.wait(stop_timeout) is None:
                process.signal(signal.SIGKILL)

        threading.Thread(target=finish, name="stop-task", daemon=True).start()

    def _start(self, task: Task) -> None:
        if task.stopping.is_set():
            threading.Thread(target=self._stopped, args=(task,), daemon=True).start()
            return
        try:
            task.process = self._warden.start(
                f"task-{task.id}", self._argv(task), self._environment(task), task.directory
            )
        except OSError as error:
            task.stop_code, task.stopped_reason = "TaskFailedToStart", f"CannotStartContainerError: {error}"
            threading.Thread(target=self._stopped, args=(task,), daemon=True).start()
            return
        task.status = "RUNNING"
        pump = follow(task.process.output, self._log_writer(task), task.id)
        threading.Thread(target=self._watch, args=(task, pump), name=f"task-{task.id}", daemon=True).start()

    def _override(self, task: Task) -> Mapping[str, Any]:
        every: Sequence[Mapping[str, Any]] = task.overrides.get("containerOverrides", [])
        return next((item for item in every if item.get("name") == task.container["name"]), {})

    def _argv(self, task: Task) -> list[str]:
        entry = list(task.container.get("entryPoint") or self._around.entry_point)
        command = list(self._override(task).get("command") or task.container.get("command") or [])
        argv = [*entry, *command]
        return [sys.executable if Path(argv[0]).name in _MODULE else argv[0], *argv[1:]]

    def _environment(self, task: Task) -> dict[str, str]:
        path = os.pathsep.join(str(item) for item in (self._around.program, *self._around.python_path))
        own = {item["name"]: item["value"] for item in task.container.get("environment", [])}
        extra = {item["name"]: item["value"] for item in self._override(task).get("environment", [])}
        keys = self._credentials.make(str(task.definition.task_role_arn), task.id).environment
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(task.directory),
            "TMPDIR": str(task.directory),
            "LANG": "C.UTF-8",
            "PYTHONPATH": path,
            **compiled(),
            "PYTHONUNBUFFERED": "1",
            "AWS_REGION": self._around.region,
            "AWS_DEFAULT_REGION": self._around.region,
            "AWS_ENDPOINT_URL": self._around.aws_endpoint,
            "AWS_ENDPOINT_URL_S3": self._around.aws_endpoint,
            "AWS_ENDPOINT_URL_STS": self._around.aws_endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_EXECUTION_ENV": "AWS_ECS_FARGATE",
            "ECS_CONTAINER_METADATA_URI_V4": f"{self._around.aws_endpoint}/_tidegate/metadata/{task.id}",
            **self._around.environment,
            **keys,
            **own,
            **self._secrets(task),
            **extra,
        }

    def _secrets(self, task: Task) -> dict[str, str]:
        """Return the variables that ECS reads from Secrets Manager under the execution role. Raise OSError."""
        return {each["name"]: self._secret(task, str(each["valueFrom"])) for each in task.container.get("secrets", [])}

    def _secret(self, task: Task, place: str) -> str:
        """Read ``ARN``, or ``ARN:FIELD::`` for a field of JSON. The ARN may lack what Secrets Manager ends it with."""
        arn, field = place.split(":")[:7], [*place.split(":")[7:], ""][0]
        stored = secretsmanager_backends[self._around.account][self._around.region]
        found = next(
            (each for each in stored.secrets.values() if each.name == arn[6] or each.arn == ":".join(arn)), None
        )
        role = str(task.definition.execution_role_arn)
        if found is None or not self._policies.allows(role, "secretsmanager:GetSecretValue", found.arn):
            raise OSError(f"ResourceInitializationError: unable to retrieve secret {arn[6]}")
        text = str(stored.get_secret_value(found.name, "", "")["SecretString"])
        return str(json.loads(text)[field]) if field else text

    def _log_writer(self, task: Task) -> Callable[[list[str]], None]:
        options = task.container.get("logConfiguration", {}).get("options", {})
        group = options.get("awslogs-group")
        stream = f"{options.get('awslogs-stream-prefix', 'ecs')}/{task.container['name']}/{task.id}"
        role = str(task.definition.execution_role_arn)
        arn = f"arn:aws:logs:{self._around.region}:{self._around.account}:log-group:{group}:log-stream:{stream}"
        allowed = all(self._policies.allows(role, f"logs:{verb}", arn) for verb in ("CreateLogStream", "PutLogEvents"))

        def write(lines: list[str]) -> None:
            if group and allowed:
                self._logs.write(group, stream, lines)

        return write

    def _watch(self, task: Task, pump: threading.Thread) -> None:
        if task.process is None:
            return
        code = task.process.wait()
        pump.join(5)
        task.exit_code = 128 - code if code is not None and code < 0 else code
        if task.stop_code is None:
            task.stop_code = "EssentialContainerExited"
            task.stopped_reason = "Essential container in task exited"
        self._stopped(task)

    def _stopped(self, task: Task) -> None:
        task.status, task.stopped_at = "STOPPED", time.time()
        shutil.rmtree(task.directory, ignore_errors=True)
        self._emit("aws.ecs", "ECS Task State Change", _event_detail(task.describe()), [task.arn])


def _event_detail(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event's detail: as described, with times in ISO 8601."""
    times = {
        name: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(value)) + f".{int(value * 1000) % 1000:03d}Z"
        for name, value in described.items()
        if name.endswith("At")
    }
    return {**described, **times, "version": 3}
