"""The doctor sees what synth cannot: ways out of subnets, and whether certificates and keys can be used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from tidegate_cli.doctor.result import Result
from tidegate_cli.doctor.site import SiteChecks

REGION = "eu-west-1"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield


@cache
def client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)


def examined(**context: Any) -> dict[str, Result]:
    return {each.check: each for each in SiteChecks(context, client, REGION).results()}


@pytest.fixture
def vpc() -> str:
    return client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]


@pytest.fixture
def subnet(vpc: str) -> str:
    return client("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]


def route(vpc: str, subnet: str, **to: str) -> None:
    """Give the subnet a table of its own with a default route."""
    table = client("ec2").create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    client("ec2").associate_route_table(RouteTableId=table, SubnetId=subnet)
    client("ec2").create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **to)


def internet_gateway(vpc: str) -> str:
    gateway = client("ec2").create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    client("ec2").attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    return gateway


def test_what_is_not_set_is_not_looked_at():
    assert examined() == {}
    assert examined(kms_key="create") == {}


def test_a_subnet_without_a_route_is_refused(vpc: str, subnet: str):
    found = examined(vpc=vpc, subnets=[subnet])[f"subnet {subnet}"]
    assert found.verdict == "fail"
    assert "0.0.0.0/0" in found.found
    assert "NAT" in found.do


def test_a_subnet_behind_a_nat_gateway_is_good(vpc: str, subnet: str):
    address = client("ec2").allocate_address(Domain="vpc")["AllocationId"]
    nat = client("ec2").create_nat_gateway(SubnetId=subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
    route(vpc, subnet, NatGatewayId=nat)
    found = examined(vpc=vpc, subnets=subnet)[f"subnet {subnet}"]
    assert (found.verdict, nat in found.found) == ("ok", True)


@pytest.mark.parametrize(("public", "verdict"), [(None, "fail"), ("false", "fail"), ("true", "ok"), (True, "ok")])
def test_in_a_public_subnet_runners_need_addresses(vpc: str, subnet: str, public: object, verdict: str):
    route(vpc, subnet, GatewayId=internet_gateway(vpc))
    assert examined(vpc=vpc, subnets=[subnet], runner_public_ip=public)[f"subnet {subnet}"].verdict == verdict


def test_a_subnet_without_a_table_of_its_own_has_the_main_one(vpc: str, subnet: str):
    (main,) = client("ec2").describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
    gateway = internet_gateway(vpc)
    client("ec2").create_route(RouteTableId=main["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    assert examined(vpc=vpc, subnets=[subnet], runner_public_ip="true")[f"subnet {subnet}"].verdict == "ok"


def test_a_subnet_of_another_vpc_and_one_that_is_not_there_are_refused(subnet: str):
    other = client("ec2").create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    found = examined(vpc=other, subnets=[subnet, "subnet-0123456789abcdef0"])
    assert other in found[f"subnet {subnet}"].found
    assert [each.verdict for each in found.values()] == ["fail", "fail"]


class Stub:
    """A service that gives one answer to all that it is asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return lambda **_: self._answer


CERTIFICATE = f"arn:aws:acm:{REGION}:123456789012:certificate/1"


@pytest.mark.parametrize(
    ("status", "names", "arn", "verdict", "says"),
    [
        ("ISSUED", ["deploys.example.com"], CERTIFICATE, "ok", "deploys.example.com"),
        ("ISSUED", ["*.example.com"], CERTIFICATE, "ok", "deploys.example.com"),
        ("ISSUED", ["*.com"], CERTIFICATE, "fail", "*.com"),
        ("PENDING_VALIDATION", ["deploys.example.com"], CERTIFICATE, "fail", "PENDING_VALIDATION"),
        ("ISSUED", ["deploys.example.com"], CERTIFICATE.replace(REGION, "us-east-1"), "fail", "us-east-1"),
    ],
)
def test_a_certificate_is_issued_for_the_domain_in_this_region(
    status: str, names: list[str], arn: str, verdict: str, says: str
):
    answer = {"Certificate": {"Status": status, "DomainName": names[0], "SubjectAlternativeNames": names}}
    context = {"domain": "deploys.example.com", "certificate": arn}
    (found,) = SiteChecks(context, lambda _: Stub(answer), REGION).results()
    assert (found.verdict, says in found.found) == (verdict, True)


def test_keys_are_enabled_symmetric_and_here():
    good = client("kms").create_key()["KeyMetadata"]["Arn"]
    disabled = client("kms").create_key()["KeyMetadata"]
    client("kms").disable_key(KeyId=disabled["KeyId"])
    signing = client("kms").create_key(KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    assert examined(kms_key=good)["kms_key"].verdict == "ok"
    assert "Disabled" in examined(state_kms_key=disabled["Arn"])["state_kms_key"].found
    assert "RSA_2048" in examined(kms_key=signing)["kms_key"].found
    assert "us-east-1" in examined(kms_key=good.replace(REGION, "us-east-1"))["kms_key"].found


def test_a_key_that_is_not_there_is_refused():
    missing = f"arn:aws:kms:{REGION}:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    found = examined(kms_key=missing)["kms_key"]
    assert (found.verdict, "cdk.json" in found.do) == ("fail", True)


@pytest.mark.parametrize(("code", "verdict"), [("AccessDeniedException", "warn"), ("NotFoundException", "fail")])
def test_what_may_not_be_looked_at_is_no_failure(code: str, verdict: str):
    class Refusing:
        def describe_key(self, **_: str) -> None:
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeKey")

    context = {"state_kms_key": "arn:aws:kms:eu-west-1:123456789012:key/1"}
    (found,) = SiteChecks(context, lambda _: Refusing(), REGION).results()
    assert found.verdict == verdict


def test_an_answer_that_does_not_come_is_no_failure():
    class Silent:
        def describe_key(self, **_: str) -> None:
            raise EndpointConnectionError(endpoint_url="https://kms")

    context = {"state_kms_key": "arn:aws:kms:eu-west-1:123456789012:key/1"}
    (found,) = SiteChecks(context, lambda _: Silent(), REGION).results()
    assert found.verdict == "warn"
