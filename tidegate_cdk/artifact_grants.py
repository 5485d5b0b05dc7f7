"""The rights on what lies in the artifact bucket."""

from __future__ import annotations

from tidegate_cdk.asl_state_machine import execution_arn
from tidegate_cdk.capabilities import PLANS, SPECULATIVE_ATTEMPTS, Grant, Surroundings, allow, on_records, tell_missing


def remove_layers(around: Surroundings) -> Grant:
    """Delete speculative plans with their artifacts."""
    table, bucket = around.storage.table, around.storage.bucket
    statements = (
        on_records(table.table_arn, ("layer",), "dynamodb:BatchWriteItem"),
        *(allow("s3:DeleteObject", on=bucket.arn_for_objects(f"plans/{jobs}/*")) for jobs in SPECULATIVE_ATTEMPTS),
    )
    return Grant(statements, {"TIDEGATE_TABLE": table.table_name, "TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def read_artifacts(around: Surroundings) -> Grant:
    """Read plans and logs, and show where they are to be seen."""
    bucket = around.storage.bucket
    statements = (
        allow("s3:GetObject", on=bucket.arn_for_objects("plans/*")),
        allow("s3:GetObject", on=bucket.arn_for_objects("logs/*")),
        tell_missing(bucket.bucket_arn, "plans/*", "logs/*"),
    )
    environment = {
        "TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name,
        "TIDEGATE_EXECUTION_URL": around.settings.execution_url or _console_execution(around),
        "TIDEGATE_WEB_URL": around.web_url,
    }
    return Grant(statements, environment)


def read_organization(around: Surroundings) -> Grant:
    """Read the configuration that operators put there for all repositories."""
    bucket = around.storage.bucket
    statements = (
        allow("s3:GetObject", on=bucket.arn_for_objects("configuration/organization.yaml")),
        tell_missing(bucket.bucket_arn, "configuration/*"),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def store_policies(around: Surroundings) -> Grant:
    """Store policies as pull requests are checked against them, and read the organization's.

    What lists the organization's policies is what tells that its configuration is missing.
    """
    bucket = around.storage.bucket
    statements = (
        allow("s3:PutObject", on=bucket.arn_for_objects("policies/*")),
        allow("s3:GetObject", on=bucket.arn_for_objects("configuration/policies/*")),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def check_policies(around: Surroundings) -> Grant:
    """Read plans, and the policies that they are checked against."""
    bucket = around.storage.bucket
    statements = (
        *(
            allow("s3:GetObject", on=bucket.arn_for_objects(f"plans/{jobs}/plan.json"))
            for jobs in (*PLANS, *SPECULATIVE_ATTEMPTS)
        ),
        allow("s3:GetObject", on=bucket.arn_for_objects("policies/*")),
        tell_missing(bucket.bucket_arn, "plans/*", "policies/*"),
    )
    return Grant(statements, {"TIDEGATE_ARTIFACT_BUCKET": bucket.bucket_name})


def _console_execution(around: Surroundings) -> str:
    """Return the address of a deployment's execution in the console, with ``{deployment}`` left open."""
    region = around.stack.region
    execution = execution_arn(around.stack, around.terraform_machine).removesuffix("*") + "{deployment}"
    return f"https://{region}.console.aws.amazon.com/states/home?region={region}#/v2/executions/details/{execution}"
