"""A local cloud as an object: what tests, the demo and ``tidegate local up`` use.

::

    with LocalCloud(limits={"terraform": {"Plan": {"HeartbeatSeconds": 2}}}) as cloud:
        cloud.client("stepfunctions").start_execution(...)
        cloud.add_fault(service="sns", action="Publish", error="ThrottlingException")
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
import httpx

from tidegate_local.caches import keeping_compiled
from tidegate_local.options import Options


class LocalCloudFailed(Exception):
    """The local cloud did not start, or does not answer."""


class LocalCloud:
    """Runs a local cloud in a separate process. Options are those of ``tidegate_local.options.Options``.

    It ends with ``stop()``, and also when this process ends in any way.
    """

    def __init__(self, options: Options | None = None, *, log: Path | None = None, **fields: Any) -> None:
        self._options = options or Options(**fields)
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.info: dict[str, Any] = {}

    def start(self, begins: Callable[[str], None] = lambda _step: None) -> Self:
        """Start it, and wait until it answers; ``begins`` gets each step, in words. Raise LocalCloudFailed."""
        path = os.pathsep.join(filter(None, (str(self._options.project), os.environ.get("PYTHONPATH"))))
        with contextlib.ExitStack() as stack:
            output: Any = stack.enter_context(self._log.open("w")) if self._log else None
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tidegate_local.serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env={**keeping_compiled(os.environ), "PYTHONPATH": path},
                start_new_session=True,
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise LocalCloudFailed("no pipes")
        stdin.write(self._options.model_dump_json() + "\n")
        stdin.flush()
        while "step" in (told := _told(stdout.readline())):
            begins(told["step"])
        self.info = told
        if "error" in self.info:
            self.stop()
            raise LocalCloudFailed(self.info.get("trace") or self.info["error"])
        return self

    def stop(self) -> None:
        """Stop it and all of its processes."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def wait(self) -> int:
        """Wait until the process ends by itself; return its exit code."""
        return self._process.wait() if self._process else 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __getattr__(self, name: str) -> Any:
        """Give the information's fields as attributes: ``cloud.webhook_url``, ``cloud.table`` …"""
        info = self.__dict__.get("info", {})
        if name in info:
            return info[name]
        raise AttributeError(name)

    def beside(self, prefix: str) -> LocalCloud:
        """Return the installation of another prefix (of the option ``beside``). It ends with this one."""
        other = LocalCloud(self._options)
        other.info = self.info["beside"][prefix]
        return other

    def client(self, service: str) -> Any:
        """Return an operator's boto3 client for a service."""
        return boto3.client(
            service,
            endpoint_url=self.info["aws_endpoint_url"],
            region_name=self.info["region"],
            aws_access_key_id="operator",
            aws_secret_access_key="operator",  # noqa: S106 - any key is an operator's.
        )

    def read(self, what: str) -> Any:
        """Return one of: info, app, calls, counts, faults, audit, tasks, tenants, schedules, permissions, left_out."""
        return self._control("GET", what)

    def add_fault(self, **fields: Any) -> str:
        """Inject a fault (fields: ``tidegate_local.aws.faults.Fault``); return its id."""
        return str(self._control("POST", "faults", fields)["id"])

    def remove_fault(self, fault: str) -> None:
        """Remove the fault with this id."""
        self._control("DELETE", f"faults/{fault}")

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._control("DELETE", "faults")

    def end_sessions_after(self, seconds: float | None) -> None:
        """Limit the lifetime of new role sessions; None for their own."""
        self._control("POST", "sessions", {"seconds": seconds})

    def deploy(self, context: Mapping[str, Any]) -> None:
        """Deploy the app with this context, as ``cdk deploy`` does: again, or over what is there."""
        self._control("POST", "deploy", {"context": dict(context)})
        self.info = self.read("info")

    def fire_schedule(self, name: str) -> None:
        """Run a schedule now whose name contains this: a rule, or else a schedule, also by its input."""
        self._control("POST", f"schedules/{name}")

    def kill_function(self, name: str) -> None:
        """Kill all instances of a function."""
        self._control("POST", f"functions/{name}/kill")

    def warm(self, *names: str) -> None:
        """Have a warm instance of each function (default: all) when this returns."""
        self._control("POST", "functions/warm", {"names": list(names) or None})

    def kill_task(self, task: str) -> None:
        """Kill a task's process (id or ARN) with SIGKILL."""
        self._control("POST", f"tasks/{task.rpartition('/')[2]}/kill")

    def interrupt_task(self, task: str) -> None:
        """End a task as Fargate Spot does: SIGTERM, SIGKILL after its stop time-out."""
        self._control("POST", f"tasks/{task.rpartition('/')[2]}/interrupt")

    def audit(self) -> list[Any]:
        """Return what was published to the audit topic, oldest first."""
        messages: list[Any] = self.read("audit")[self.info["prefix"]]
        return messages

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        return ask(self.info["aws_endpoint_url"], method, path, body)


def ask(aws_endpoint_url: str, method: str, path: str, body: Any = None) -> Any:
    """Call the control interface of a running local cloud. Raise LocalCloudFailed."""
    address = f"{aws_endpoint_url}/_tidegate/{path}"
    content = None if body is None and method == "GET" else json.dumps(body or {})
    try:
        answer = httpx.request(method, address, content=content, timeout=180, trust_env=False)
    except httpx.HTTPError as error:
        raise LocalCloudFailed(f"the local cloud does not answer: {error}") from error
    if not answer.is_success:
        raise LocalCloudFailed(answer.text)
    return answer.json()


def _told(line: str) -> dict[str, Any]:
    """Return what the process says in a line; no line means that it has ended."""
    told: dict[str, Any] = json.loads(line) if line else {"error": "it exited without output"}
    return told
