"""Grants on the artifact bucket."""

from __future__ import annotations

from tidegate_cdk.asl_state_machine import execution_arn
from tidegate_cdk.capabilities import PLANS, SPECULATIVE_ATTEMPTS, Grant, GrantContext, allow, on_records, tell_missing


def remove_layers(context: GrantContext) -> Grant:
    """Delete speculative plans with their artifacts."""
    table, bucket = context.storage.table, context.storage.bucket
    statements = (
        on_records(table.table_arn, ("layer",), "dynamodb:BatchWriteItem"),
        *(allow("s3:DeleteObject", on=bucket.arn_for_objects(f"plans/{jobs}/*")) for jobs in SPECULATIVE_ATTEMPTS),
    )
    return Grant(statements, {"TIDEGATE_TABLE": table.table_name, "TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def read_artifacts(context: GrantContext) -> Grant:
    """Read plans and logs, and link to them."""
    bucket = context.storage.bucket
    statements = (
        allow("s3:GetObject", on=bucket.arn_for_objects("plans/*")),
        allow("s3:GetObject", on=bucket.arn_for_objects("logs/*")),
        tell_missing(bucket.bucket_arn, "plans/*", "logs/*"),
    )
    environment = {
        "TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name,
        "TIDEGATE_EXECUTION_URL": context.settings.execution_url or _console_execution(context),
        "TIDEGATE_WEB_URL": context.web_url,
    }
    return Grant(statements, environment)


def read_organization(context: GrantContext) -> Grant:
    """Read the organization's configuration."""
    bucket = context.storage.bucket
    statements = (
        allow("s3:GetObject", on=bucket.arn_for_objects("configuration/organization.yaml")),
        tell_missing(bucket.bucket_arn, "configuration/*"),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def store_policies(context: GrantContext) -> Grant:
    """Store policies for pull requests, and read the organization's.

    Listing the organization's policies also shows that its configuration is missing.
    """
    bucket = context.storage.bucket
    statements = (
        allow("s3:PutObject", on=bucket.arn_for_objects("policies/*")),
        allow("s3:GetObject", on=bucket.arn_for_objects("configuration/policies/*")),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def check_policies(context: GrantContext) -> Grant:
    """Read plans, and the policies that evaluate them."""
    bucket = context.storage.bucket
    statements = (
        *(
            allow("s3:GetObject", on=bucket.arn_for_objects(f"plans/{jobs}/{name}"))
            for jobs in (*PLANS, *SPECULATIVE_ATTEMPTS)
            for name in ("plan.json", "cluster-plan.json")
        ),
        allow("s3:GetObject", on=bucket.arn_for_objects("policies/*")),
        tell_missing(bucket.bucket_arn, "plans/*", "policies/*"),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def image_sets(context: GrantContext) -> Grant:
    """Store and read announced image sets."""
    return _on_artifacts(context, ("config-updates/*",), ("config-updates/*",))


def replay_orders(context: GrantContext) -> Grant:
    """Store what a replay makes; announced image sets are part of it."""
    return _on_artifacts(context, ("config-updates/*",), ("replays/*/order.json",))


def replay_results(context: GrantContext) -> Grant:
    """Read what a replay was to make, and what it has made."""
    return _on_artifacts(context, ("replays/*",), ())


def plan_texts(context: GrantContext) -> Grant:
    """Read the texts of deployments' plans."""
    texts = (f"plans/{jobs}/{name}" for jobs in PLANS for name in ("plan.txt", "cluster-plan.txt"))
    return _on_artifacts(context, tuple(texts), ())


def cluster_plans(context: GrantContext) -> Grant:
    """Read plans of clusters, which are beside those of the engine."""
    return _on_artifacts(context, tuple(f"plans/{jobs}/cluster.json" for jobs in PLANS), ())


def cluster_tasks(context: GrantContext) -> Grant:
    """Store what a task of a cluster does, and read what it has done."""
    return _on_artifacts(context, ("cluster-tasks/*/result.json",), ("cluster-tasks/*/order.json",))


def _on_artifacts(context: GrantContext, reads: tuple[str, ...], writes: tuple[str, ...]) -> Grant:
    bucket = context.storage.bucket
    statements = (
        *(allow("s3:GetObject", on=bucket.arn_for_objects(each)) for each in reads),
        *(allow("s3:PutObject", on=bucket.arn_for_objects(each)) for each in writes),
        tell_missing(bucket.bucket_arn, *reads),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def _console_execution(context: GrantContext) -> str:
    """Return the address of a deployment's execution in the console, with ``{deployment}`` left open."""
    region = context.stack.region
    execution = execution_arn(context.stack, context.terraform_machine).removesuffix("*") + "{deployment}"
    return f"https://{region}.console.aws.amazon.com/states/home?region={region}#/v2/executions/details/{execution}"
