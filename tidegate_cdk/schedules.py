"""Drift detection schedules: functions create them for repositories, in a group of the stack."""

from __future__ import annotations

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from tidegate_cdk.asl_state_machine import machine_arn


class Schedules(Construct):
    """The group, which is deleted with all of its schedules, and the role in which they start runs."""

    def __init__(
        self, scope: Construct, construct_id: str, *, name: str, machine: str, undelivered: sqs.IQueue
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name
        scheduler.CfnScheduleGroup(self, "Group", name=name)
        group = Stack.of(self).format_arn(service="scheduler", resource="schedule-group", resource_name=name)
        # Only schedules of this group may use it, even if others can be created in the account.
        of_group = {"StringEquals": {"aws:SourceArn": group, "aws:SourceAccount": Stack.of(self).account}}
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=of_group),
            description="Drift detection schedules",
        )
        self.role.add_to_policy(
            iam.PolicyStatement(actions=["states:StartExecution"], resources=[machine_arn(self, machine)])
        )
        self.role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[undelivered.queue_arn]))

    @property
    def each_arn(self) -> str:
        """The ARN pattern of all schedules of the group."""
        return Stack.of(self).format_arn(
            service="scheduler",
            resource="schedule",
            resource_name=f"{self.name}/*",
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
