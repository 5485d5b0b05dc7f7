"""The built-in actions of hooks, on a real API server and on a simulated one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.faults import TaskFailed
from tests.runner.clusters.manifests import component, manifests, settings
from tidegate.clusters.rules.context import Access, ClusterReference, reference_text
from tidegate.clusters.rules.plan import PlannedHook
from tidegate.deploys.rules.cluster import ClusterKind, ComponentRole, DeclaredCluster, HookPoint, ProviderName

SPEC = "network/cluster.yaml"
CREATE = "create-workload-cluster"


@pytest.fixture(scope="module")
def server(kubernetes):
    running = kubernetes.cluster("actions")
    yield running
    running.stop()


def package(name):
    return replace(component(name), role=ComponentRole.PACKAGE)


COMPONENTS = tuple(map(package, ("flux", "metrics", "aws-iam-authenticator")))
FILES = {f"{each.name}.yaml": manifests(settings(f"of-{each.name}")) for each in COMPONENTS}


@pytest.fixture
def shop(workflows, aws, server):
    aws.secrets["tidegate/clusters/acme/infra/shop"] = server.kubeconfig.read_text()
    spec = 'kubernetes: "1.20"\ngitops: flux\nprovider: {secret: shop}\n'
    declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.EXISTING, SPEC, "", COMPONENTS)
    made = workflows(declared, {SPEC: spec, **FILES})
    made.plan()
    made.run(CREATE)
    return made


@pytest.fixture
def act(monkeypatch):
    """Run an action, as a hook at the creation of the cluster."""

    def run(workflows, action, task=CREATE):
        hook = PlannedHook("h", "r", HookPoint.AFTER, task, action=action)
        monkeypatch.setattr("runner.clusters.job._hook", lambda _order, _plan: hook)
        return workflows.run(task, hook=hook)

    return run


def test_the_gitops_agent_is_the_component_of_its_name(shop, server, act):
    act(shop, "install-gitops-agent")
    assert server.kubectl("get", "configmap", "of-flux").code == 0
    assert server.kubectl("get", "configmap", "of-metrics").code == 1


def test_packages_are_installed_and_found(shop, server, act):
    act(shop, "install-packages")
    assert server.kubectl("get", "configmap", "of-metrics").code == 0
    assert act(shop, "install-packages").found


def test_the_configuration_is_written_once(shop, aws, act):
    act(shop, "write-configuration")
    written = json.loads(aws.objects["clusters/acme/infra/shop/configuration.json"])
    assert (written["name"], written["kubernetes"], written["reference"]["place"]) == ("shop", "1.20", "shop")
    assert act(shop, "write-configuration").found


def test_the_authority_of_the_iam_authenticator_is_made_once(shop, server, act):
    act(shop, "install-iam-authenticator")
    first = server.get("secret", "aws-iam-authenticator", "--namespace=kube-system")["data"]
    assert set(first) == {"tls.crt", "tls.key"}
    act(shop, "install-iam-authenticator")
    assert server.get("secret", "aws-iam-authenticator", "--namespace=kube-system")["data"] == first
    assert server.kubectl("get", "configmap", "of-aws-iam-authenticator").code == 0


def test_an_eks_cluster_needs_no_authenticator_and_another_one_without_it_is_told(workflows, act):
    declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, SPEC)
    shop = workflows(declared, {SPEC: 'kubernetes: "1.33"\n'})
    shop.plan()
    shop.run(CREATE)
    (warning,) = act(shop, "install-iam-authenticator").warnings
    assert "aws-iam-authenticator" in warning
    arn = "arn:aws:eks:eu-west-1:123456789012:cluster/shop"
    shop.values["workload-cluster"] = reference_text(ClusterReference("shop", Access.EKS, arn))
    assert act(shop, "install-iam-authenticator").found


def test_an_agent_that_is_no_component_is_told(shop, act):
    shop.cluster = replace(shop.cluster, components=())
    shop.plan()
    shop.run(CREATE)
    with pytest.raises(TaskFailed, match="component flux"):
        act(shop, "install-gitops-agent")


def test_an_unknown_action_is_refused_with_those_that_there_are(shop, act):
    with pytest.raises(TaskFailed, match="install-packages"):
        act(shop, "nonsense")


def test_the_authority_is_made_on_the_bootstrap_cluster_of_a_simulation(workflows, act):
    declared = DeclaredCluster("platform", ClusterKind.MANAGEMENT, ProviderName.SIMULATED, SPEC)
    platform = workflows(declared, {SPEC: 'kubernetes: "1.33"\n'})
    platform.plan()
    platform.run("create-bootstrap-cluster")
    result = act(platform, "create-iam-authority", "create-bootstrap-cluster")
    assert result.values == (("iam-authority", "aws-iam-authenticator"),)
