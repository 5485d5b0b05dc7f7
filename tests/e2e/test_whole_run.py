"""What a person sees who tries it all; this comes last, when the installation has much behind it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tidegate_local.demo import acts

pytestmark = pytest.mark.nightly


def test_the_demo_deploys_two_roots_and_takes_a_pull_request_through_a_policy_with_a_real_provider(tidegate):
    output = io.StringIO()
    acts.play(tidegate.cloud, Console(file=output, width=120))
    shown = output.getvalue()
    for word in ("network", "orders", "aws_vpc.main", "aws_sns_topic.orders", "audited as RUNNING, then SUCCESS"):
        assert word in shown
    told = iter(shown.splitlines())
    for sentence in (
        "developer opened #2",
        "✗  tidegate/plan",
        "Denied (network) aws_vpc_security_group_ingress_rule.ssh",
        "maintainer cannot merge it",
        "developer pushed the correction",
        "✓  tidegate/plan",
        "updated its comment",
        "maintainer merged it into main",
        "reviewer clicked Confirm on tidegate/deploy: network",
        "network once more in",
    ):
        assert any(sentence in line for line in told), f"{sentence} is not where it belongs"
    assert "<details" not in shown
