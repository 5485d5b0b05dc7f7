"""Explicit denials for all engines, whatever policies their roles get: access to the installation itself.

Terraform and its providers run a repository's code. A policy as wide as ``ReadOnlyAccess`` lets that code receive queue
messages (which hides them from their function), and read histories with task tokens and functions' environments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aws_cdk import Stack, Token
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_iam as iam
from constructs import Construct

from tidegate_cdk.settings import Settings

#: The resources of each service by the beginning of their names: the installation's prefix, or the stack's name if
#: CloudFormation names them. IAM's ``*`` matches any characters, including ``/`` and ``:``.
_NAMED: dict[str, tuple[str, ...]] = {
    "cloudformation": ("stack/{name}/*",),
    "cloudwatch": ("alarm:{name}-*",),
    "dynamodb": ("table/{name}-*",),
    "ecs": ("cluster/{name}", "*/{name}/*", "task-definition/{name}-*"),
    "events": ("event-bus/{name}", "rule/{name}*"),
    "lambda": ("function:{name}-*", "layer:{name}-*"),
    "logs": ("log-group:{name}-*", "log-group:/aws/vendedlogs/*/{name}*", "log-group:/aws/ecs/*/{name}/*"),
    "scheduler": ("schedule/{name}-*", "schedule-group/{name}-*"),
    "sns": ("{name}-*",),
    "sqs": ("{name}-*",),
    "states": ("*:{name}-*",),
}
_NAMED_WITHOUT_REGION: dict[str, tuple[str, ...]] = {
    "cloudwatch": ("dashboard/{name}",),
    "iam": ("role/{name}-*", "policy/{name}-*"),
}
#: The part of a stack's name in the names of roles and functions, which have at most 64 characters.
_TAKEN = 24
#: Read permissions that AWS cannot limit to a resource: others' requests in the account, and results of log queries.
_UNLIMITED_READS = ("cloudtrail:LookupEvents", "logs:GetQueryResults")


class EngineDenials(Construct):
    """One managed policy for the roles of all engines. A denial overrides all other permissions of these roles."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        roles: Iterable[iam.IRole],
        bucket_arn: str,
        api: apigateway.HttpApi,
        keys: Iterable[str],
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        own = [*_named(stack, settings), *_secrets(stack, settings), bucket_arn, f"{bucket_arn}/*", *keys]
        api_arn = stack.format_arn(service="apigateway", account="", resource="/apis", resource_name=api.api_id)
        iam.ManagedPolicy(
            self,
            "Policy",
            description=f"Denies every engine role access to {settings.prefix} itself",
            roles=list(roles),
            statements=[
                _deny("*", on=["*"], under={"StringEquals": {"aws:ResourceTag/tidegate": settings.prefix}}),
                _deny("*", on=[*own, api_arn, f"{api_arn}/*"]),
                # The CDK's roles and assets deploy the installation: its code, and its functions' permissions.
                _deny("*", on=[*_bootstrap(stack), *_of_step_functions(stack)]),
                _deny(*_UNLIMITED_READS, on=["*"]),
                *_domain(stack, settings),
                *_key(settings),
            ],
        )


def _domain(stack: Stack, settings: Settings) -> Iterator[iam.PolicyStatement]:
    """Yield denials for the installation's domain, which receives webhooks and sessions."""
    if name := settings.site.domain:
        arn = stack.format_arn(service="apigateway", account="", resource="/domainnames", resource_name=name)
        yield _deny("*", on=[arn, f"{arn}/*"])
        record = {"ForAnyValue:StringEquals": {"route53:ChangeResourceRecordSetsNormalizedRecordNames": [name]}}
        zone = stack.format_arn(service="route53", region="", account="", resource="hostedzone", resource_name="*")
        yield iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["route53:ChangeResourceRecordSets"],
            resources=[zone],
            conditions=record,
        )


def _key(settings: Settings) -> Iterator[iam.PolicyStatement]:
    """Yield denials that keep engines from managing the operators' key, without which nothing here can be read.

    States may be encrypted with it, too: engines may use it through S3. A key of the stack is identified by its tag.
    """
    if settings.site.key.startswith("arn:"):
        yield _deny("kms:*", on=[settings.site.key], under={"Null": {"kms:ViaService": "true"}})


def _deny(*actions: str, on: list[str], under: dict[str, dict[str, str]] | None = None) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=list(actions), resources=on, conditions=under)


def _named(stack: Stack, settings: Settings) -> Iterator[str]:
    for name in dict.fromkeys((settings.prefix, stack.stack_name)):
        for service, forms in _NAMED.items():
            for form in forms:
                yield f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}:{form.format(name=name)}"
        for service, forms in _NAMED_WITHOUT_REGION.items():
            for form in forms:
                yield f"arn:{stack.partition}:{service}::{stack.account}:{form.format(name=name)}"
    if not Token.is_unresolved(stack.stack_name) and len(stack.stack_name) > _TAKEN:
        begun = stack.stack_name[:_TAKEN]
        yield f"arn:{stack.partition}:iam::{stack.account}:role/{begun}-*"
        yield f"arn:{stack.partition}:lambda:{stack.region}:{stack.account}:function:{begun}-*"


def _secrets(stack: Stack, settings: Settings) -> Iterator[str]:
    """Yield them with and without their random ending: a secret that is to be created has none."""
    named = {settings.webhook_secret_name, settings.app_secret_name}
    named |= {each.secret for each in settings.destinations if each.secret}
    for name in sorted(named):
        arn = f"arn:{stack.partition}:secretsmanager:{stack.region}:{stack.account}:secret:{name}"
        yield from (arn, f"{arn}-??????")
    # Kubeconfigs: the runner gives a command that of its own cluster.
    yield f"arn:{stack.partition}:secretsmanager:{stack.region}:{stack.account}:secret:{settings.prefix}/clusters/*"


def _bootstrap(stack: Stack) -> Iterator[str]:
    name = f"cdk-{stack.synthesizer.bootstrap_qualifier or 'hnb659fds'}"
    yield f"arn:{stack.partition}:iam::{stack.account}:role/{name}-*"
    yield f"arn:{stack.partition}:ecr:{stack.region}:{stack.account}:repository/{name}-*"
    for what in (f"{name}-assets-*", f"{name}-assets-*/*"):
        yield f"arn:{stack.partition}:s3:::{what}"
    own = f"{stack.region}:{stack.account}"
    yield f"arn:{stack.partition}:ssm:{own}:parameter/cdk-bootstrap/*"
    yield f"arn:{stack.partition}:cloudformation:{own}:stack/CDKToolkit/*"


def _of_step_functions(stack: Stack) -> Iterator[str]:
    """Yield denials for the rule of the account and region by which a deploy learns of its execution's end."""
    yield f"arn:{stack.partition}:events:{stack.region}:{stack.account}:rule/StepFunctionsGetEventsForStepFunctions*"
