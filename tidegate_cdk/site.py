"""Site settings for all resources: a key, a permissions boundary, log retention."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from tidegate_cdk.keys import SiteKey
from tidegate_cdk.site_settings import SiteSettings


def apply_site_settings(scope: Construct, site: SiteSettings, *, prefix: str, webhook: lambda_.Function) -> None:
    """Apply the site settings to every resource of ``scope``, after all of them exist."""
    if site.boundary:
        iam.PermissionsBoundary.of(scope).apply(_policy(scope, site.boundary))
    if site.retention:
        for part in scope.node.find_all():
            if isinstance(part, logs.CfnLogGroup):
                part.retention_in_days = site.retention
    if site.key:
        SiteKey(scope, "Key", key=site.key, prefix=prefix).encrypt(scope.node.find_all())
    resource = webhook.node.default_child
    if site.webhook_concurrency and isinstance(resource, lambda_.CfnFunction):
        resource.reserved_concurrent_executions = site.webhook_concurrency


def _policy(scope: Construct, boundary: str) -> iam.IManagedPolicy:
    if boundary.startswith("arn:"):
        return iam.ManagedPolicy.from_managed_policy_arn(scope, "Boundary", boundary)
    return iam.ManagedPolicy.from_managed_policy_name(scope, "Boundary", boundary)
