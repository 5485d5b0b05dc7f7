"""Where runners live: public subnets, nothing listens, no NAT gateway that costs while nothing happens."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct


class Network(Construct):
    """A VPC with two public subnets and a security group that lets out and never in."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.90.0.0/20"),
            max_azs=2,
            nat_gateways=0,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="runner", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=22, map_public_ip_on_launch=False
                )
            ],
        )
        self.security_group = ec2.SecurityGroup(
            self,
            "RunnerSecurityGroup",
            vpc=self.vpc,
            description="Runners reach out (forge, registries, providers); nothing reaches in",
            allow_all_outbound=True,
        )
        self._log_flows()

    @property
    def subnets(self) -> list[str]:
        """The ids of the subnets that runners start in."""
        return [subnet.subnet_id for subnet in self.vpc.public_subnets]

    def _log_flows(self) -> None:
        self.vpc.add_flow_log(
            "FlowLog",
            traffic_type=ec2.FlowLogTrafficType.ALL,
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(
                logs.LogGroup(
                    self, "FlowLogGroup", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
                )
            ),
        )
