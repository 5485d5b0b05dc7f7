"""The local cloud: everything put together, in the process that supervises it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moto.ecs.models import ecs_backends
from moto.events.models import events_backends
from moto.scheduler.models import scheduler_backends
from moto.sqs.models import sqs_backends

from local import mirror, pages
from local.aws import own_services
from local.aws.clients import Clients
from local.aws.credentials import Credentials
from local.aws.faults import Faults
from local.aws.gateway import Gateway
from local.aws.iam import Policies
from local.aws.permissions import Needs
from local.control import Control
from local.forge.server import Forge
from local.gitlab.server import GitLab
from local.httpd import HttpServer
from local.moto import shims
from local.moto.application import MotoApplication
from local.moto.hub import HUB
from local.options import ACCOUNT, Options
from local.processes.lambdas import IMPORTED, Lambdas, modules
from local.processes.lambdas import Surroundings as LambdaSurroundings
from local.processes.logs import Logs
from local.processes.tasks import Surroundings as TaskSurroundings
from local.processes.tasks import Tasks
from local.processes.warden import Warden
from local.services.async_invokes import AsyncInvokes, DeadLetters
from local.services.events import Events
from local.services.http_api import HttpApi, Route
from local.services.queues import Mapped, Poller
from local.services.schedules import Schedules
from local.stack import deploy, synth, template

_STATE_BUCKET = "tidegate-local-terraform-state"
_AUDIT_QUEUE = "tidegate-local-audit.fifo"
_CONTEXT = {
    "state_bucket": _STATE_BUCKET,
    "plan_policies": ["ReadOnlyAccess"],
    "apply_policies": ["AdministratorAccess"],
    "pull_request_policies": ["ReadOnlyAccess"],
}
"""The local installation: where roots keep their states, and what the engine may do in this account."""
WEBHOOK_SECRET = "local-webhook-secret"


class Cloud:
    """One local cloud. moto's state is global to the process, so a process has at most one."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.work = options.data or Path(tempfile.mkdtemp(prefix="tidegate-"))
        self.work.mkdir(parents=True, exist_ok=True)
        region, project = options.region, options.project
        shims.install()
        packages = (project / "layers" / "core" / "python",)
        self.warden = Warden((*IMPORTED, *modules(packages[0])) if options.preload else IMPORTED)
        self.credentials, self.faults = Credentials(), Faults()
        self.policies, self.logs = Policies(ACCOUNT), Logs(ACCOUNT, region)
        self.gateway = Gateway(MotoApplication(), self.credentials, self.policies, Needs(ACCOUNT), self.faults)
        self.aws = HttpServer(self.gateway, options.aws_port)
        self.clients = Clients(self.aws.url, region, self.credentials, self.gateway)
        where = LambdaSurroundings(self.aws.url, region, packages, self.work)
        self.lambdas = Lambdas(where, self.warden, self.credentials, self.policies, self.logs)
        self.later = AsyncInvokes(self.lambdas, self._deliver)
        self.events = Events(events_backends[ACCOUNT][region], ACCOUNT, region, self._invoke_target)
        self.schedules = Schedules(scheduler_backends[ACCOUNT][region], region, self.clients.get)
        engine = {**mirror.environment(self.work, os.environ), **_passed_on(os.environ), **options.environment}
        around = TaskSurroundings(self.aws.url, ACCOUNT, region, project, packages, self.work, engine, options.runner)
        backend = ecs_backends[ACCOUNT][region]
        self.tasks = Tasks(
            around=around,
            backend=backend,
            warden=self.warden,
            credentials=self.credentials,
            policies=self.policies,
            logs=self.logs,
            emit=self.events.emit,
        )
        self.api_application = HttpApi(self.lambdas.invoke, ACCOUNT, lambda name: self._may("apigateway", name))
        self.api = HttpServer(self.api_application, options.api_port)
        self.forge = _forge(options, self.work) if options.forge else None
        self.pollers: dict[str, list[Poller]] = {}
        self.webhook_path = "/"
        self._permissions: set[tuple[str, str]] = set()
        self.deployed: deploy.Deployed | None = None

    def start(self) -> None:
        """Synthesize and deploy the app, and let events flow."""
        self.gateway.function_of = self.lambdas.function_of
        self.gateway.kill = self._kill
        self.gateway.control = Control(self)
        own_services.connect(self.gateway, self.lambdas, self.later, self.tasks)
        HUB.client, HUB.log = self.clients.get, self.logs.write
        HUB.execution_changed = self.events.execution_changed
        HUB.invoke_target, HUB.message_arrived = self.events.invoke_target, self._wake
        self.aws.start()
        self._make_secrets()
        self._deploy()
        self.clients.operator("s3").create_bucket(Bucket=_STATE_BUCKET)
        self.api.start()
        if self.forge is not None:
            self.forge.point_webhook_at(self.webhook_url, WEBHOOK_SECRET)
            self.forge.start()
        if self.options.clock:
            self.events.start_schedules()
        if self.options.warm:
            threading.Thread(target=self.lambdas.warm, name="warm", daemon=True).start()

    def close(self) -> None:
        """End everything. No process is left behind."""
        self.events.close()
        self.later.close()
        for poller in (poller for pollers in self.pollers.values() for poller in pollers):
            poller.close()
        if self.forge is not None:
            self.forge.stop()
        self.warden.close()
        self.api.stop()
        self.aws.stop()
        if self.options.data is None:
            shutil.rmtree(self.work, ignore_errors=True)

    @property
    def webhook_url(self) -> str:
        """Where the forge posts its webhooks."""
        return self.api.url + self.webhook_path

    def _deploy(self) -> None:
        options = self.options
        context = {**_CONTEXT, **({"forge": "gitlab"} if options.gitlab else {}), **options.context}
        directory = options.assembly or synth.synthesize(options.project, context)
        assembly = deploy.Assembly.read(directory)
        addresses = template.Addresses(self.api.url, {**self._forge_environment(), **pages.links(self.aws.url)})
        adapted = template.adapt(assembly.template, addresses, ACCOUNT, options.region, options.limits)
        self.deployed = deploy.deploy(self.clients.operator("cloudformation"), adapted, ACCOUNT)
        for function in deploy.functions(assembly, self.deployed, options.project, ACCOUNT, options.region):
            self.lambdas.add(function)
        self._log_executions(assembly.template, self.deployed)
        self._connect(self.deployed)

    def _connect(self, deployed: deploy.Deployed) -> None:
        for name, _ in deployed.played("AWS::Lambda::Permission"):
            function = self.lambdas.find(deployed.value(name, "FunctionName")).name
            self._permissions.add((deployed.value(name, "Principal").partition(".")[0], function))
        self._connect_routes(deployed)
        self._connect_queues(deployed)
        for name, _ in deployed.played("AWS::Lambda::EventInvokeConfig"):
            target = deployed.value(name, "DestinationConfig.OnFailure.Destination")
            if target:
                function = self.lambdas.find(deployed.value(name, "FunctionName")).name
                self.later.send_failures(function, DeadLetters(target, wrapped=True))
        for name, _ in deployed.played("AWS::Scheduler::ScheduleGroup"):
            self.clients.operator("scheduler").create_schedule_group(Name=deployed.value(name, "Name"))
        sns = self.clients.operator("sns")
        for name, _ in deployed.played("AWS::SNS::Subscription"):
            sns.subscribe(**{key: deployed.value(name, key) for key in ("TopicArn", "Protocol", "Endpoint")})
        self._subscribe_audit(deployed)

    def _connect_routes(self, deployed: deploy.Deployed) -> None:
        integrations = {
            name: deployed.value(name, "IntegrationUri")
            for name, _ in deployed.played("AWS::ApiGatewayV2::Integration")
        }
        for _, properties in deployed.played("AWS::ApiGatewayV2::Route"):
            text = json.dumps(properties["Target"])
            uri = next(uri for logical, uri in integrations.items() if f'"{logical}"' in text)
            arn = uri[uri.index("arn:aws:lambda") :].removesuffix("/invocations") if "/invocations" in uri else uri
            function = self.lambdas.find(arn).name
            key = str(properties["RouteKey"])
            self.api_application.add(Route(key, function))
            if "webhook" in key.lower():
                self.webhook_path = key.partition(" ")[2]

    def _connect_queues(self, deployed: deploy.Deployed) -> None:
        queues = {str(queue.queue_arn): queue for queue in sqs_backends[ACCOUNT][self.options.region].queues.values()}
        for name, properties in deployed.played("AWS::Lambda::EventSourceMapping"):
            function = self.lambdas.find(deployed.value(name, "FunctionName"))
            mapped = Mapped(
                queue=queues[deployed.value(name, "EventSourceArn")],
                function=function,
                batch_size=int(properties.get("BatchSize", 10)),
                partial_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", []),
            )
            client = self.clients.get(function.role, self.options.region, "sqs")
            poller = Poller(mapped, client, self.lambdas.invoke, self.options.region)
            self.pollers.setdefault(poller.queue_name, []).append(poller)
            poller.start()

    def _log_executions(self, original: Mapping[str, Any], deployed: deploy.Deployed) -> None:
        names = deployed.of_type("AWS::StepFunctions::StateMachine")
        for logical, arn in names.items():
            logging = original["Resources"][logical]["Properties"].get("LoggingConfiguration", {})
            destinations = json.dumps(logging.get("Destinations", []))
            group = next(
                (physical for name, physical in deployed.physical.items() if f'"{name}"' in destinations), None
            )
            if group and logging.get("Level", "OFF") != "OFF":
                included = bool(logging.get("IncludeExecutionData", False))
                HUB.state_machine_logging[arn.rpartition(":")[2]] = (group, logging["Level"], included)

    def _make_secrets(self) -> None:
        secrets = self.clients.operator("secretsmanager")
        webhook = {"secrets": [WEBHOOK_SECRET]}
        secrets.create_secret(Name="tidegate/webhook-secret", SecretString=json.dumps(webhook))
        if self.forge is not None:
            name, given = _secret_of(self.forge)
            client = {"client_id": self.forge.settings.client_id, "client_secret": self.forge.settings.client_secret}
            secrets.create_secret(Name=name, SecretString=json.dumps({**given, **client}))

    def _forge_environment(self) -> dict[str, str]:
        if self.forge is None:
            return {}
        return {"TIDEGATE_FORGE_URL": self.forge.url, "TIDEGATE_FORGE_API_URL": self.forge.api_url}

    def _subscribe_audit(self, deployed: deploy.Deployed) -> None:
        topic = self.audit_topic(deployed)
        if topic:
            fifo = {"FifoQueue": "true"}
            url = self.clients.operator("sqs").create_queue(QueueName=_AUDIT_QUEUE, Attributes=fifo)["QueueUrl"]
            arn = f"arn:aws:sqs:{self.options.region}:{ACCOUNT}:{url.rpartition('/')[2]}"
            attributes = {"RawMessageDelivery": "true"}
            sns = self.clients.operator("sns")
            sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)

    def audit_messages(self) -> list[Any]:
        """Return all messages that were published to the audit topic, oldest first."""
        queue = sqs_backends[ACCOUNT][self.options.region].queues.get(_AUDIT_QUEUE)
        return [json.loads(message.body) for message in list(queue._messages)] if queue else []  # noqa: SLF001 - to read them without receiving them.

    @staticmethod
    def audit_topic(deployed: deploy.Deployed) -> str:
        """Return the ARN of the audit topic."""
        topics = deployed.of_type("AWS::SNS::Topic")
        return next((arn for name, arn in topics.items() if "audit" in name.lower()), "")

    def info(self) -> dict[str, Any]:
        """Return what a script needs to drive this local cloud from outside."""
        if self.deployed is None:
            return {}
        named = self.deployed.of_type
        buckets, machines = named("AWS::S3::Bucket"), named("AWS::StepFunctions::StateMachine")
        queues = named("AWS::SQS::Queue")
        return {
            "forge_url": self.forge.url if self.forge else "",
            "forge_api_url": self.forge.api_url if self.forge else "",
            "webhook_url": self.webhook_url,
            "api_url": self.api.url,
            "aws_endpoint_url": self.aws.url,
            "region": self.options.region,
            "account": ACCOUNT,
            "webhook_secret": WEBHOOK_SECRET,
            "table": next(iter(named("AWS::DynamoDB::Table").values()), ""),
            "artifact_bucket": next((bucket for name, bucket in buckets.items() if "artifact" in name.lower()), ""),
            "state_machines": {_machine(name): arn for name, arn in machines.items()},
            "audit_topic": self.audit_topic(self.deployed),
            "event_bus": self._event_bus(),
            "queues": {name: self.aws.url + urllib.parse.urlsplit(url).path for name, url in queues.items()},
            "functions": {_function(name): name for name in self.lambdas.functions()},
            "log_groups": dict(named("AWS::Logs::LogGroup")),
            "state_bucket": _STATE_BUCKET,
            "pid": os.getpid(),
        }

    def _event_bus(self) -> str:
        resources = self.deployed.adapted.template["Resources"] if self.deployed else {}
        buses = [item for item in resources.values() if item["Type"] == "AWS::Events::EventBus"]
        return str(buses[0]["Properties"]["Name"]) if buses else ""

    def _may(self, service: str, function: str) -> bool:
        return (service, function) in self._permissions

    def _invoke_target(self, arn: str, event: bytes) -> None:
        if ":sns:" in arn:
            self._deliver(arn, event.decode())
            return
        function = self.lambdas.find(arn).name
        if self._may("events", function):
            self.later.submit(function, event)

    def _kill(self, process: str) -> None:
        self.lambdas.kill_instance(process)
        self.tasks.kill(process)

    def _wake(self, queue: str) -> None:
        for poller in self.pollers.get(queue, ()):
            poller.wake()

    def _deliver(self, arn: str, body: str) -> None:
        if ":sqs:" in arn:
            name = arn.rpartition(":")[2]
            sqs = self.clients.operator("sqs")
            sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], MessageBody=body)
        else:
            self.clients.operator("sns").publish(TopicArn=arn, Message=body)


def _forge(options: Options, work: Path) -> Forge | GitLab:
    if options.gitlab:
        return GitLab(work / "gitlab", port=options.forge_port)
    return Forge(work / "forge", port=options.forge_port)


def _secret_of(forge: Forge | GitLab) -> tuple[str, dict[str, str]]:
    """Return the name of the secret that Tidegate reads for a forge, and what it needs to know."""
    if isinstance(forge, GitLab):
        return "tidegate/gitlab", {"token": forge.bot_token, "clone_token": forge.clone_token}
    return "tidegate/github-app", {"app_id": str(forge.settings.app_id), "private_key": forge.app_private_key}


def _machine(logical: str) -> str:
    name, machines = logical.lower(), ("deploy", "terraform", "pull_request", "drift")
    return next((known for known in machines if name.startswith(known.replace("_", ""))), logical)


def _function(name: str) -> str:
    return name.removeprefix("tidegate-").replace("-", "_")


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what programs need of this machine: how to reach the internet, if at all."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
    return {name: environment[name] for name in names if name in environment}
