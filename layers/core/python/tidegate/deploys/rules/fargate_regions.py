"""Regions that have Fargate, which runners need. AWS adds regions: an answer of AWS overrides this list."""

from __future__ import annotations

#: "Supported Regions for Amazon ECS on AWS Fargate", Linux containers, as it was on this day:
#: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/AWS_Fargate-Regions.html
LISTED_ON = "2026-11-24"
#: Commercial regions that have ECS (botocore's endpoints) and that the list does not name.
_WITHOUT = frozenset({"ap-east-2", "ap-southeast-6"})
#: Prefixes of regions that the list omits: the isolated ones, and the European sovereign one.
_OTHER_PARTITIONS = ("us-iso", "eu-iso", "eusc-")


def is_listed(region: str) -> bool:
    """Tell whether the list names a region, or one that is newer than all that botocore knew."""
    return region not in _WITHOUT and not region.startswith(_OTHER_PARTITIONS)
