"""The runners' network. By default public subnets, where nothing listens and no NAT gateway costs by the hour."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct

from tidegate_cdk.site_settings import SiteSettings
from tidegate_cdk.trust import for_flow_logs


class Network(Construct):
    """The stack's or the installation's VPC, and a security group that allows only outbound traffic."""

    def __init__(self, scope: Construct, construct_id: str, site: SiteSettings, *, prefix: str) -> None:
        super().__init__(scope, construct_id)
        self._site, self._prefix = site, prefix
        self.vpc: ec2.IVpc
        if site.vpc:
            # Availability zones are not read: nothing depends on them.
            self.vpc = ec2.Vpc.from_vpc_attributes(self, "Vpc", vpc_id=site.vpc, availability_zones=["any"])
        else:
            self.vpc = self._make()
        self.subnets: Sequence[str] = site.subnets or [each.subnet_id for each in self._of_runners(self.vpc)]
        self.security_group = ec2.SecurityGroup(
            self,
            "RunnerSecurityGroup",
            vpc=self.vpc,
            description="Outbound only, to the VCS provider, registries and providers; no inbound traffic",
            allow_all_outbound=True,
        )
        _name(self.security_group, f"{prefix}-runner")
        if not site.vpc:
            self._log_flows()

    @property
    def assigns_public_ip(self) -> str:
        """The task's network setting: a runner in a public subnet needs a public IP to reach the VCS provider."""
        return "ENABLED" if self._site.runners_are_public else "DISABLED"

    def _make(self) -> ec2.Vpc:
        public = ec2.SubnetType.PUBLIC
        runner = ec2.SubnetType.PRIVATE_WITH_EGRESS if self._site.gateways else public
        subnets = [_subnet("runner", runner, 22)]
        if self._site.gateways:
            subnets.append(_subnet("gateway", public, 24))
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.90.0.0/20"),
            max_azs=2,
            nat_gateways=self._site.gateways,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            subnet_configuration=subnets,
        )
        _name(vpc, self._prefix)
        for kind, some in (("runner", self._of_runners(vpc)), ("gateway", self._of_gateways(vpc))):
            for number, subnet in enumerate(some, start=1):
                # Its route table, NAT gateway and address are called the same.
                _name(subnet, f"{self._prefix}-{kind}-{number}")
        return vpc

    def _of_runners(self, vpc: ec2.IVpc) -> list[ec2.ISubnet]:
        return vpc.private_subnets if self._site.gateways else vpc.public_subnets

    def _of_gateways(self, vpc: ec2.IVpc) -> list[ec2.ISubnet]:
        return vpc.public_subnets if self._site.gateways else []

    def _log_flows(self) -> None:
        log = self.vpc.add_flow_log(
            "FlowLog",
            traffic_type=ec2.FlowLogTrafficType.ALL,
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(
                logs.LogGroup(
                    self, "FlowLogGroup", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
                ),
                iam.Role(
                    self, "FlowLogRole", assumed_by=for_flow_logs(self), description="Writes the network's flow log"
                ),
            ),
        )
        _name(log, self._prefix)


def _name(construct: IConstruct, name: str) -> None:
    """Name what the console of VPC would list by its id: it shows this tag as the name. All else has a name itself."""
    Tags.of(construct).add("Name", name)


def _subnet(name: str, kind: ec2.SubnetType, mask: int) -> ec2.SubnetConfiguration:
    public = False if kind is ec2.SubnetType.PUBLIC else None
    return ec2.SubnetConfiguration(name=name, subnet_type=kind, cidr_mask=mask, map_public_ip_on_launch=public)
