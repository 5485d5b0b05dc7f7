"""What management clusters do to each other's objects on real API servers: pivot, pause, back up, and diagnose."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import pytest

from runner.faults import TaskFailed
from tests.kubernetes.simulator import simulated
from tests.runner.clusters.manifests import definition, deployment, settings
from tests.runner.clusters.workflows import killed_at_every_call
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, ProviderName

SPEC = "network/cluster.yaml"
PLATFORM = DeclaredCluster("platform", ClusterKind.MANAGEMENT, ProviderName.COMMAND, SPEC)
FILE = """
kubernetes: "1.20"
bootstrap: existing
gitops: flux
provider:
  tasks:
    create-bootstrap-cluster: [sh, say.sh, bootstrap-cluster=secret:bootstrap]
    create-management-cluster: [sh, say.sh, management-cluster=secret:management]
    upgrade-cluster: ["true"]
    delete-bootstrap-cluster: ["true"]
    delete-management-cluster: ["true"]
"""
FILES = {SPEC: FILE, "network/say.sh": 'for each in "$@"; do echo "$each" >> "$TIDEGATE_VALUES"; done\n'}
MOVED = "clusterctl.cluster.x-k8s.io"
GROUP = "infra.example.com"


@pytest.fixture(scope="module")
def servers(kubernetes):
    running = kubernetes.cluster("bootstrap"), kubernetes.cluster("management")
    kinds = [definition("Machine", "machines", GROUP), definition("Owner", "owners", GROUP)]
    for each in kinds:
        each["metadata"]["labels"] = {MOVED: ""}
    # Flux's own fields do not matter here.
    kinds += [definition("Kustomization", "kustomizations", "kustomize.toolkit.fluxcd.io")]
    kinds += [definition("Cluster", "clusters", "cluster.x-k8s.io")]
    kinds[-1]["spec"]["versions"][0]["name"] = "v1beta1"
    kinds[-1]["metadata"] |= {"labels": {MOVED: ""}, "annotations": {"api-approved.kubernetes.io": "unapproved"}}
    for server in running:
        for each in kinds:
            assert server.kubectl("apply", "--filename=-", given=each).code == 0
        for each in kinds:
            name = f"crd/{each['metadata']['name']}"
            assert server.kubectl("wait", "--for=condition=Established", name, "--timeout=60s").code == 0
    yield running
    for server in running:
        server.stop()


@pytest.fixture
def platform(workflows, aws, servers):
    """Return the workflows of a management cluster; both of its clusters answer."""
    for name, server in zip(("bootstrap", "management"), servers, strict=True):
        aws.secrets[f"tidegate/clusters/acme/infra/{name}"] = server.kubeconfig.read_text()
        clean(server)
    made = workflows(PLATFORM, FILES)
    made.plan()
    made.run("validate")
    made.run("create-bootstrap-cluster")
    made.run("create-management-cluster")
    return made


def clean(server):
    for kind in ("machines", "owners", "clusters.cluster.x-k8s.io"):
        for each in server.get(kind, "--all-namespaces")["items"]:
            place = (kind, each["metadata"]["name"], f"--namespace={each['metadata']['namespace']}")
            server.kubectl("patch", *place, "--type=merge", '--patch={"metadata":{"finalizers":null}}')
            server.kubectl("delete", *place, "--wait=false")


def machine(name, owner=None, **metadata):
    references = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "fleet", "finalizers": [f"{GROUP}/machine"], **references, **metadata},
        "spec": {"of": name},
    }


def cluster(name, **spec):
    metadata = {"name": name, "namespace": "fleet"}
    return {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": metadata, "spec": {"a": 1, **spec}}


def put(server, *objects):
    server.kubectl("create", "namespace", "fleet")
    for each in objects:
        done = server.kubectl("apply", "--filename=-", given=each)
        assert done.code == 0, done


def owner_of(found):
    return {key: found[key] for key in ("apiVersion", "kind")} | {
        "name": found["metadata"]["name"],
        "uid": found["metadata"]["uid"],
    }


def filled(source):
    """Put a cluster with machines and a secret at the source, each owned by the one before."""
    put(source, cluster("shop"), cluster("held", paused=True))
    above = owner_of(source.get("clusters.cluster.x-k8s.io", "shop", "--namespace=fleet"))
    put(source, machine("one", above), machine("two", above))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-ca", "namespace": "fleet"}}
    secret["metadata"]["ownerReferences"] = [owner_of(source.get("machines", "one", "--namespace=fleet"))]
    put(source, {**secret, "stringData": {"key": "very-secret-0123"}})


def names(server, kind):
    return sorted(each["metadata"]["name"] for each in server.get(kind, "--namespace=fleet")["items"])


def check_moved(source, target):
    assert names(source, "machines") == names(source, "clusters.cluster.x-k8s.io") == []
    assert names(target, "machines") == ["one", "two"]
    assert names(target, "clusters.cluster.x-k8s.io") == ["held", "shop"]
    shop = target.get("clusters.cluster.x-k8s.io", "shop", "--namespace=fleet")
    one = target.get("machines", "one", "--namespace=fleet")
    assert one["metadata"]["ownerReferences"][0]["uid"] == shop["metadata"]["uid"]
    assert one["metadata"]["finalizers"] == [f"{GROUP}/machine"]
    secret = target.get("secret", "shop-ca", "--namespace=fleet")
    assert secret["metadata"]["ownerReferences"][0]["uid"] == one["metadata"]["uid"]
    assert "paused" not in shop["spec"]
    assert not any("paused" in mark for each in (shop, one, secret) for mark in each["metadata"]["annotations"])
    # A person's own pause stays.
    assert target.get("clusters.cluster.x-k8s.io", "held", "--namespace=fleet")["spec"]["paused"] is True


def test_a_pivot_moves_every_object_once(platform, servers):
    source, target = servers
    filled(source)
    target.kubectl("delete", "secret", "shop-ca", "--namespace=fleet")
    assert not platform.run("pivot-to-management").found
    check_moved(source, target)
    assert platform.run("pivot-to-management").found


def test_a_pivot_may_be_killed_at_every_call_and_loses_and_doubles_nothing(platform, servers):
    source, target = servers
    target.kubectl("delete", "secret", "shop-ca", "--namespace=fleet")
    filled(source)
    assert killed_at_every_call(lambda: platform.run("pivot-to-management")) > 20
    check_moved(source, target)


def test_an_object_of_the_same_name_at_the_target_is_not_overwritten(platform, servers):
    source, target = servers
    put(source, machine("same"))
    put(target, machine("same"))
    with pytest.raises(TaskFailed, match="Machine same"):
        platform.run("pivot-to-management")
    assert names(source, "machines") == ["same"]


def test_a_bootstrap_cluster_that_owns_something_is_not_deleted(platform, servers):
    put(servers[0], machine("left"))
    with pytest.raises(TaskFailed, match="Machine left"):
        platform.run("delete-bootstrap-cluster")
    clean(servers[0])
    platform.run("delete-bootstrap-cluster")


@pytest.fixture
def upgrade(platform):
    """Return the workflows at an upgrade, of which the management cluster is known."""
    platform.current = platform.made("1.20")
    platform.plan(**{SPEC: FILE.replace("1.20", "1.21")})
    platform.run("validate")
    return platform


def test_clusters_are_paused_and_only_those_are_resumed(upgrade, servers):
    _, management = servers
    put(management, cluster("shop"), cluster("held", paused=True), cluster("platform"))

    def paused():
        found = management.get("clusters.cluster.x-k8s.io", "--namespace=fleet")["items"]
        return {each["metadata"]["name"] for each in found if each["spec"].get("paused")}

    upgrade.run("pause-other-clusters")
    assert json.loads(upgrade.values["paused-clusters"]) == ["shop"]
    assert paused() == {"shop", "held"}
    upgrade.run("pause-other-clusters")
    assert json.loads(upgrade.values["paused-clusters"]) == ["shop"]
    upgrade.run("resume-other-clusters")
    upgrade.run("resume-other-clusters")
    assert paused() == {"held"}


def test_a_gitops_agent_is_paused_and_resumed(upgrade, servers):
    _, management = servers
    metadata = {"name": "apps", "namespace": "fleet"}
    put(
        management,
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": {"path": "x"},
        },
    )
    upgrade.run("pause-gitops-agent")
    assert upgrade.values["paused-gitops"] == "flux"
    assert management.get("kustomizations", "apps", "--namespace=fleet")["spec"]["suspend"] is True
    upgrade.run("resume-gitops-agent")
    assert "suspend" not in management.get("kustomizations", "apps", "--namespace=fleet")["spec"]


def test_a_backup_has_all_objects_and_no_secret(upgrade, servers, aws):
    filled(servers[1])
    upgrade.run("back-up")
    key = upgrade.values["backup"]
    lines = [json.loads(each) for each in gzip.decompress(aws.objects[key]).splitlines()]
    assert {each["metadata"]["name"] for each in lines} == {"shop", "held", "one", "two"}
    assert upgrade.run("back-up").found
    upgrade.run("delete-backup")
    upgrade.run("delete-backup")
    assert key not in aws.objects


def test_an_upgrade_over_two_minor_versions_is_refused(upgrade):
    upgrade.files = {**upgrade.files, SPEC: FILE.replace("1.20", "1.22")}
    upgrade.current = upgrade.made("1.21")  # So it was recorded, but the server has another version.
    upgrade.plan()
    with pytest.raises(TaskFailed, match=r"1\.21"):
        upgrade.run("validate")


def test_diagnostics_tell_what_is_not_ready_and_no_secret(platform, servers, aws):
    _, management = servers
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e1", "namespace": "default"},
        "involvedObject": {"kind": "Deployment", "name": "ill", "namespace": "default"},
        "reason": "Unhappy",
        "message": "it is not well",
        "type": "Warning",
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "never"},
        "stringData": {"a": "very-secret-9876"},
    }
    put(management, deployment("ill"), event, secret, settings("harmless"))
    del platform.values["bootstrap-cluster"]
    with simulated(management) as simulator:
        simulator.failing.add("ill")
        management.kubectl("wait", "--for=condition=Available=False", "deployment/ill", "--timeout=60s")
    platform.run("diagnose-management-cluster")
    [bundle] = [content for key, content in aws.objects.items() if key.endswith(".zip")]
    with zipfile.ZipFile(io.BytesIO(bundle)) as file:
        read = {name: file.read(name).decode() for name in file.namelist()}
    assert "Deployment ill" in read["not-ready.txt"]
    assert "it is not well" in read["events.txt"]
    assert "v1.20.2" in read["version.txt"]
    assert "very-secret-9876" not in "".join(read.values())


def test_diagnostics_of_a_cluster_that_does_not_answer_are_what_is_known(platform, servers, aws):
    _, management = servers
    del platform.values["bootstrap-cluster"]
    management.stop()
    try:
        platform.run("diagnose-management-cluster")
    finally:
        management.start()
    [bundle] = [content for key, content in aws.objects.items() if key.endswith(".zip")]
    with zipfile.ZipFile(io.BytesIO(bundle)) as file:
        assert "does not answer" in file.read("problems.txt").decode()


def test_diagnostics_of_a_cluster_that_nobody_has_made_are_none(platform):
    assert platform.run("diagnose-workload-cluster").found
