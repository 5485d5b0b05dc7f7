"""Clusters of a root module: how they are reached where no record says so, and what proves their tasks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from runner.clusters.providers.terraform import Terraform
from runner.clusters.root_module import module_state
from runner.faults import TaskFailed
from tests.runner.clusters.workflows import Workflows
from tidegate.clusters.rules.context import Access, ClusterReference, Key, reference_from
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, DeclaredCluster, ProviderName

SPEC = "network/cluster.yaml"
SHOP = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.TERRAFORM, SPEC)
ADOPTED = CurrentCluster("1.20", "as it was", ProviderName.TERRAFORM, "1", cluster_hash="as it was")


def spec(version: str = "1.20", section: str = "{kubeconfig_output: kubeconfig}") -> str:
    return f'kubernetes: "{version}"\nprovider: {section}\n'


@pytest.fixture(scope="module")
def server(kubernetes):
    running = kubernetes.cluster("of-a-root-module")
    yield running
    running.stop()


@pytest.fixture
def module(tmp_path) -> str:
    return f"""
terraform {{
  backend "local" {{ path = "{tmp_path}/terraform.tfstate" }}
}}
resource "terraform_data" "cluster" {{ input = yamldecode(file("cluster.yaml")).kubernetes }}
output "kubeconfig" {{ value = "shop" }}
"""


@pytest.fixture
def shop(workflows, aws, server, module) -> Workflows:
    """A cluster that the root module has made, of which no record says how to reach it."""
    aws.secrets["tidegate/clusters/acme/infra/shop"] = server.kubeconfig.read_text()
    made: Workflows = workflows(SHOP, {"network/main.tf": module, SPEC: spec()})
    made.plan()
    made.all()
    return replace(made, current=ADOPTED, values={}, applied=[])


def by_secret(shop: Workflows) -> bool:
    reference = reference_from(shop.values["workload-cluster"])
    return (reference.name, reference.access, reference.place) == ("shop", Access.SECRET, "shop")


def test_an_adopted_cluster_is_upgraded_and_its_outputs_say_how_to_reach_it(shop):
    shop.plan(**{SPEC: spec("1.21")})
    done = shop.all()
    assert by_secret(shop)
    assert len(shop.applied) == 1
    [warning] = done["upgrade-cluster"].warnings
    assert "1.20" in warning
    assert "1.21" in warning


def test_an_upgrade_that_was_applied_before_is_found(shop):
    shop.plan(**{SPEC: spec("1.21")})
    shop.run("validate")
    shop.run("upgrade-cluster")
    shop.plan()
    shop.run("validate")
    assert shop.run("upgrade-cluster").found
    assert len(shop.applied) == 1


def test_an_adopted_cluster_is_deleted_even_if_its_api_server_does_not_answer(shop, aws):
    aws.secrets.clear()
    shop.plan(destroy=True)
    shop.all()
    assert by_secret(shop)
    assert len(shop.applied) == 1


def test_what_is_half_made_is_deleted_though_nothing_says_how_to_reach_it(workflows, module):
    half: Workflows = workflows(SHOP, {"network/main.tf": module.replace('"kubeconfig"', '"other"'), SPEC: spec()})
    half.plan()
    half.run("validate")
    with pytest.raises(TaskFailed, match="kubeconfig"):
        half.run("create-workload-cluster")
    half.plan(destroy=True)
    half.all()
    assert reference_from(half.values["workload-cluster"]).access is Access.UNKNOWN
    assert len(half.applied) == 2


def test_an_upgrade_of_what_nothing_says_how_to_reach_is_refused(shop, module):
    shop.plan(**{SPEC: spec("1.21", "{output: nowhere}")})
    with pytest.raises(TaskFailed, match="Nothing is known of how to reach"):
        shop.run("validate")


KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret/key+0123"}
EKS = "arn:aws:eks:eu-west-1:123456789012:cluster/shop"


def state(*resources: dict[str, Any], **outputs: Any) -> dict[str, Any]:
    """Return a state as ``terraform show -json`` prints it, with these resources in a module of the root module."""
    said = {name: {"value": value, "sensitive": name.startswith("secret")} for name, value in outputs.items()}
    return {"outputs": said, "root_module": {"child_modules": [{"resources": list(resources)}]}}


def eks(arn: str = EKS, **fields: Any) -> dict[str, Any]:
    return {"mode": "managed", "type": "aws_eks_cluster", "values": {"arn": arn}, **fields}


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ({}, ()),
        (state(eks()), (EKS,)),
        (state(eks(), eks(EKS + "-2")), (EKS, EKS + "-2")),
        (state(eks(mode="data"), eks(type="aws_iam_role"), eks(values={})), ()),
    ],
)
def test_the_state_of_a_module_names_the_clusters_that_it_manages(values, clusters):
    assert module_state(values).eks_clusters == clusters


def test_of_the_outputs_the_secret_ones_are_told_apart():
    found = module_state(state(cluster_arn=EKS, secret_key="hidden", secret_number=1))
    assert found.outputs == {"cluster_arn": EKS, "secret_key": "hidden", "secret_number": 1}
    assert found.secrets == ("hidden",)


class OfModule(Terraform):
    """The provider with a state that a test gives."""

    def __init__(self, operation: Operation, values: dict[str, Any], place: dict[str, str], **options: str) -> None:
        said: list[str] = []
        self._state = module_state(values)
        self._work = SimpleNamespace(
            name="shop",
            own_key=Key.WORKLOAD,
            options=options,
            order=SimpleNamespace(operation=operation, current=None),
            plan=SimpleNamespace(unchanged=False),
            place=SimpleNamespace(environ=place),
            reference=lambda _key: ClusterReference("shop", Access.EKS, EKS),
            say=said.append,
        )


@pytest.mark.parametrize(
    ("operation", "values", "options", "place"),
    [
        (Operation.UPGRADE, state(cluster_arn=EKS), {}, EKS),
        (Operation.UPGRADE, state(arn=EKS), {"output": "arn"}, EKS),
        (Operation.UPGRADE, state(eks()), {}, EKS),
        (Operation.UPGRADE, state(eks()), {"output": "arn"}, None),
        (Operation.DELETE, state(eks()), {"output": "arn"}, EKS),
        (Operation.DELETE, state(eks(), eks(EKS + "-2")), {}, None),
        (Operation.DELETE, state(cluster_arn=""), {}, None),
    ],
)
def test_how_to_reach_a_cluster_is_an_output_or_the_only_cluster_of_the_module(operation, values, options, place):
    found = OfModule(operation, values, {}, **options).status(Key.WORKLOAD).reference
    assert found == (ClusterReference("shop", Access.EKS, place) if place else None)


def test_a_deletion_is_proven_by_eks(aws):
    environ = {**KEYS, "AWS_ENDPOINT_URL": aws.url}
    provider = OfModule(Operation.DELETE, {}, environ)
    provider.delete(Key.WORKLOAD)
    aws.eks["shop"] = {"arn": EKS, "status": "ACTIVE"}
    with pytest.raises(TaskFailed, match="still has"):
        provider.delete(Key.WORKLOAD)
