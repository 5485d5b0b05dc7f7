"""The API servers that other tests take for clusters do what clusters do."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import sys
import time

import pytest

from tests.kubernetes.simulator import condition, simulated


def _deployment(name, image="agent:1", replicas=2):
    labels = {"app": name}
    containers = [{"name": "agent", "image": image}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "machines.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Machine", "plural": "machines", "singular": "machine"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"version": {"type": "string", "pattern": "^v1"}},
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def _machine(version):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Machine",
        "metadata": {"name": "first", "namespace": "default"},
        "spec": {"version": version},
    }


def _apply(cluster, manager, manifest, *more):
    arguments = ["apply", "--server-side", f"--field-manager={manager}", "--filename=-", *more]
    return cluster.kubectl(*arguments, given=manifest)


def test_what_another_field_manager_set_is_a_conflict_until_it_is_forced(cluster):
    assert _apply(cluster, "ours", _deployment("conflicts")).code == 0
    refused = _apply(cluster, "theirs", _deployment("conflicts", image="agent:2"))
    assert refused.code == 1
    assert "conflict" in refused.err
    assert "ours" in refused.err
    assert _apply(cluster, "theirs", _deployment("conflicts", image="agent:2"), "--force-conflicts").code == 0
    image = cluster.get("deployment", "conflicts")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "agent:2"


def test_a_deployment_becomes_available_and_is_observed_at_its_generation(cluster):
    with simulated(cluster):
        assert _apply(cluster, "ours", _deployment("waits")).code == 0
        waited = cluster.kubectl("wait", "--for=condition=Available", "deployment/waits", "--timeout=60s")
        assert waited.code == 0, waited
        assert _apply(cluster, "ours", _deployment("waits", replicas=3)).code == 0
        rolled = cluster.kubectl("rollout", "status", "deployment/waits", "--timeout=60s")
        assert rolled.code == 0, rolled
    found = cluster.get("deployment", "waits")
    assert found["metadata"]["generation"] == found["status"]["observedGeneration"] == 2
    assert found["status"]["readyReplicas"] == 3


def test_what_is_made_to_fail_is_observed_and_does_not_become_available(cluster):
    with simulated(cluster) as simulator:
        simulator.failing.add("fails")
        assert _apply(cluster, "ours", _deployment("fails")).code == 0
        assert cluster.kubectl("wait", "--for=condition=Available=False", "deployment/fails", "--timeout=60s").code == 0
        assert cluster.get("deployment", "fails")["status"]["observedGeneration"] == 1
        simulator.failing.clear()
        assert cluster.kubectl("wait", "--for=condition=Available", "deployment/fails", "--timeout=60s").code == 0


def test_nodes_become_ready(cluster):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "first"}}
    with simulated(cluster):
        assert _apply(cluster, "ours", node).code == 0
        assert cluster.kubectl("wait", "--for=condition=Ready", "node/first", "--timeout=60s").code == 0


def test_custom_resources_have_a_schema_and_a_status(cluster):
    def ready(found, well):
        observed = found["metadata"]["generation"]
        return {"observedGeneration": observed, "conditions": [condition("Ready", well)]}

    assert _apply(cluster, "ours", _DEFINITION).code == 0
    assert cluster.kubectl("wait", "--for=condition=Established", "crd/machines.example.com", "--timeout=60s").code == 0
    with simulated(cluster, {"/apis/example.com/v1/machines": ready}):
        assert "should match" in _apply(cluster, "ours", _machine("2")).err
        assert _apply(cluster, "ours", _machine("v1.20")).code == 0
        assert cluster.kubectl("wait", "--for=condition=Ready", "machine/first", "--timeout=60s").code == 0


def test_a_stranger_may_do_nothing(cluster):
    assert "Forbidden" in cluster.kubectl("get", "nodes", kubeconfig=cluster.strangers_kubeconfig).err


def test_nobody_else_reads_a_kubeconfig(cluster):
    assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600


def test_an_expired_client_is_not_known(cluster):
    asked = cluster.kubectl("get", "nodes", kubeconfig=cluster.expired_kubeconfig())
    assert asked.code == 1
    assert "logged in" in asked.err


def test_a_slow_server_answers_late(cluster):
    with cluster.slow(0.3) as kubeconfig:
        begun = time.monotonic()
        assert cluster.kubectl("get", "--raw=/readyz", kubeconfig=kubeconfig).out == "ok"
        # The handshake is an answer, too.
        assert time.monotonic() - begun > 0.6


def test_a_hanging_server_answers_when_it_goes_on(cluster):
    with cluster.hanging():
        assert cluster.kubectl("get", "nodes", "--request-timeout=1s").code == 1
    assert cluster.kubectl("get", "nodes").code == 0


def test_clusters_share_nothing_and_keep_their_objects_over_stop_expiry_and_upgrade(kubernetes, cluster):
    other = kubernetes.cluster("upgraded")
    assert other.kubectl("create", "namespace", "kept").code == 0
    assert "NotFound" in cluster.kubectl("get", "namespace", "kept").err
    other.stop()
    assert "refused" in other.kubectl("get", "nodes").err
    with other.slow(0) as kubeconfig:
        assert other.kubectl("get", "--raw=/readyz", kubeconfig=kubeconfig).code == 1
    other.start(expired=True)
    assert "expired" in other.kubectl("get", "nodes").err
    other.restart("1.21.2")
    assert '"gitVersion": "v1.21.2"' in other.kubectl("get", "--raw=/version").out
    assert other.kubectl("get", "namespace", "kept").code == 0
    other.stop()


def test_controllers_make_pods_and_finish_deletions(kubernetes):
    cluster = kubernetes.cluster("controlled", controllers=True)
    assert cluster.kubectl("create", "namespace", "short").code == 0
    manifest = _deployment("short")
    manifest["metadata"]["namespace"] = "short"
    assert _apply(cluster, "ours", manifest).code == 0
    waited = cluster.kubectl(
        "wait", "--for=condition=Progressing", "deployment/short", "--namespace=short", "--timeout=60s"
    )
    assert waited.code == 0, waited
    assert cluster.kubectl("delete", "namespace", "short", "--timeout=60s").code == 0
    cluster.stop()


_ENDLESS = """
import signal, sys
from pathlib import Path
from tests.kubernetes.servers import running_kubernetes
with running_kubernetes(Path(sys.argv[1])) as kubernetes:
    print(kubernetes.cluster("left")._server._process.pid, flush=True)
    signal.pause()
"""


@pytest.mark.usefixtures("kubernetes")
def test_servers_end_with_who_started_them(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    server = os.pidfd_open(int(process.stdout.readline()))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    # A pidfd can be read when its process has ended.
    ended, _, _ = select.select([server], [], [], 30)
    os.close(server)
    assert ended
