"""The customer managed key for all stored and sent data, and the principals in its policy."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

#: Services that use the key on behalf of their callers, who need no permission of their own.
_VIA = ("dynamodb", "lambda", "s3", "sns", "sqs")
_USE = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")


class SiteKey(Construct):
    """The key: one that the stack creates, or the one with this ARN, whose policy its owner manages."""

    def __init__(self, scope: Construct, construct_id: str, *, key: str, prefix: str) -> None:
        super().__init__(scope, construct_id)
        self.arn = key
        if key == "create":
            self.arn = self._make(prefix).key_arn

    def _make(self, prefix: str) -> kms.Key:
        made = kms.Key(
            self,
            "Resource",
            description=f"Encrypts Tidegate's data at rest and in queues: {prefix}",
            enable_key_rotation=True,
            # Encrypted data stays, and would be unreadable without it.
            removal_policy=RemovalPolicy.RETAIN,
        )
        for statement in key_statements(Stack.of(self)):
            made.add_to_resource_policy(statement)
        return made

    def encrypt(self, parts: Iterable[IConstruct]) -> None:
        """Encrypt all supported resources with the key instead of AWS's own."""
        for part in parts:
            self._encrypt(part)

    def _encrypt(self, part: IConstruct) -> None:
        if isinstance(part, logs.CfnLogGroup):
            part.kms_key_id = self.arn
        elif isinstance(part, sqs.CfnQueue):
            part.sqs_managed_sse_enabled, part.kms_master_key_id = None, self.arn
        elif isinstance(part, sns.CfnTopic):
            part.kms_master_key_id = self.arn
        elif isinstance(part, lambda_.CfnFunction):
            part.kms_key_arn = self.arn
        elif isinstance(part, dynamodb.CfnTable):
            part.sse_specification = dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=self.arn
            )
        elif isinstance(part, s3.CfnBucket):
            rule = s3.CfnBucket.ServerSideEncryptionRuleProperty(
                # One request to KMS serves many objects.
                bucket_key_enabled=True,
                server_side_encryption_by_default=s3.CfnBucket.ServerSideEncryptionByDefaultProperty(
                    sse_algorithm="aws:kms", kms_master_key_id=self.arn
                ),
            )
            part.bucket_encryption = s3.CfnBucket.BucketEncryptionProperty(server_side_encryption_configuration=[rule])


def key_statements(stack: Stack) -> list[iam.PolicyStatement]:
    """Return what the key's policy has to say besides who administers it. docs/site.md shows them for keys of others.

    - Callers in the account may use it through services, as with the keys that AWS manages for each service.
    - "the service principal for the Region" with the log group as encryption context (CloudWatch Logs, Encrypt log
      data using KMS).
    - Alarms and rules publish as services, and send no keys for conditions (SNS, Key management: event sources).
    - DynamoDB looks whether the key is still there (DynamoDB, Encryption at rest: usage notes).
    """
    anybody = iam.PolicyStatement(
        sid="ThroughServices",
        principals=[iam.AnyPrincipal()],
        actions=[*_USE, "kms:CreateGrant"],
        resources=["*"],
        conditions={
            "StringEquals": {
                "kms:CallerAccount": stack.account,
                "kms:ViaService": [f"{service}.{stack.region}.amazonaws.com" for service in _VIA],
            }
        },
    )
    own_logs = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:*"
    return [
        anybody,
        iam.PolicyStatement(
            sid="Logs",
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            actions=[*_USE],
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": own_logs}},
        ),
        iam.PolicyStatement(
            sid="AlarmsAndRules",
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com"), iam.ServicePrincipal("events.amazonaws.com")],
            actions=["kms:GenerateDataKey*", "kms:Decrypt"],
            resources=["*"],
        ),
        iam.PolicyStatement(
            sid="Table",
            principals=[iam.ServicePrincipal("dynamodb.amazonaws.com")],
            actions=["kms:DescribeKey", "kms:GetKeyPolicy", "kms:ListGrants"],
            resources=["*"],
        ),
    ]
