"""Plan jobs of clusters: what a workflow would do is decided before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runner.conftest import Bench
from tidegate.aws.records import unpack
from tidegate.clusters.adapters.source import read_spec
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.refusals import InvalidSpec
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    ComponentRole,
    CurrentCluster,
    DeclaredCluster,
    DeclaredComponent,
    DeclaredHook,
    HookPoint,
    ProviderName,
)
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.structured_file import unpacked

SPEC = "network/cluster.yaml"
CNI = DeclaredComponent("cni", ComponentRole.NETWORKING, ComponentForm.MANIFESTS, "cni.yaml", "1.16.3")
HOOK = DeclaredHook("tell", HookPoint.AFTER, "install-networking", ("./tell",))
PLATFORM = DeclaredCluster("platform", ClusterKind.MANAGEMENT, ProviderName.SIMULATED, SPEC, "", (CNI,), (HOOK,))
FILES = {SPEC: 'kubernetes: "1.33"\n', "cni.yaml": "kind: DaemonSet\n"}
#: Thirty lines that become a billion values.
ALIASES = "l0: &l0 [x, x]\n" + "".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]\n" for n in range(1, 31))
MODULE = 'resource "terraform_data" "eks" { input = "1.33" }\n'


def planned(bench: Bench, cluster: DeclaredCluster = PLATFORM, files: Mapping[str, str] = FILES, **more: Any) -> Any:
    """Return the result of a plan job for a cluster."""
    return bench.plan(bench.forge.commit(dict(files)), run=RunSettings(cluster=cluster), **more)


def stored(bench: Bench, result: Mapping[str, Any]) -> ClusterPlan:
    return unpack(ClusterPlan, json.loads(bench.aws.objects[result["file"]["key"]]))


def text(bench: Bench, result: Mapping[str, Any]) -> str:
    return bench.aws.objects[result["text"]["key"]].decode()


@pytest.fixture
def known(tmp_path: Path) -> CurrentCluster:
    """What is known of the cluster once it was made of these files."""
    source = tmp_path / "made-of"
    for name, content in FILES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content)
    spec = read_spec(source, PLATFORM)
    made = (("cni", "1.16.3"),)
    return CurrentCluster(
        "1.33", spec.hash, ProviderName.SIMULATED, "1", components=made, cluster_hash=spec.cluster_hash
    )


def refused(bench: Bench, cluster: DeclaredCluster = PLATFORM, files: Mapping[str, str] = FILES, **more: Any) -> str:
    """Return why a cluster cannot be planned."""
    job = bench.job(JobKind.PLAN, bench.forge.commit(dict(files)), run=RunSettings(cluster=cluster), **more)
    bench.run(job)
    answer = bench.result()
    assert answer["error"] == "TerraformClientError"
    return str(answer["message"])


def test_the_plan_of_a_creation_is_stored_and_tells_people_what_happens(bench: Bench) -> None:
    result = planned(bench)
    plan = stored(bench, result)
    assert (plan.workflow.operation, plan.cluster) == (Operation.CREATE, PLATFORM)
    assert (result["changes"]["add"], result["changes"]["actions"]) == (2, sum(each.due for each in plan.steps))
    for words in ("+ management cluster platform", "kubernetes", "1.16.3", "after: hook tell of repository"):
        assert words in text(bench, result)
    assert "management cluster platform" in bench.stored_log(result["job"])


def test_policies_and_pages_read_it_like_a_plan_of_an_engine(bench: Bench) -> None:
    result = planned(bench)
    document = json.loads(bench.aws.objects[result["json"]["key"]])
    actions = {each["address"]: each["change"]["actions"] for each in document["resource_changes"]}
    assert actions == {"cluster.platform": ["create"], "component.cni": ["create"]}
    assert document["tidegate_cluster"]["operation"] == "create"
    tasks = [each["address"] for each in document["action_invocations"]]
    assert "task.install-networking" in tasks
    rows = unpacked(bench.aws.objects[result["structured"]["key"]]).rows
    assert [each.address for each in rows] == ["cluster.platform", "component.cni", *tasks]
    assert all(each.why for each in rows[2:])


def test_a_cluster_that_is_as_declared_has_no_changes(bench: Bench, known: CurrentCluster) -> None:
    result = planned(bench, current=known)
    assert not any(result["changes"][name] for name in ("add", "change", "destroy", "actions"))
    assert "stays as it is" in text(bench, result)


def test_a_changed_component_alone_upgrades_the_components(bench: Bench, known: CurrentCluster) -> None:
    files = {**FILES, "cni.yaml": "kind: Deployment\n"}
    plan = stored(bench, planned(bench, files=files, current=known))
    assert plan.workflow.operation is Operation.UPGRADE_COMPONENTS


def test_another_version_upgrades_the_cluster_and_says_from_what(bench: Bench, known: CurrentCluster) -> None:
    files = {**FILES, SPEC: 'kubernetes: "1.34"\n'}
    result = planned(bench, files=files, current=known)
    assert stored(bench, result).workflow.operation is Operation.UPGRADE
    assert result["changes"]["change"] == 1
    assert "1.33 -> 1.34" in text(bench, result)


def test_a_deletion_says_what_dies(bench: Bench, known: CurrentCluster) -> None:
    result = planned(bench, current=known, destroy=True)
    assert stored(bench, result).workflow.operation is Operation.DELETE
    assert result["changes"]["destroyed"] == ["cluster.platform", "component.cni"]
    assert "DELETED" in text(bench, result)


def test_a_root_module_is_planned_as_part_of_its_cluster(bench: Bench) -> None:
    cluster = DeclaredCluster("eks", ClusterKind.WORKLOAD, ProviderName.TERRAFORM, SPEC)
    result = planned(bench, cluster, {SPEC: FILES[SPEC], "network/main.tf": bench.backend() + MODULE})
    plan = stored(bench, result)
    assert plan.terraform is not None
    assert plan.terraform.key.endswith("plan.tfplan")
    assert plan.terraform.key in bench.aws.objects
    document = json.loads(bench.aws.objects[result["json"]["key"]])
    assert [each["address"] for each in document["resource_changes"]] == ["terraform_data.eks", "cluster.eks"]
    assert "Plan: 1 to add" in text(bench, result)
    assert result["engine_version"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"cni.yaml": "", "network/a": ""}, "as the spec of platform, is not in the commit"),
        ({**FILES, SPEC: "kubernetes: [\n"}, "invalid YAML"),
        ({**FILES, SPEC: "provider: " + "[" * 120_000}, "nested too deep"),
        ({**FILES, SPEC: ALIASES + "gitops: *l30\n"}, "too many values"),
        ({**FILES, SPEC: 'kubernetes: "1.33"\nkubernetes: "1.34"\n'}, "duplicate key 'kubernetes'"),
        ({**FILES, SPEC: "provider: {nodes: !!python/name:os.system x}\n"}, "unknown YAML tag"),
        ({**FILES, SPEC: "- 1\n"}, "is no mapping"),
        ({**FILES, SPEC: 'kubernetes: "1.33"\nnodes: 3\n'}, "nodes"),
        ({**FILES, SPEC: "x" * 300_000}, "larger than 256 KiB"),
        ({SPEC: FILES[SPEC]}, "as the component cni of platform, is not in the commit"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_reason(
    bench: Bench, files: Mapping[str, str], problem: str
) -> None:
    assert problem in refused(bench, files=files)


@pytest.mark.parametrize("target", ["/proc/self/environ", "../../.."])
def test_a_link_of_a_component_to_what_the_hash_would_not_have_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "network").mkdir()
    (tmp_path / "chart").mkdir()
    (tmp_path / SPEC).write_text(FILES[SPEC])
    (tmp_path / "chart" / "values.yaml").symlink_to(target)
    chart = replace(CNI, form=ComponentForm.CHART, path="chart")
    with pytest.raises(InvalidSpec, match=r"chart/values\.yaml"):
        read_spec(tmp_path, replace(PLATFORM, components=(chart,)))


def test_what_a_link_of_a_component_leads_to_is_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "network").mkdir()
    (tmp_path / SPEC).write_text(FILES[SPEC])
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "cni.yaml").symlink_to("../shared.yaml")
    (tmp_path / "shared.yaml").write_text("kind: DaemonSet\n")
    declared = replace(PLATFORM, components=(replace(CNI, path="parts"),))
    before = read_spec(tmp_path, declared)
    (tmp_path / "shared.yaml").write_text("kind: Deployment\n")
    assert read_spec(tmp_path, declared).hash != before.hash


def test_a_version_that_kubernetes_cannot_jump_to_is_refused(bench: Bench, known: CurrentCluster) -> None:
    current = replace(known, kubernetes="1.30", spec_hash="another")
    assert "1.30" in refused(bench, current=current)


SHOP = DeclaredCluster(
    "shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, "shop.yaml", "platform", management_spec=SPEC
)
SHOP_AT_132 = CurrentCluster("1.32", "old", ProviderName.SIMULATED, "1")


def both(workload: str, management: str) -> dict[str, str]:
    """Return the files of a commit with a workload cluster and its management cluster at these versions."""
    return {"shop.yaml": f'kubernetes: "{workload}"\n', SPEC: f'kubernetes: "{management}"\n'}


@pytest.mark.parametrize("management", [None, SHOP_AT_132])
def test_a_commit_that_changes_both_plans_a_workload_cluster_after_its_management_cluster(
    bench: Bench, management: CurrentCluster | None
) -> None:
    result = planned(bench, SHOP, both("1.33", "1.33"), current=SHOP_AT_132, management=management)
    assert stored(bench, result).workflow.operation is Operation.UPGRADE
    assert "after platform, which gets Kubernetes 1.33" in text(bench, result)


def test_a_workload_cluster_is_refused_whose_management_cluster_stays_older_at_this_commit(bench: Bench) -> None:
    newer = replace(SHOP_AT_132, kubernetes="1.33")
    why = refused(bench, SHOP, both("1.33", "1.32"), current=SHOP_AT_132, management=newer)
    assert "newer than 1.32" in why


def test_a_workload_cluster_is_refused_whose_management_cluster_has_no_file_at_this_commit(bench: Bench) -> None:
    files = {"shop.yaml": 'kubernetes: "1.33"\n', "network/main.tf": ""}
    assert "as the spec of platform" in refused(bench, SHOP, files, current=SHOP_AT_132)


def test_a_workload_cluster_is_refused_whose_management_cluster_the_commit_deletes(bench: Bench) -> None:
    orphan = replace(SHOP, management_spec="")
    assert "to be destroyed" in refused(bench, orphan, both("1.33", "1.33"), current=SHOP_AT_132)


def test_the_file_of_its_management_cluster_is_no_part_of_a_workload_cluster(tmp_path: Path) -> None:
    for name, content in both("1.33", "1.33").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert read_spec(tmp_path, SHOP) == read_spec(tmp_path, replace(SHOP, management_spec="elsewhere.yaml"))


def test_a_management_cluster_with_workload_clusters_is_not_deleted(bench: Bench, known: CurrentCluster) -> None:
    current = replace(known, workloads=("team",))
    assert "team" in refused(bench, current=current, destroy=True)
