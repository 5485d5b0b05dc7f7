"""What the template grants and nothing used: the list that a test run ends with."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate_local.aws.iam import Permission, matches

NOT_USED_HERE = {
    "ecr:*": "images are pulled by ECS and Lambda themselves; here there are none",
    "kms:*": "moto encrypts and decrypts without asking the key's users",
    "xray:*": "traces are not sent on one machine",
    "ec2:*NetworkInterface*": "Lambda attaches functions to a VPC itself",
    "logs:*LogDeliver*": "Step Functions sets up its log delivery itself",
    "logs:*ResourcePolic*": "Step Functions sets up its log delivery itself",
    "logs:DescribeLogGroups": "Step Functions sets up its log delivery itself",
    "events:*Rule": "Step Functions watches its children by a managed rule on AWS; here it is told",
    "events:PutTargets": "Step Functions watches its children by a managed rule on AWS; here it is told",
    "sqs:ChangeMessageVisibility": "part of CDK's grants for event sources; Lambda uses it on AWS",
    "sqs:GetQueueUrl": "part of CDK's grants for event sources; Lambda uses it on AWS",
    "s3:GetBucket*": "part of CDK's grants to read a bucket; nothing in the product asks for it",
}
"""Actions that only AWS itself uses, and why they cannot be seen here."""


def unused_permissions(granted: Iterable[Permission], used: Iterable[Permission]) -> list[Permission]:
    """Return the granted permissions that nobody used, without those that cannot be used here, sorted."""
    known = set(used)
    return sorted(
        (
            item
            for item in granted
            if item not in known and not any(matches(pattern.lower(), item.action.lower()) for pattern in NOT_USED_HERE)
        ),
        key=lambda item: (item.role, item.action, item.resource),
    )
