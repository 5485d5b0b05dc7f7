"""Whole workflows of the provider ``simulated``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.faults import ClusterUnreachable, TaskFailed
from tests.runner.clusters.workflows import killed_at_every_call
from tidegate.clusters.rules.context import Access, ClusterReference, reference_text
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    ComponentRole,
    CurrentCluster,
    DeclaredCluster,
    DeclaredComponent,
    ProviderName,
)

SPEC = "network/cluster.yaml"
CNI = DeclaredComponent("cni", ComponentRole.NETWORKING, ComponentForm.MANIFESTS, "cni.yaml", "1.16.3")
PLATFORM = DeclaredCluster("platform", ClusterKind.MANAGEMENT, ProviderName.SIMULATED, SPEC, "", (CNI,))
FILES = {SPEC: 'kubernetes: "1.33"\ngitops: flux\n', "cni.yaml": "kind: DaemonSet\n"}


def test_a_management_cluster_is_created_upgraded_and_deleted(workflows, aws):
    platform = workflows(PLATFORM, FILES)
    platform.plan()
    for task, result in platform.all().items():
        assert {key for key, _ in result.values} == platform.produced(task), task
    platform.current = platform.made("1.33")
    platform.plan(**{SPEC: 'kubernetes: "1.34"\ngitops: flux\n'})
    for task, result in platform.all().items():
        assert {key for key, _ in result.values} == platform.produced(task), task
    platform.current = platform.made("1.34")
    platform.plan(destroy=True)
    platform.all()
    state = json.loads(aws.objects["clusters/acme/infra/platform/simulated.json"])
    assert state["clusters"] == {}


@pytest.mark.parametrize(("recorded", "refusal"), [("1.32", "newer than 1.32"), (None, "'platform' is not there")])
def test_validation_asks_what_has_become_of_the_management_cluster_that_was_to_come_first(workflows, recorded, refusal):
    reference = reference_text(ClusterReference("platform", Access.SIMULATED, "platform"))
    made = CurrentCluster("1.33", "made", ProviderName.SIMULATED, "1", reference=reference)
    declared = DeclaredCluster(
        "shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, "shop.yaml", "platform", management_spec=SPEC
    )
    shop = workflows(declared, {**FILES, "shop.yaml": 'kubernetes: "1.33"\n'})
    shop.plan()
    shop.management = recorded and replace(made, kubernetes=recorded)
    with pytest.raises(TaskFailed, match=refusal):
        shop.run("validate")
    shop.management = made
    assert shop.run("validate").values


def test_a_runner_may_die_anywhere(workflows, aws):
    platform = workflows(PLATFORM, FILES)
    platform.plan()
    for step in platform.planned.steps:
        if step.due:
            killed_at_every_call(lambda step=step: platform.run(step.task))
    state = json.loads(aws.objects["clusters/acme/infra/platform/simulated.json"])
    assert list(state["clusters"]) == ["management-cluster"]
    assert state["clusters"]["management-cluster"]["hash"] == platform.planned.spec_hash


def test_a_task_fails_or_is_unreachable_as_the_file_says(workflows):
    platform = workflows(PLATFORM, FILES)
    said = "provider: {fail: {create-bootstrap-cluster: no room}, unreachable: {validate: nobody is there}}\n"
    platform.plan(**{SPEC: FILES[SPEC] + said})
    with pytest.raises(ClusterUnreachable, match="nobody is there"):
        platform.run("validate")
    with pytest.raises(TaskFailed, match="no room"):
        platform.run("create-bootstrap-cluster")


def test_an_older_lock_changes_nothing(workflows):
    platform = workflows(PLATFORM, FILES)
    platform.plan()
    platform.fence = 2
    platform.run("create-bootstrap-cluster")
    platform.fence = 1
    with pytest.raises(TaskFailed, match="lost its lock"):
        platform.run("install-bootstrap-components")
