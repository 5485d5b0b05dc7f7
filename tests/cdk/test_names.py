"""What a list of the console shows as the name of each resource.

The consoles of EC2 and VPC list resources by their ids, and show the tag ``Name`` beside (Amazon VPC, Work with VPCs:
"Name tag", https://docs.aws.amazon.com/vpc/latest/userguide/create-vpc.html; the same for subnets, route tables,
internet and NAT gateways, security groups, addresses, endpoints and flow logs). Other services list resources by names
that these have themselves, and none of them shows this tag.
"""

from __future__ import annotations

from typing import Any

from tests.cdk.own_site import OWN

#: Types of EC2 that are parts of others: they have no tags, and no place in a list.
PARTS = {"AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment"}
#: Whose tags ECS hands on when it starts a task (PropagateTags), which takes rights of whoever starts it.
HANDED_ON = {"AWS::ECS::TaskDefinition"}


def named(template: dict[str, Any], kind: str = "AWS::EC2::") -> dict[str, str]:
    """Return by logical id the names that tags give to resources of a kind; empty where none does."""
    return {
        key: "".join(tag["Value"] for tag in each.get("Properties", {}).get("Tags", []) if tag["Key"] == "Name")
        for key, each in template["Resources"].items()
        if each["Type"].startswith(kind) and each["Type"] not in PARTS
    }


def test_each_part_of_the_network_is_named_after_the_installation(template: dict[str, Any], other: dict[str, Any]):
    for deployed, prefix in ((template, "tidegate"), (other, "acme-prod")):
        found = named(deployed)
        assert len(found) >= 8
        assert set(found.values()) == {prefix, f"{prefix}-runner", f"{prefix}-runner-1", f"{prefix}-runner-2"}, found


def test_gateways_and_their_addresses_are_named_as_their_subnets(behind_gateways: dict[str, Any]):
    for kind in ("NatGateway", "EIP"):
        assert set(named(behind_gateways, f"AWS::EC2::{kind}").values()) == {"nat-gateway-1"}
    assert "" not in named(behind_gateways).values()


def test_in_a_network_of_the_installations_own_the_security_group_is_named(own: dict[str, Any]):
    assert list(named(own).values()) == [f"{OWN['prefix']}-runner"]


def test_no_name_is_handed_on_to_tasks(template: dict[str, Any]):
    assert set(named(template, *HANDED_ON).values()) == {""}
