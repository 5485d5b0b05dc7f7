"""Helm charts, rendered by helm itself and applied to a real API server."""

from __future__ import annotations

import os

import pytest

from runner.faults import TaskFailed
from tests.runner.clusters.helm import helm_in
from tests.runner.clusters.manifests import component
from tidegate.deploys.rules.cluster import ClusterKind, ComponentForm, DeclaredCluster, ProviderName

SPEC = "network/cluster.yaml"
TASK = "install-workload-components"
CHART = "apiVersion: v2\nname: shop\nversion: 0.1.0\n"
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings"}
data: {size: "{{ .Values.size }}", kubernetes: "{{ .Capabilities.KubeVersion.Version }}"}
"""
FILES = {"chart/Chart.yaml": CHART, "chart/values.yaml": "size: small\n", "chart/templates/settings.yaml": TEMPLATE}


@pytest.fixture(scope="module")
def server(kubernetes):
    running = kubernetes.cluster("charts")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def helm(tmp_path_factory):
    directory = tmp_path_factory.mktemp("helm")
    if reason := helm_in(directory):
        pytest.skip(reason)
    return directory


@pytest.fixture
def shop(workflows, aws, server, helm, monkeypatch):
    """Return what makes the workflows of an adopted cluster with this chart."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(helm), os.environ["PATH"]]))
    aws.secrets["tidegate/clusters/acme/infra/shop"] = server.kubeconfig.read_text()

    def make(**files):
        chart = component("web", ComponentForm.CHART, "chart", namespace="web", values="web.yaml")
        declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.EXISTING, SPEC, "", (chart,))
        spec = 'kubernetes: "1.20"\nprovider: {secret: shop}\n'
        made = workflows(declared, {SPEC: spec, "web.yaml": "size: large\n", **FILES, **files})
        made.plan()
        made.run("create-workload-cluster")
        return made

    return make


def test_a_chart_is_installed_with_its_values_in_its_namespace_for_the_version_of_the_cluster(shop, server):
    made = shop()
    made.run(TASK)
    data = server.get("configmap", "web-settings", "--namespace=web")["data"]
    assert data == {"size": "large", "kubernetes": "v1.20.2"}
    assert made.run(TASK).found


def test_a_chart_for_another_version_of_kubernetes_is_refused(shop):
    made = shop(**{"chart/Chart.yaml": CHART + 'kubeVersion: ">=1.30.0"\n'})
    with pytest.raises(TaskFailed, match="cannot be rendered"):
        made.run(TASK)
    assert "incompatible with Kubernetes" in made.log


def test_a_hook_of_a_chart_is_refused_by_name(shop):
    hook = TEMPLATE.replace('-settings"}', '-job", annotations: {"helm.sh/hook": pre-install}}')
    made = shop(**{"chart/templates/job.yaml": hook})
    with pytest.raises(TaskFailed, match="web-job"):
        made.run(TASK)
