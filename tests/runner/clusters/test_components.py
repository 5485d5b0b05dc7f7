"""Components on a real API server: applied on its side, in order, until they are ready; and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.clusters.api import Api
from runner.faults import ClusterUnreachable, TaskFailed
from tests.kubernetes.simulator import condition, simulated
from tests.runner.clusters.manifests import component, custom, definition, deployment, manifests, settings
from tests.runner.clusters.workflows import killed_at_every_call
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    DeclaredCluster,
    ProviderName,
)

SPEC = "network/cluster.yaml"
TASK = "install-workload-components"


@pytest.fixture(scope="module")
def server(kubernetes):
    running = kubernetes.cluster("components")
    yield running
    running.stop()


@pytest.fixture
def shop(workflows, aws, server):
    """Return what makes the workflows of an adopted cluster with these components and files, planned and validated."""

    def make(
        components,
        files,
        kubeconfig=None,
        repository="acme/infra",
        spec='kubernetes: "1.20"\nprovider: {secret: shop}\n',
    ):
        aws.secrets[f"tidegate/clusters/{repository}/shop"] = (kubeconfig or server.kubeconfig).read_text()
        declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.EXISTING, SPEC, "", tuple(components))
        made = workflows(declared, {SPEC: spec, **files}, repository=repository)
        made.plan()
        made.run("create-workload-cluster")
        return made

    return make


def test_kinds_and_namespaces_come_first_whatever_the_order_in_the_files(shop, server):
    objects = [
        custom("Sprocket", "first", "tools", size=1),
        deployment("tool", "tools"),
        definition("Sprocket", "sprockets"),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tools"}},
    ]
    made = shop([component("tools")], {"tools.yaml": manifests(*objects)})
    with simulated(server):
        assert not made.run(TASK).found
        assert made.run(TASK).found
    assert server.get("sprocket", "first", "--namespace=tools")["spec"] == {"size": 1}
    marks = server.get("deployment", "tool", "--namespace=tools")["metadata"]
    assert marks["labels"]["tidegate/component"] == "tools"
    assert {each["manager"] for each in marks["managedFields"]} >= {"tidegate"}


def test_what_a_component_no_longer_has_is_deleted(shop, server):
    made = shop([component("parts")], {"parts.yaml": manifests(settings("kept"), settings("dropped"))})
    made.run(TASK)
    made.plan(**{"parts.yaml": manifests(settings("kept", changed="yes"))})
    made.run("create-workload-cluster")
    assert not made.run(TASK).found
    assert "NotFound" in server.kubectl("get", "configmap", "dropped").err
    assert server.get("configmap", "kept")["data"] == {"changed": "yes"}


def test_a_component_that_is_declared_no_more_is_removed(shop, server):
    files = {"stays.yaml": manifests(settings("stays")), "goes.yaml": manifests(settings("goes"))}
    made = shop([component("stays"), component("goes")], files)
    made.run(TASK)
    made.cluster = replace(made.cluster, components=made.cluster.components[:1])
    made.plan()
    made.run("create-workload-cluster")
    made.run(TASK)
    assert "NotFound" in server.kubectl("get", "configmap", "goes").err
    assert server.kubectl("get", "configmap", "stays").code == 0


def test_what_another_repository_has_on_the_same_cluster_stays(shop, server):
    shop([component("theirs")], {"theirs.yaml": manifests(settings("theirs"))}, repository="acme/other").run(TASK)
    shop([component("ours")], {"ours.yaml": manifests(settings("ours"))}).run(TASK)
    assert server.kubectl("get", "configmap", "theirs").code == 0
    same = shop([component("theirs")], {"theirs.yaml": manifests(settings("another"))})
    with pytest.raises(TaskFailed, match="acme/other/shop"):
        same.run(TASK)
    assert server.kubectl("get", "configmap", "theirs").code == 0


def test_an_installation_may_be_killed_anywhere(shop, server):
    made = shop([component("robust")], {"robust.yaml": manifests(settings("robust-a"), settings("robust-b"))})
    made.run(TASK)
    made.plan(**{"robust.yaml": manifests(settings("robust-b", new="1"), settings("robust-c"))})
    made.run("create-workload-cluster")
    assert killed_at_every_call(lambda: made.run(TASK)) > 5
    labelled = server.get("configmap", "--selector=tidegate/component=robust", "--all-namespaces")["items"]
    assert {each["metadata"]["name"] for each in labelled} == {"robust-b", "robust-c", "tidegate-robust"}


def test_a_workflow_that_loses_its_lock_half_way_changes_nothing_more(shop, server, monkeypatch):
    made = shop([component("lost")], {"lost.yaml": manifests(*(settings(f"lost-{n}") for n in range(4)))})
    apply = Api.apply

    def taken_over(api, desired, **options):
        """Let a later workflow take the component once the second of its objects is there."""
        applied = apply(api, desired, **options)
        if desired["metadata"]["name"] == "lost-1":
            inventory = {"apiVersion": "v1", "kind": "ConfigMap"}
            metadata = {"name": "tidegate-lost", "namespace": "kube-system"}
            apply(api, {**inventory, "metadata": metadata, "data": {"fence": "9", "cluster": "acme/infra/shop"}})
        return applied

    monkeypatch.setattr(Api, "apply", taken_over)
    with pytest.raises(TaskFailed, match="lost its lock"):
        made.run(TASK)
    labelled = server.get("configmap", "--selector=tidegate/component=lost", "--namespace=default")["items"]
    assert [each["metadata"]["name"] for each in labelled] == ["lost-0", "lost-1"]


def test_fields_of_another_manager_are_a_conflict_that_names_object_field_and_manager(shop, server):
    given = deployment("shared", image="theirs:1")
    server.kubectl("apply", "--server-side", "--field-manager=helm-of-theirs", "--filename=-", given=given)
    made = shop([component("clash")], {"clash.yaml": manifests(deployment("shared"))})
    with pytest.raises(TaskFailed) as refused:
        made.run(TASK)
    for part in ("deployments/shared", "image", "helm-of-theirs"):
        assert part in str(refused.value)


def test_an_object_is_part_of_one_component_alone(shop):
    files = {"one.yaml": manifests(settings("contested")), "two.yaml": manifests(settings("contested"))}
    made = shop([component("one"), component("two")], files)
    with pytest.raises(TaskFailed, match="part of the component one"):
        made.run(TASK)


def test_what_does_not_become_ready_is_named_with_what_its_status_says(shop, server):
    made = shop([replace(component("sick"), seconds=3)], {"sick.yaml": manifests(deployment("sick"))})
    with simulated(server) as simulator:
        simulator.failing.add("sick")
        with pytest.raises(TaskFailed) as refused:
            made.run(TASK)
    assert "Deployment sick" in str(refused.value)
    assert "0 available" in str(refused.value)


def test_a_custom_object_is_ready_once_its_controller_has_observed_its_generation(shop, server):
    objects = [definition("Widget", "widgets"), custom("Widget", "slow", size=1)]
    made = shop([replace(component("widgets"), seconds=3)], {"widgets.yaml": manifests(*objects)})
    stale = {"/apis/example.com/v1/widgets": lambda _, well: {"conditions": [condition("Ready", "False")]}}
    made.run(TASK)  # Without any condition there is nothing to wait for.
    with simulated(server, stale):
        server.kubectl("annotate", "widget", "slow", "touched=1")
        server.kubectl("wait", "--for=condition=Ready=False", "widget/slow", "--timeout=30s")
        with pytest.raises(TaskFailed, match="condition Ready"):
            made.run(TASK)


def test_an_unknown_kind_is_refused(shop):
    made = shop([component("strange")], {"strange.yaml": manifests(custom("Gizmo", "one"))})
    with pytest.raises(TaskFailed, match="kind Gizmo"):
        made.run(TASK)


@pytest.mark.parametrize(
    ("text", "part"),
    [("a: [", "no YAML"), ("just text", "no object"), ("kind: ConfigMap\n", "no object")],
)
def test_files_that_are_no_manifests_are_refused(shop, text, part):
    made = shop([component("odd")], {"odd.yaml": text})
    with pytest.raises(TaskFailed, match=part):
        made.run(TASK)


def test_a_kustomization_is_rendered(shop, server):
    files = {
        "overlay/kustomization.yaml": "resources: [base.yaml]\nnamePrefix: shop-\nnamespace: default\n",
        "overlay/base.yaml": manifests(settings("kustomized", a="b")),
    }
    made = shop([component("kust", ComponentForm.KUSTOMIZATION, "overlay")], files)
    made.run(TASK)
    assert server.get("configmap", "shop-kustomized")["data"] == {"a": "b"}


def test_a_kustomization_that_cannot_be_rendered_says_so_in_the_log(shop):
    files = {"bad/kustomization.yaml": "patches: [{path: gone.yaml}]\n"}
    made = shop([component("kust2", ComponentForm.KUSTOMIZATION, "bad")], files)
    with pytest.raises(TaskFailed, match="cannot be rendered"):
        made.run(TASK)
    assert "no such file" in made.log


@pytest.mark.parametrize(
    "entry", ["https://example.com/app.yaml", "github.com/acme/app//base?ref=v1", "../../..", "../remote"]
)
def test_a_kustomization_that_names_what_is_not_in_the_commit_is_refused(shop, entry):
    files = {
        "overlay/kustomization.yaml": f"resources: ['{entry}']\n",
        "remote/kustomization.yaml": "Components: ['git@example.com:acme/app.git']\n",
    }
    made = shop([component("kust3", ComponentForm.KUSTOMIZATION, "overlay")], files)
    with pytest.raises(TaskFailed, match="not in the commit"):
        made.run(TASK)
    assert "kubectl" not in made.log


def test_kustomizations_may_be_made_of_each_other_and_of_lists_in_full(shop, server):
    inline = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: named}\nprefix: shared-\n"
    inline += "fieldSpecs: [{path: metadata/name}]\n"
    files = {
        "overlay/kustomization.yaml": json.dumps({"resources": ["../base"], "transformers": [inline]}),
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "base/all.yaml": manifests(settings("base")),
    }
    shop([component("kust4", ComponentForm.KUSTOMIZATION, "overlay")], files).run(TASK)
    assert server.kubectl("get", "configmap", "shared-base").code == 0


def test_what_renders_has_neither_credentials_nor_a_network(shop, server, tmp_path, monkeypatch):
    script = (
        "#!/bin/sh\nprintf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: seen, namespace: default}\\n"
        'data: {aws: "%s", proxy: "%s", git: "%s"}\\n\' "$(env | grep -c ^AWS_)" "$HTTPS_PROXY" "$GIT_ALLOW_PROTOCOL"\n'
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text(script)
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    files = {"overlay/kustomization.yaml": "namePrefix: shop-\n"}
    made = shop([component("kust5", ComponentForm.KUSTOMIZATION, "overlay")], files)
    with monkeypatch.context() as patched:
        patched.setattr("tests.runner.clusters.workflows.BIN", tmp_path / "bin")
        made.run(TASK)
    assert server.get("configmap", "seen")["data"] == {"aws": "0", "proxy": "http://127.0.0.1:9", "git": "none"}


def test_credentials_that_have_expired_are_told(shop, server):
    with pytest.raises(TaskFailed, match="does not accept the credentials"):
        shop([], {}, server.expired_kubeconfig())


def test_a_right_that_is_missing_is_told(shop, server):
    made = shop([component("denied")], {"denied.yaml": manifests(settings("denied"))}, server.strangers_kubeconfig)
    with pytest.raises(TaskFailed, match="forbids"):
        made.run(TASK)


def test_a_wrong_kubeconfig_is_told(workflows, aws):
    files = {SPEC: 'kubernetes: "1.20"\nprovider: {secret: shop}\n'}
    declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.EXISTING, SPEC)
    made = workflows(declared, files)
    made.plan()
    with pytest.raises(TaskFailed, match="no secret tidegate/clusters/acme/infra/shop"):
        made.run("validate")
    run = {"exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}}
    login = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": run}],
    }
    cases = {"just text": "mapping", "a: [": "YAML", "{}": "context", json.dumps(login): "its user has exec"}
    for text, part in cases.items():
        aws.secrets["tidegate/clusters/acme/infra/shop"] = text
        with pytest.raises(TaskFailed, match=part):
            made.run("validate")
    login["users"] = [{"name": "u", "user": {"token": "secret-token"}}]
    aws.secrets["tidegate/clusters/acme/infra/shop"] = json.dumps(login)
    with pytest.raises(ClusterUnreachable):
        made.run("validate")


def test_an_expired_certificate_is_told(shop, server):
    made = shop([], {})
    try:
        server.restart(expired=True)
        with pytest.raises(TaskFailed, match="certificate"):
            made.run("validate")
    finally:
        server.restart()


def test_a_silent_server_is_unreachable(shop, server, monkeypatch):
    made = shop([], {})
    monkeypatch.setattr("runner.clusters.api.TIMEOUT", (1, 1))
    with server.hanging(), pytest.raises(ClusterUnreachable):
        made.run("validate")
    made.run("validate")


def test_another_version_than_the_file_says_is_refused(shop):
    with pytest.raises(TaskFailed, match=r"Kubernetes v1\.20\.2"):
        shop([], {}, spec='kubernetes: "1.21"\nprovider: {secret: shop}\n')
