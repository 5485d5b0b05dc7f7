"""The local cloud: all parts, in the process that supervises it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from moto.ecs.models import ecs_backends
from moto.events.models import events_backends
from moto.scheduler.models import scheduler_backends

from tidegate_local import mirror
from tidegate_local.aws import for_operators, own_services
from tidegate_local.aws.clients import Clients
from tidegate_local.aws.credentials import Credentials
from tidegate_local.aws.faults import Faults
from tidegate_local.aws.gateway import Gateway
from tidegate_local.aws.iam import Policies
from tidegate_local.aws.permissions import Needs
from tidegate_local.control import Control
from tidegate_local.httpd import HttpServer
from tidegate_local.installation import Installation
from tidegate_local.latency import LATENCY
from tidegate_local.moto import shims
from tidegate_local.moto.application import MotoApplication
from tidegate_local.moto.hub import HUB
from tidegate_local.options import ACCOUNT, Options
from tidegate_local.processes.lambdas import Lambdas
from tidegate_local.processes.lambdas import Surroundings as LambdaSurroundings
from tidegate_local.processes.logs import Logs
from tidegate_local.processes.process_supervisor import ProcessSupervisor
from tidegate_local.processes.tasks import Surroundings as TaskSurroundings
from tidegate_local.processes.tasks import Tasks
from tidegate_local.services import alarms
from tidegate_local.services.async_invokes import FAILED_CALL, AsyncInvokes
from tidegate_local.services.events import Events
from tidegate_local.services.queues import Poller
from tidegate_local.services.schedules import Schedules


class Cloud:
    """One local cloud. moto's state is global to the process, so a process has at most one."""

    def __init__(self, options: Options, begins: Callable[[str], None] = lambda _step: None) -> None:
        self.options, self.begins = options, begins
        self.work = options.data or Path(tempfile.mkdtemp(prefix="tidegate-"))
        self.work.mkdir(parents=True, exist_ok=True)
        region, project = options.region, options.project
        shims.install()
        LATENCY.follow(options.latency, options.latency_scale)
        packages = (project / "layers" / "core" / "python",)
        self.process_supervisor = ProcessSupervisor()
        self.credentials, self.faults = Credentials(), Faults()
        self.policies, self.logs = Policies(ACCOUNT), Logs(ACCOUNT, region)
        self.gateway = Gateway(MotoApplication(), self.credentials, self.policies, Needs(ACCOUNT), self.faults)
        self.aws = HttpServer(self.gateway, options.aws_port)
        self.clients = Clients(self.aws.url, region, self.credentials)
        engine = {**mirror.environment(self.work, os.environ), **_passed_on(os.environ), **options.environment}
        where = LambdaSurroundings(self.aws.url, region, packages, self.work, (project, *packages), engine)
        self.lambdas = Lambdas(where, self.process_supervisor, self.credentials, self.policies, self.logs)
        self.later = AsyncInvokes(self.lambdas, self._give_up)
        self.events = Events(events_backends[ACCOUNT][region], ACCOUNT, region, self._invoke_target)
        self.schedules = Schedules(scheduler_backends[ACCOUNT][region], region, self.clients.get)
        around = TaskSurroundings(self.aws.url, ACCOUNT, region, project, packages, self.work, engine, options.runner)
        backend = ecs_backends[ACCOUNT][region]
        self.tasks = Tasks(
            around=around,
            backend=backend,
            process_supervisor=self.process_supervisor,
            credentials=self.credentials,
            policies=self.policies,
            logs=self.logs,
            emit=self.events.emit,
        )
        self.pollers: dict[str, list[Poller]] = {}
        self.permissions: set[tuple[str, str]] = set()
        self.protected: set[str] = set()
        self.installations = [Installation(self, prefix) for prefix in (options.prefix, *options.beside)]

    def start(self) -> None:
        """Answer the AWS API, and install."""
        self.gateway.function_of = self.lambdas.function_of
        self.gateway.event_of = self.lambdas.event_of
        self.gateway.kill = self._kill
        self.gateway.control = Control(self)
        own_services.connect(self.gateway, self.lambdas, self.later, self.tasks)
        for_operators.connect(self.gateway, self.protected)
        alarms.connect(self.gateway, self.options.region, self._deliver)
        HUB.client, HUB.log = self.clients.get, self.logs.write
        HUB.execution_changed = self.events.execution_changed
        HUB.invoke_target, HUB.message_arrived = self.events.invoke_target, self._wake
        self.aws.start()
        for installation in self.installations:
            installation.start()
        self.begins("starting schedules and functions")
        if self.options.clock:
            self.events.start_schedules()
        if self.options.warm:
            threading.Thread(target=self.lambdas.warm, name="warm", daemon=True).start()

    def close(self) -> None:
        """Stop everything. No process is left behind."""
        self.events.close()
        self.later.close()
        for poller in (poller for pollers in self.pollers.values() for poller in pollers):
            poller.close()
        for installation in self.installations:
            installation.close()
        self.process_supervisor.close()
        self.aws.stop()
        if self.options.data is None:
            shutil.rmtree(self.work, ignore_errors=True)

    def may(self, service: str, function: str) -> bool:
        """Tell whether an AWS service may invoke a function."""
        return (service, function) in self.permissions

    def info(self) -> dict[str, Any]:
        """Return what a script needs to drive this local cloud from outside: the first installation, and the others."""
        first, *others = [installation.info() for installation in self.installations]
        waits = {"latency": self.options.latency} if self.options.latency else {}
        beside = {"beside": {other["prefix"]: other for other in others}} if others else {}
        return {**first, **waits, **beside}

    def _invoke_target(self, arn: str, event: bytes) -> None:
        if ":sns:" in arn:
            self._deliver(arn, event.decode())
            return
        function = self.lambdas.find(arn).name
        if self.may("events", function):
            self.later.submit(function, event)

    def _kill(self, process: str) -> None:
        self.lambdas.kill_instance(process)
        self.tasks.kill(process)

    def _wake(self, queue: str) -> None:
        for poller in self.pollers.get(queue, ()):
            poller.wake()

    def _give_up(self, role: str, arn: str, body: str) -> None:
        """Send a failed event on; to a bus in the role of the function, as Lambda does, for its conditions count."""
        if ":event-bus/" not in arn:
            self._deliver(arn, body)
            return
        client = self.clients.get(role, self.options.region, "events")
        entry = {"Source": "lambda", "DetailType": FAILED_CALL, "Detail": body, "EventBusName": arn}
        client.put_events(Entries=[entry])

    def _deliver(self, arn: str, body: str) -> None:
        if ":lambda:" in arn:
            self.later.submit(arn, body.encode())
        elif ":sqs:" in arn:
            name = arn.rpartition(":")[2]
            sqs = self.clients.operator("sqs")
            sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], MessageBody=body)
        else:
            self.clients.operator("sns").publish(TopicArn=arn, Message=body)


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what programs need of this machine: how to reach the internet, if at all."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
    return {name: environment[name] for name in names if name in environment}
