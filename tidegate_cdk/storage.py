"""Storage: the table and the artifact bucket."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from tidegate_cdk.indexes import INDEXES

#: Plans and their JSON hold secrets in clear text, and are useless after the longest wait: four weeks at the gate, one
#: for the review, four for requirements.
_PLAN_DAYS = 64
_LOG_DAYS = 365
#: Policies are stored again with each push; plans that still wait need them.
_POLICY_DAYS = 180
#: What a replay was to make and has made is used within the hour; people may look at it later.
_REPLAY_DAYS = 30
#: Orders, results and diagnostics of clusters' tasks. Logs of pods may hold what nobody has foreseen, so they do not
#: stay as long as other logs. Backups are no part of it: they are deleted once they are not needed.
_TASK_DAYS = 90
#: States that an engine could not save wait for a person.
_ERRORED_DAYS = 180


class Storage(Construct):
    """One table for all records and one bucket for what is too large for it."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.table = self._table()
        self.bucket = self._bucket()

    def _table(self) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            "Table",
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            time_to_live_attribute="expires_at",
            deletion_protection=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        for name, (keys, shown) in INDEXES.items():
            table.add_global_secondary_index(
                index_name=name,
                partition_key=_text(keys[0]),
                sort_key=_text(keys[1]),
                projection_type=dynamodb.ProjectionType.INCLUDE,
                non_key_attributes=list(shown),
            )
        return table

    def _bucket(self) -> s3.Bucket:
        return s3.Bucket(
            self,
            "Artifacts",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=RemovalPolicy.RETAIN,
            lifecycle_rules=[
                _expiry("plans/", _PLAN_DAYS),
                _expiry("logs/", _LOG_DAYS),
                _expiry("policies/", _POLICY_DAYS),
                _expiry("errored/", _ERRORED_DAYS),
                _expiry("replays/", _REPLAY_DAYS),
                _expiry("cluster-tasks/", _TASK_DAYS),
                s3.LifecycleRule(id="uploads", abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
        )


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _expiry(prefix: str, days: int) -> s3.LifecycleRule:
    return s3.LifecycleRule(id=prefix.rstrip("/"), prefix=prefix, expiration=Duration.days(days))
