"""A cluster's life: created, upgraded with a failure in the middle, resumed, given up, deleted.

It is simulated, or one of a root module, whose API server is a real one.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.modules import thing
from tests.e2e.pages import run_tidegate
from tests.e2e.project import title
from tests.kubernetes.conftest import kubernetes

__all__ = ["kubernetes"]

NAME = "shop"
FILE = """\
version: 1
roots: []
clusters:
  - name: shop
    kind: workload
    provider: simulated
    spec: shop/cluster.yaml
    components:
      - {name: cni, role: networking, manifests: cni.yaml, version: 1.0.0}
      - {name: aws-iam-authenticator, role: package, manifests: cni.yaml}
    hooks:
      - {name: may, before: upgrade-cluster, run: [test, -e, ../may-upgrade]}
      - {name: tell, when: on-error, run: [echo, "$TIDEGATE_CLUSTER"], on_error: warn}
"""


@pytest.fixture
def server(kubernetes):
    running = kubernetes.cluster("e2e")
    yield running
    running.stop()


def spec(version):
    return f'kubernetes: "{version}"\n'


def cluster(project, *arguments):
    """Return what ``tidegate cluster`` says, as JSON."""
    words = (*arguments[:1], project.name, *arguments[1:])
    done = run_tidegate(project, "cluster", *words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def applied(project, sha, until="Applied"):
    """Approve the plan of a commit, and return the cluster once its deployment is so."""
    project.approved(sha, NAME)
    project.wait(sha, NAME, until)
    return cluster(project, "status", NAME)


def states(found):
    """Return the state of each task and hook that has one."""
    flow = found["workflow"]
    parts = [part for each in flow["tasks"] for part in (*each["before"], each["task"], *each["after"])]
    parts += [*flow["start"], *flow["end"], *flow["more"], *flow["on_error"], *flow["always"]]
    return {part["hook"] or part["task"]: part["state"] for part in parts}


def test_an_upgrade_that_fails_in_the_middle_goes_on_there_once_the_cause_is_gone(project):
    files = {"tidegate.yaml": FILE, "cni.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cni}\n"}
    made = applied(project, project.push_files({**files, "shop/cluster.yaml": spec("1.33")}))
    assert (made["state"], made["kubernetes"]) == ("ready", "1.33")
    assert states(made)["install-networking"] == "done"
    assert states(made)["install-authenticator"] == "done"

    failed = applied(project, project.push_files({"shop/cluster.yaml": spec("1.34")}), "The workflow failed")
    assert (failed["state"], failed["kubernetes"], failed["resumable"]) == ("failed", "1.33", True)
    assert failed["workflow"]["error"]["error"] == "TaskFailed"
    first = states(failed)
    assert (first["upgrade-networking"], first["may"], first["upgrade-cluster"]) == ("done", "failed", "not-reached")
    assert (first["tell"], first["diagnose-workload-cluster"]) == ("done", "done")

    repaired = project.push_files({"may-upgrade": "yes\n"})
    cluster(project, "resume", NAME)
    resumed = applied(project, repaired)
    assert (resumed["state"], resumed["kubernetes"], resumed["held"]) == ("ready", "1.34", [])
    second = states(resumed)
    assert (second["validate"], second["upgrade-networking"]) == ("done", "done-before")
    assert (second["may"], second["upgrade-cluster"]) == ("done", "done")

    gone = applied(project, project.push_files({"tidegate.yaml": f"{FILE}    destroy: true\n"}))
    assert (gone["state"], gone["workflow"]["operation"]) == ("absent", "delete")


def test_a_cluster_that_cannot_be_planned_says_why_on_its_check_run(project):
    sha = project.push_files({"tidegate.yaml": FILE, "cni.yaml": "{}\n", "shop/cluster.yaml": "nodes: 3\n"})
    run = project.wait(sha, NAME, "The plan failed")
    assert "nodes in the cluster's file is not known" in run["output"]["summary"] + title(run)
    assert cluster(project, "status")["clusters"] == []


def test_the_root_module_of_a_cluster_is_applied_by_a_run_of_the_terraform_machine_of_its_own(project, server):
    tidegate = project.tidegate
    secret = f"tidegate/clusters/{project.name}/{NAME}"
    tidegate.cloud.client("secretsmanager").create_secret(Name=secret, SecretString=server.kubeconfig.read_text())
    of_module = FILE.partition("    components")[0].replace("simulated", "terraform")
    module = project.backed(NAME, thing() + 'output "kubeconfig" { value = "shop" }\n')
    spec_file = spec("1.20") + "provider: {kubeconfig_output: kubeconfig}\n"
    files = {"tidegate.yaml": of_module, "shop/main.tf": module, "shop/cluster.yaml": spec_file}
    sha = project.push_files(files)
    made = applied(project, sha)
    assert (made["state"], made["kubernetes"]) == ("ready", "1.20")

    deployment = made["workflow"]["deployment"]
    nested = next(each for each in tidegate.executions("terraform", deployment) if each["name"].endswith("-apply"))
    assert (nested["name"], nested["status"]) == (f"{deployment}-apply", "SUCCEEDED")
    assert entered(tidegate, nested) == [
        "Begin the deployment",
        "What comes first?",
        "Start a runner for the apply",
        "Apply",
        "Record that it was applied",
        "Applied",
    ]
    [task] = [each["task"] for each in made["workflow"]["tasks"] if each["task"]["task"] == "create-workload-cluster"]
    assert task["apply"] == f"{deployment}-apply-2"
    told = run_tidegate(project, "logs", task["apply"])
    assert "Apply complete! Resources: 1 added" in told.stdout

    gone = applied(project, project.push_files({"tidegate.yaml": f"{of_module}    destroy: true\n"}))
    assert (gone["state"], gone["workflow"]["operation"]) == ("absent", "delete")


def entered(tidegate, execution):
    """Return the states that an execution has entered, in order."""
    found = tidegate.cloud.client("stepfunctions").get_execution_history(executionArn=execution["executionArn"])
    details = (each.get("stateEnteredEventDetails") for each in found["events"])
    return [each["name"] for each in details if each]
