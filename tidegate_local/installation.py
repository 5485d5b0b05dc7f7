"""One installation in the local cloud: its stack, its secrets, its HTTP API and its VCS provider."""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moto.sqs.models import sqs_backends

from tidegate_local import pages
from tidegate_local.forge.server import Forge
from tidegate_local.gitlab.server import GitLab
from tidegate_local.httpd import HttpServer
from tidegate_local.moto.hub import HUB
from tidegate_local.options import ACCOUNT, Options
from tidegate_local.services.alarms import make_alarms
from tidegate_local.services.async_invokes import DeadLetters
from tidegate_local.services.http_api import HttpApi, Route
from tidegate_local.services.queues import Mapped, Poller
from tidegate_local.stack import deploy, synth, template
from tidegate_local.stack.versions import Versions

if TYPE_CHECKING:
    from tidegate_local.cloud import Cloud

_CONTEXT = {
    "plan_policies": ["ReadOnlyAccess"],
    "apply_policies": ["AdministratorAccess"],
    "pull_request_policies": ["ReadOnlyAccess"],
}
"""The engine's permissions in this account."""


class Installation:
    """The parts of one prefix. The rest is the cloud's, which several installations share."""

    def __init__(self, cloud: Cloud, prefix: str) -> None:
        options, first = cloud.options, prefix == cloud.options.prefix
        self._cloud, self._clients, self._lambdas = cloud, cloud.clients, cloud.lambdas
        self.options, self.prefix = options, prefix
        self.webhook_secret = f"{prefix}-local-webhook-secret"
        self.state_bucket = f"{prefix}-local-terraform-state"
        self._audit_queue = f"{prefix}-local-audit.fifo"
        self._application = HttpApi(self._lambdas.invoke, ACCOUNT, lambda name: cloud.may("apigateway", name))
        self.api = HttpServer(self._application, options.api_port if first else 0)
        home = cloud.work if first else cloud.work / prefix
        self.forge = _forge(options, home, options.forge_port if first else 0) if options.forge else None
        self.webhook_path = "/"
        self.deployed: deploy.Deployed | None = None
        self._versions = Versions()

    def start(self) -> None:
        """Synthesize and deploy the app, and let events flow; or leave that to who asks for it later."""
        if self.options.installs:
            self._make_secrets()
            self.install({})
            self._clients.operator("s3").create_bucket(Bucket=self.state_bucket)
        self.api.start()
        if self.forge is not None:
            if self.options.installs:
                self.forge.point_webhook_at(self.webhook_url, self.webhook_secret)
            self.forge.start()

    def close(self) -> None:
        """End the forge and the HTTP API."""
        if self.forge is not None:
            self.forge.stop()
        self.api.stop()

    @property
    def stack(self) -> str:
        """The name of the stack, as the template's settings derive it from the prefix."""
        return self.prefix.capitalize()

    @property
    def webhook_url(self) -> str:
        """Where the forge posts its webhooks."""
        return self.api.url + self.webhook_path

    def install(self, context: Mapping[str, Any]) -> None:
        """Deploy the app with this context besides the usual one; a second time, over what is there.

        A second one changes what the first one made. Queues, routes and rules that it adds are not played.
        """
        options = self.options
        given = {"prefix": self.prefix, "state_bucket": self.state_bucket}
        usual = {**_CONTEXT, **given, **({"forge": "gitlab"} if options.gitlab else {}), **options.context}
        self._cloud.begins("synthesizing the CDK app (about 20 s after a change of it)")
        directory = options.assembly or synth.synthesize(options.project, {**usual, **context})
        assembly = deploy.Assembly.read(directory, self.stack)
        environment = {**self._forge_environment(), **pages.links(self._cloud.aws.url)}
        self._versions.publish(assembly.template["Resources"])
        addresses = template.Addresses(self.api.url, environment, self.prefix, self._versions.numbers)
        adapted = template.adapt(assembly.template, addresses, ACCOUNT, options.region, options.limits)
        is_first = self.deployed is None
        self._cloud.begins("deploying the template to the stand-in for AWS")
        self.deployed = deploy.deploy(self._clients.operator("cloudformation"), adapted, ACCOUNT, self.stack)
        newest = self._versions.newest
        for function in deploy.functions(
            assembly, self.deployed, options.project, ACCOUNT, options.region, versions=newest
        ):
            self._lambdas.add(function)
        self._log_executions(assembly.template, self.deployed)
        if is_first:
            self._connect(self.deployed, assembly.template)

    def _connect(self, deployed: deploy.Deployed, original: Mapping[str, Any]) -> None:
        for name, _ in deployed.played("AWS::Lambda::Permission"):
            function = self._lambdas.find(deployed.value(name, "FunctionName")).name
            self._cloud.permissions.add((deployed.value(name, "Principal").partition(".")[0], function))
        self._connect_routes(deployed)
        self._connect_queues(deployed)
        for name, _ in deployed.played("AWS::Lambda::EventInvokeConfig"):
            target = deployed.value(name, "DestinationConfig.OnFailure.Destination")
            function = self._lambdas.find(deployed.value(name, "FunctionName")).name
            if target:
                self._cloud.later.send_failures(function, DeadLetters(target, wrapped=True))
            if retries := deployed.value(name, "MaximumRetryAttempts"):
                self._cloud.later.retry(function, int(retries))
        for name, _ in deployed.played("AWS::Scheduler::ScheduleGroup"):
            self._clients.operator("scheduler").create_schedule_group(Name=deployed.value(name, "Name"))
        sns = self._clients.operator("sns")
        for name, _ in deployed.played("AWS::SNS::Subscription"):
            sns.subscribe(**{key: deployed.value(name, key) for key in ("TopicArn", "Protocol", "Endpoint")})
        self._subscribe_audit(deployed)
        make_alarms(self._clients.operator("cloudwatch"), deployed, original)
        self._cloud.protected.add(self.stack)

    def _connect_routes(self, deployed: deploy.Deployed) -> None:
        integrations = {
            name: deployed.value(name, "IntegrationUri")
            for name, _ in deployed.played("AWS::ApiGatewayV2::Integration")
        }
        for _, properties in deployed.played("AWS::ApiGatewayV2::Route"):
            text = json.dumps(properties["Target"])
            uri = next(uri for logical, uri in integrations.items() if f'"{logical}"' in text)
            arn = uri[uri.index("arn:aws:lambda") :].removesuffix("/invocations") if "/invocations" in uri else uri
            function = self._lambdas.find(arn).name
            key = str(properties["RouteKey"])
            self._application.add(Route(key, function))
            if "webhook" in key.lower():
                self.webhook_path = key.partition(" ")[2]

    def _connect_queues(self, deployed: deploy.Deployed) -> None:
        queues = {str(queue.queue_arn): queue for queue in sqs_backends[ACCOUNT][self.options.region].queues.values()}
        for name, properties in deployed.played("AWS::Lambda::EventSourceMapping"):
            function = self._lambdas.find(deployed.value(name, "FunctionName"))
            mapped = Mapped(
                queue=queues[deployed.value(name, "EventSourceArn")],
                function=function,
                batch_size=int(properties.get("BatchSize", 10)),
                partial_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", []),
            )
            client = self._clients.get(function.role, self.options.region, "sqs")
            poller = Poller(mapped, client, self._lambdas.invoke, self.options.region)
            self._cloud.pollers.setdefault(poller.queue_name, []).append(poller)
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
        secrets = self._clients.operator("secretsmanager")
        webhook = {"secrets": [self.webhook_secret]}
        secrets.create_secret(Name=f"{self.prefix}/webhook-secret", SecretString=json.dumps(webhook))
        if self.forge is not None:
            name, given = _secret_of(self.forge)
            client = {"client_id": self.forge.settings.client_id, "client_secret": self.forge.settings.client_secret}
            secrets.create_secret(Name=f"{self.prefix}/{name}", SecretString=json.dumps({**given, **client}))

    def _forge_environment(self) -> dict[str, str]:
        if self.forge is None:
            return {}
        return {"TIDEGATE_FORGE_URL": self.forge.url, "TIDEGATE_FORGE_API_URL": self.forge.api_url}

    def _subscribe_audit(self, deployed: deploy.Deployed) -> None:
        topic = self.audit_topic(deployed)
        if topic:
            fifo = {"FifoQueue": "true"}
            url = self._clients.operator("sqs").create_queue(QueueName=self._audit_queue, Attributes=fifo)["QueueUrl"]
            arn = f"arn:aws:sqs:{self.options.region}:{ACCOUNT}:{url.rpartition('/')[2]}"
            attributes = {"RawMessageDelivery": "true"}
            sns = self._clients.operator("sns")
            sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)

    def audit_messages(self) -> list[Any]:
        """Return all messages that were published to the audit topic, oldest first."""
        queue = sqs_backends[ACCOUNT][self.options.region].queues.get(self._audit_queue)
        return [json.loads(message.body) for message in list(queue._messages)] if queue else []  # noqa: SLF001 - to read them without receiving them.

    @staticmethod
    def audit_topic(deployed: deploy.Deployed) -> str:
        """Return the ARN of the audit topic."""
        topics = deployed.of_type("AWS::SNS::Topic")
        return next((arn for name, arn in topics.items() if "audit" in name.lower()), "")

    def left_out(self) -> dict[str, str]:
        """Return what of the template is not deployed: logical id and type."""
        return dict(self.deployed.adapted.left_out) if self.deployed else {}

    def info(self) -> dict[str, Any]:
        """Return what a script needs to drive this local cloud from outside."""
        if self.deployed is None:
            return self._surroundings()
        named = self.deployed.of_type
        buckets, machines = named("AWS::S3::Bucket"), named("AWS::StepFunctions::StateMachine")
        queues = named("AWS::SQS::Queue")
        return {
            **self._surroundings(),
            "webhook_url": self.webhook_url,
            "webhook_secret": self.webhook_secret,
            "table": next(iter(named("AWS::DynamoDB::Table").values()), ""),
            "artifact_bucket": next((bucket for name, bucket in buckets.items() if "artifact" in name.lower()), ""),
            "state_machines": {_machine(name): arn for name, arn in machines.items()},
            "audit_topic": self.audit_topic(self.deployed),
            "event_bus": self._event_bus(),
            "queues": {name: self._cloud.aws.url + urllib.parse.urlsplit(url).path for name, url in queues.items()},
            "functions": {
                name.removeprefix(f"{self.prefix}-").replace("-", "_"): name
                for name in named("AWS::Lambda::Function").values()
            },
            "log_groups": dict(named("AWS::Logs::LogGroup")),
            "state_bucket": self.state_bucket,
        }

    def _surroundings(self) -> dict[str, Any]:
        return {
            "prefix": self.prefix,
            "stack": self.stack,
            "forge_url": self.forge.url if self.forge else "",
            "forge_api_url": self.forge.api_url if self.forge else "",
            "api_url": self.api.url,
            "aws_endpoint_url": self._cloud.aws.url,
            "region": self.options.region,
            "account": ACCOUNT,
            "pid": os.getpid(),
        }

    def app(self) -> dict[str, str]:
        """Return what the owner of the forge's App has, in the form of its secret."""
        return _secret_of(self.forge)[1] if self.forge else {}

    def _event_bus(self) -> str:
        resources = self.deployed.adapted.template["Resources"] if self.deployed else {}
        buses = [item for item in resources.values() if item["Type"] == "AWS::Events::EventBus"]
        return str(buses[0]["Properties"]["Name"]) if buses else ""


def _forge(options: Options, work: Path, port: int) -> Forge | GitLab:
    return GitLab(work / "gitlab", port=port) if options.gitlab else Forge(work / "forge", port=port)


def _secret_of(forge: Forge | GitLab) -> tuple[str, dict[str, str]]:
    """Return what follows the prefix in the name of the secret for a forge, and what it needs to know."""
    if isinstance(forge, GitLab):
        return "gitlab", {"token": forge.bot_token, "clone_token": forge.clone_token}
    return "github-app", {"app_id": str(forge.settings.app_id), "private_key": forge.app_private_key}


def _machine(logical: str) -> str:
    machines = (
        "deploy",
        "terraform",
        "pull_request",
        "drift",
        "config_update",
        "promotion",
        "cluster_task",
        "cluster_error",
    )
    return next((known for known in machines if logical.lower().startswith(known.replace("_", ""))), logical)
