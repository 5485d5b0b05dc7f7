"""What a person sees who tries it all; this comes last, when the installation has much behind it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tidegate_cli import local
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
        "reviewer clicked Approve on tidegate/deploy: network",
        "network once more in",
    ):
        assert any(sentence in line for line in told), f"{sentence} is not where it belongs"
    assert "<details" not in shown


def test_the_act_of_config_updates_brings_images_to_production_and_evicts_one_that_breaks_its_checks(tidegate):
    output = io.StringIO()
    acts.play(tidegate.cloud, Console(file=output, width=200), "updates")
    told = iter(output.getvalue().splitlines())
    for sentence in (
        "What runs where, as a page: http",
        "CI of demo/shop announced build 1",
        "on auto: success",
        "new images in staging",
        "staging-eu reported that it deployed",
        "Tidegate promoted it to production",
        "new images in production",
        "production-us reported that it deployed",
        "on auto: failure",
        "was evicted",
        "new images in staging",
        "What runs where",
    ):
        assert any(sentence in line for line in told), f"{sentence} is not where it belongs"


def test_the_act_of_clusters_creates_two_and_resumes_an_upgrade_that_fails_in_the_middle(tidegate):
    output = io.StringIO()
    acts.play(tidegate.cloud, Console(file=output, width=200), "clusters")
    told = iter(output.getvalue().splitlines())
    for sentence in (
        "management cluster hub will be created",
        "✓ Pivot to the management cluster",
        "hub is ready, with Kubernetes 1.34. It holds nothing.",
        "workload cluster shop will be created",
        "shop is ready, with Kubernetes 1.33",
        "1.33 -> 1.34",
        "✓ Upgrade the networking",
        "✗   hook is-tested of repository: TaskFailed",
        "✓ Diagnose the workload cluster",
        "The workflow of shop has failed",
        "tidegate cluster resume",
        "✓ Upgrade the networking: done before",
        "✓ Upgrade the cluster",
        "shop is ready, with Kubernetes 1.34",
    ):
        assert any(sentence in line for line in told), f"{sentence} is not where it belongs"


def test_the_command_plays_the_acts_that_there_are():
    assert [each.value for each in local._Act] == list(acts.ACTS)
