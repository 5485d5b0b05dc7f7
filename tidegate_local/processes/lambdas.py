"""Run Lambda functions as processes with AWS's own runtime client, one event at a time each.

An instance is started when no warm one is idle (a cold start) and kept. Time limits, crashes and
errors are reported as Lambda reports them, and everything printed goes to CloudWatch Logs.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidegate_local.aws.credentials import Credentials
from tidegate_local.aws.iam import Policies
from tidegate_local.caches import compiled
from tidegate_local.latency import LATENCY
from tidegate_local.processes.logs import Logs, follow
from tidegate_local.processes.process_supervisor import Process, ProcessSupervisor
from tidegate_local.processes.runtime_api import Invocation, RuntimeApi
from tidegate_local.processes.tenants import TenantCalls

_INIT_SECONDS = 10.0
"""Lambda gives a function 10 s to initialise."""
_END_SECONDS = 10.0
#: A function's ARN, a part of it, or its name, each with or without a version or alias, as Invoke takes them.
_NAME = re.compile(r"(arn:[\w-]+:lambda:[\w-]+:)?(\d{12}:)?(function:)?(?P<name>[\w-]+)(:(?P<version>[\w$-]+))?")
_DIED = b"the process ended without an answer"
REQUEST_LIMIT = 6 * 1024 * 1024
ANSWER_LIMIT = 6_291_556


@dataclass(frozen=True, slots=True)
class Function:
    """What the template says about a function. ``timeout`` in seconds, ``memory`` in MB.

    ``entry_point`` is the program of an image that has a runtime client of its own; ``per_tenant`` tells that no
    instance serves two tenants.
    """

    name: str
    arn: str
    role: str
    handler: str
    code: Path
    environment: Mapping[str, str]
    timeout: float
    memory: int
    log_group: str
    image: bool = False
    entry_point: tuple[str, ...] = ()
    per_tenant: bool = False
    version: str = "1"

    @property
    def key(self) -> str:
        """What tells the versions of all functions apart."""
        return f"{self.name}:{self.version}"


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to an invocation. ``error`` is Lambda's X-Amz-Function-Error: None, Handled or Unhandled."""

    payload: bytes
    error: str | None = None
    request: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all instances share: where AWS is, the region, and the Python path of the package.

    ``programs`` is the Python path of images with an entry point of their own, ``environment`` what these need besides.
    """

    aws_endpoint: str
    region: str
    python_path: tuple[Path, ...]
    work: Path
    programs: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Instance:
    """One process of a function."""

    def __init__(
        self,
        function: Function,
        around: Surroundings,
        process_supervisor: ProcessSupervisor,
        keys: Mapping[str, str],
        identifier: str,
    ) -> None:
        self.id = identifier
        self.function = function
        self.api = RuntimeApi()
        self.stream = f"{time.strftime('%Y/%m/%d')}/[$LATEST]{identifier.replace('-', '')}"
        temporary = tempfile.mkdtemp(prefix=f"{function.name[:40]}-", dir=around.work)
        self.started = time.monotonic()
        environment = {**self._environment(around, temporary), **keys, **function.environment}
        self.process: Process = self._started(around, process_supervisor, environment, temporary)
        self._current: Invocation | None = None
        threading.Thread(target=self._watch, name=f"watch-{function.name}", daemon=True).start()

    def _started(
        self,
        around: Surroundings,
        process_supervisor: ProcessSupervisor,
        environment: Mapping[str, str],
        temporary: str,
    ) -> Process:
        """Start the runtime client, or the image's own program: its /tmp is a directory that nobody else has."""
        function, mark = self.function, f"lambda-{self.id}"
        if not function.entry_point:
            client = [sys.executable, "-m", "awslambdaric", function.handler]
            return process_supervisor.start(mark, client, environment, function.code)
        own = {"HOME": temporary, "TMPDIR": temporary, "PYTHONPATH": os.pathsep.join(map(str, around.programs))}
        endpoints = {f"AWS_ENDPOINT_URL_{service}": around.aws_endpoint for service in ("S3", "STS")}
        program = [sys.executable, *function.entry_point[1:]]
        return process_supervisor.start(
            mark, program, {**endpoints, **around.environment, **environment, **own}, Path(temporary)
        )

    def _environment(self, around: Surroundings, temporary: str) -> dict[str, str]:
        path = os.pathsep.join(str(item) for item in (self.function.code, *around.python_path))
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": temporary,
            "TMPDIR": temporary,
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "PYTHONPATH": path,
            **compiled(),
            "PYTHONUNBUFFERED": "1",
            "LAMBDA_TASK_ROOT": str(self.function.code),
            "LAMBDA_RUNTIME_DIR": str(self.function.code),
            "_HANDLER": self.function.handler,
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.11",
            "AWS_LAMBDA_RUNTIME_API": self.api.address,
            "AWS_LAMBDA_FUNCTION_NAME": self.function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.function.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": self.function.log_group,
            "AWS_LAMBDA_LOG_STREAM_NAME": self.stream,
            "AWS_REGION": around.region,
            "AWS_DEFAULT_REGION": around.region,
            "AWS_ENDPOINT_URL": around.aws_endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_XRAY_SDK_ENABLED": "false",
        }

    @property
    def event(self) -> bytes:
        """The event that the process has got last."""
        return self._current.event if self._current else b""

    def give(self, invocation: Invocation) -> None:
        """Hand an event to the process. If it ends before it answers, the answer says so."""
        self._current = invocation
        self.api.ready.clear()
        self.api.events.put(invocation)
        if self.process.ended.is_set():
            invocation.answer(_DIED, failed=True)

    def _watch(self) -> None:
        self.process.wait()
        if self._current is not None:
            self._current.answer(_DIED, failed=True)

    def kill(self) -> None:
        """End the process at once."""
        self.process.signal(signal.SIGKILL)

    def peak_memory(self) -> int:
        """Return the most memory that the process had, in MB (0 where the system does not tell)."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(found[0].split()[1]) // 1024 if found else 0


@dataclass(slots=True)
class _Pool:
    idle: list[Instance] = field(default_factory=list)
    all: dict[str, Instance] = field(default_factory=dict)


class Lambdas:
    """All functions of the stack."""

    def __init__(
        self,
        around: Surroundings,
        process_supervisor: ProcessSupervisor,
        credentials: Credentials,
        policies: Policies,
        logs: Logs,
    ) -> None:
        self._around, self._warden, self._credentials = around, process_supervisor, credentials
        self._policies, self._logs = policies, logs
        self._functions: dict[str, Function] = {}
        self._versions: dict[str, Function] = {}
        self._pools: dict[str, _Pool] = {}
        self._lock = threading.Lock()
        self.tenants = TenantCalls()

    def add(self, function: Function) -> None:
        """Make a function known: it is its newest version, and those before stay."""
        known = self._functions.get(function.name)
        if known == function:
            return
        if known is not None and known.key == function.key:  # It has no versions of its own: nobody calls the old one.
            self.kill(function.name)
        self._functions[function.name] = self._versions[function.key] = function
        self._pools[function.key] = _Pool()

    def functions(self) -> Mapping[str, Function]:
        """Return the functions by name."""
        return self._functions

    def find(self, name_or_arn: str) -> Function:
        """Return the function with this name or ARN, in the version that it names. Raise KeyError."""
        found = _NAME.fullmatch(name_or_arn)
        if found is None:
            raise KeyError(name_or_arn)
        if found["version"] in {None, "$LATEST"}:
            return self._functions[found["name"]]
        return self._versions[f"{found['name']}:{found['version']}"]

    def function_of(self, process: str) -> str:
        """Return the name of the function whose instance has this id, or an empty string."""
        return next((key.partition(":")[0] for key, pool in self._pools.items() if process in pool.all), "")

    def event_of(self, process: str) -> str:
        """Return the event that the instance with this id works on, as JSON, or an empty string."""
        instance = next((pool.all[process] for pool in self._pools.values() if process in pool.all), None)
        return json.dumps(json.loads(instance.event or b"null")) if instance else ""

    def kill(self, name: str) -> None:
        """Kill every instance of a function. None of them gets another event, and they have ended when this returns."""
        pool = self._pools[self._functions[name].key]
        with self._lock:
            idle, pool.idle = pool.idle, []
            instances = list(pool.all.values())
        _kill_all(instances)
        for instance in idle:
            instance.api.close()
            with self._lock:
                pool.all.pop(instance.id, None)

    def kill_instance(self, identifier: str) -> None:
        """Kill one instance. It has ended when this returns: what it called cannot answer it any more."""
        _kill_all([pool.all[identifier] for pool in self._pools.values() if identifier in pool.all])

    def warm(self, names: list[str] | None = None) -> None:
        """Have an idle instance of each of these functions (default: all)."""
        for name in names or list(self._functions):
            if not self._pools[self._functions[name].key].all:
                instance = self._start(self._functions[name])
                instance.api.ready.wait(_INIT_SECONDS)
                self._release(instance)

    def invoke(self, name_or_arn: str, event: bytes) -> Result:
        """Run the function and return its answer. Raise KeyError when there is no such function."""
        function = self.find(name_or_arn)
        instance, cold = self._acquire(function)
        if not function.per_tenant:
            return self._invoke(function, instance, event, cold=cold)
        call = self.tenants.begin(function.name, event)
        result = self._invoke(function, instance, event, cold=cold)
        call.end(result.error)
        # Each job is a tenant, which does not come again: what is kept for it would only be in the way.
        self._drop(instance)
        return result

    def _invoke(self, function: Function, instance: Instance, event: bytes, *, cold: bool) -> Result:
        invocation = Invocation(str(uuid.uuid4()), event, function.arn, function.timeout)
        if cold:
            LATENCY.wait(_kind(function), function.name)
        if cold and (failure := self._initialised(instance, invocation)) is not None:
            return self._end(instance, failure)
        self._log(instance, [f"START RequestId: {invocation.id} Version: $LATEST"])
        begun = time.monotonic()
        instance.give(invocation)
        failure = self._await(instance, invocation, begun + function.timeout)
        self._report(instance, invocation, time.monotonic() - begun)
        return self._end(instance, failure) if failure else self._settle(instance, invocation)

    def _settle(self, instance: Instance, invocation: Invocation) -> Result:
        peak = instance.peak_memory()
        if peak > instance.function.memory:
            return self._end(
                instance, _failure(invocation, "Runtime.OutOfMemory", "Runtime exited with error: signal: killed")
            )
        # Back in the pool before the caller goes on, so that the next event finds it warm.
        if instance.function.per_tenant:
            pass  # It is dropped.
        elif instance.api.ready.wait(5):
            self._release(instance)
        else:
            instance.kill()
        if len(invocation.payload) > ANSWER_LIMIT:
            return _too_large(len(invocation.payload))
        return Result(invocation.payload, "Unhandled" if invocation.failed else None, invocation.id)

    def _initialised(self, instance: Instance, invocation: Invocation) -> Result | None:
        deadline = time.monotonic() + max(_INIT_SECONDS, instance.function.timeout)
        while not instance.api.ready.wait(0.05):
            if instance.process.ended.is_set():
                return _exit_failure(invocation, instance.process.returncode)
            if time.monotonic() > deadline:
                return _failure(invocation, "Sandbox.Timedout", "Init timed out")
        return Result(instance.api.init_error, "Unhandled") if instance.api.init_error else None

    def _await(self, instance: Instance, invocation: Invocation, deadline: float) -> Result | None:
        if not invocation.answered.wait(max(0.0, deadline - time.monotonic())):
            seconds = instance.function.timeout
            return _failure(invocation, "Sandbox.Timedout", f"Task timed out after {seconds:.2f} seconds")
        return _exit_failure(invocation, instance.process.returncode) if invocation.payload is _DIED else None

    def _end(self, instance: Instance, failure: Result) -> Result:
        self._log(instance, [failure.payload.decode("utf-8", "replace")])
        self._drop(instance)
        return failure

    def _drop(self, instance: Instance) -> None:
        instance.kill()
        instance.api.close()
        pool = self._pools[instance.function.key]
        with self._lock:
            pool.all.pop(instance.id, None)
            pool.idle = [each for each in pool.idle if each is not instance]

    def _acquire(self, function: Function) -> tuple[Instance, bool]:
        pool = self._pools[function.key]
        while True:
            with self._lock:
                instance = pool.idle.pop() if pool.idle else None
            if instance is None:
                return self._start(function), True
            if not instance.process.ended.is_set():
                return instance, False
            with self._lock:
                pool.all.pop(instance.id, None)

    def _release(self, instance: Instance) -> None:
        with self._lock:
            self._pools[instance.function.key].idle.append(instance)

    def _start(self, function: Function) -> Instance:
        identifier = str(uuid.uuid4())
        keys = self._credentials.make(function.role, identifier).environment
        instance = Instance(function, self._around, self._warden, keys, identifier)
        with self._lock:
            self._pools[function.key].all[identifier] = instance
        follow(instance.process.output, lambda lines: self._log(instance, lines), function.name)
        return instance

    def _log(self, instance: Instance, lines: list[str]) -> None:
        """Write for the function, if its role may: without the permission Lambda drops the lines, too."""
        function = instance.function
        arn = f"arn:aws:logs:{self._around.region}:{function.arn.split(':')[4]}:log-group:{function.log_group}"
        stream = f"{arn}:log-stream:{instance.stream}"
        if all(
            self._policies.allows(function.role, f"logs:{verb}", stream) for verb in ("CreateLogStream", "PutLogEvents")
        ):
            self._logs.write(function.log_group, instance.stream, lines)

    def _report(self, instance: Instance, invocation: Invocation, seconds: float) -> None:
        limit, peak = instance.function.memory, instance.peak_memory()
        text = f"Duration: {seconds * 1000:.2f} ms\tMemory Size: {limit} MB\tMax Memory Used: {peak} MB"
        self._log(instance, [f"END RequestId: {invocation.id}", f"REPORT RequestId: {invocation.id}\t{text}"])


def _kind(function: Function) -> str:
    """Return what the model of latencies calls the start of an instance."""
    if function.entry_point:
        return "runner_lambda"
    return "lambda_image" if function.image else "lambda_zip"


def _kill_all(instances: list[Instance]) -> None:
    """Kill instances, and wait until they have ended."""
    for instance in instances:
        instance.kill()
    for instance in instances:
        instance.process.wait(_END_SECONDS)


def _failure(invocation: Invocation, kind: str, text: str) -> Result:
    message = f"RequestId: {invocation.id} Error: {text}"
    return Result(json.dumps({"errorType": kind, "errorMessage": message}).encode(), "Unhandled", invocation.id)


def _too_large(size: int) -> Result:
    text = f"Response payload size ({size} bytes) exceeded maximum allowed payload size ({ANSWER_LIMIT} bytes)."
    failure = {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": text}
    return Result(json.dumps(failure).encode(), "Unhandled")


def _exit_failure(invocation: Invocation, code: int | None) -> Result:
    how = (
        f"signal: {'killed' if code == -signal.SIGKILL else -code}"
        if code is not None and code < 0
        else f"exit status {code}"
    )
    return _failure(invocation, "Runtime.ExitError", f"Runtime exited with error: {how}")
