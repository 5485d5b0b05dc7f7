"""Whether the account has ECS's service-linked role."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate_cli.doctor.result import Result, reason_of

_CHECK = "ECS's own role"
_ROLE = "AWSServiceRoleForECS"


def check_role(iam: Any) -> Result:
    """Look for ECS's service-linked role (``iam`` is a boto3 client), with which it attaches tasks to their network.

    "When you create a cluster [...] Amazon ECS creates the service-linked role for you", if whoever does so may
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html). Accounts' first
    clusters are refused now and then all the same, as the role is not there yet: "Unable to assume the service linked
    role" (aws-samples/run-selenium-tests-at-scale-using-ecs-fargate#2, eddmann/serverless-fargate#16); without it,
    RunTask answers so (awslabs/fargatecli#35, aws-solutions/cost-optimizer-for-amazon-workspaces#13).
    """
    try:
        iam.get_role(RoleName=_ROLE)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            return Result(_CHECK, "warn", reason_of(error), "Allow iam:GetRole for this check.")
        found = (
            f"The account has no {_ROLE}, which runners need to start. AWS creates it with the first cluster, which "
            "may fail until the role exists: Unable to assume the service linked role."
        )
        do = "Run `aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com`, once for the account."
        return Result(_CHECK, "warn", found, do)
    except BotoCoreError as error:
        return Result(_CHECK, "warn", reason_of(error), "Try again.")
    return Result(_CHECK, "ok", f"{_ROLE} exists.")
