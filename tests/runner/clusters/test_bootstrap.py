"""Bootstrap clusters of the provider ``command`` that no command makes: one that is there, or one that EKS makes."""

from __future__ import annotations

import pytest

from runner.faults import ClusterPlanRefused, ClusterUnreachable, TaskFailed
from tests.runner.clusters.workflows import Died, dying_at
from tidegate.clusters.rules.context import Access, reference_from
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, ProviderName

SPEC = "network/cluster.yaml"
HUB = DeclaredCluster("hub", ClusterKind.MANAGEMENT, ProviderName.COMMAND, SPEC)
CREATE, DELETE = "create-bootstrap-cluster", "delete-bootstrap-cluster"
TASKS = 'tasks: {create-management-cluster: ["true"], delete-management-cluster: ["true"]}'
EKS = "{role: 'arn:aws:iam::123456789012:role/eks', node_role: 'arn:aws:iam::123456789012:role/node', subnets: [a, b]}"
KUBECONFIG = """\
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


def spec(place, bootstrap, tasks=TASKS):
    return f'kubernetes: "1.33.4"\nbootstrap: {place}\nprovider:\n  {tasks}\n  bootstrap: {bootstrap}\n'


@pytest.fixture
def hub(workflows, monkeypatch):
    """Make workflows with such a file. No API server is asked, and nothing waits between two questions to EKS."""
    monkeypatch.setattr("runner.clusters.api.Api.version", lambda _: "v1.33.0")
    monkeypatch.setattr("runner.clusters.moving.objects", lambda _: [])
    monkeypatch.setattr("runner.clusters.work._PAUSE", 0.0)

    def make(text):
        made = workflows(HUB, {SPEC: text})
        made.plan()
        return made

    return make


@pytest.fixture
def made(aws):
    """Return the only cluster that EKS has."""

    def only():
        ((name, found),) = aws.eks.items()
        return {**found, "name": name}

    return only


def test_eks_makes_one_with_its_own_nodes_and_deletes_it(hub, aws, made):
    platform = hub(spec("eks", EKS))
    platform.run("validate")
    platform.run(CREATE)
    found, reference = made(), reference_from(platform.values["bootstrap-cluster"])
    assert (reference.access, reference.place) == (Access.EKS, found["arn"])
    assert (found["version"], found["roleArn"]) == ("1.33", "arn:aws:iam::123456789012:role/eks")
    assert found["computeConfig"]["nodeRoleArn"] == "arn:aws:iam::123456789012:role/node"
    assert found["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]
    assert platform.run(CREATE).found
    platform.run(DELETE)
    assert aws.eks == {}
    assert platform.run(DELETE).found


def test_a_runner_may_die_at_any_call_and_makes_and_deletes_one_cluster(hub, aws):
    platform = hub(spec("eks", EKS))
    for task, left in ((CREATE, 1), (DELETE, 0)):
        for call in range(1, 30):
            try:
                with dying_at(call):
                    platform.run(task)
            except Died:
                continue
            break
        assert len(aws.eks) == left


def test_one_that_eks_cannot_make_is_told_and_still_deleted(hub, aws):
    aws.eks_becomes = {"CREATING": "FAILED", "DELETING": ""}
    platform = hub(spec("eks", EKS))
    with pytest.raises(TaskFailed, match="could not make"):
        platform.run(CREATE)
    platform.run(DELETE)
    assert aws.eks == {}


def test_one_that_is_being_made_is_deleted_once_it_is_there_and_made_again(hub, aws, made):
    platform = hub(spec("eks", EKS))
    platform.run(CREATE)
    name = made()["name"]
    aws.eks[name]["status"] = "CREATING"
    platform.run(DELETE)
    assert aws.eks == {}
    platform.run(CREATE)
    aws.eks[name]["status"] = "DELETING"
    platform.run(CREATE)
    assert made()["status"] == "ACTIVE"


def test_one_of_somebody_else_is_left_alone(hub, aws, made):
    platform = hub(spec("eks", EKS))
    platform.run(CREATE)
    aws.eks[made()["name"]]["tags"] = {}
    for task in ("validate", CREATE, DELETE):
        with pytest.raises(TaskFailed, match="somebody else"):
            platform.run(task)
    assert made()["status"] == "ACTIVE"


@pytest.mark.parametrize(("status", "fault"), [(403, TaskFailed), (503, ClusterUnreachable), (429, ClusterUnreachable)])
def test_what_eks_refuses_says_which_rights_are_needed_and_what_may_pass_is_tried_again(
    hub, aws, monkeypatch, status, fault
):
    monkeypatch.setattr(aws, "create_cluster", lambda _request: (status, b"no"))
    platform = hub(spec("eks", EKS))
    with pytest.raises(fault) as refusal:
        platform.run(CREATE)
    assert ("eks:CreateCluster" in str(refusal.value)) is (fault is TaskFailed)


def test_one_that_is_there_is_adopted_and_left_alone(hub, aws):
    aws.secrets["tidegate/clusters/acme/infra/kind"] = KUBECONFIG
    platform = hub(spec("existing", "{secret: kind}"))
    for task in ("validate", CREATE, CREATE, DELETE, DELETE):
        platform.run(task)
    reference = reference_from(platform.values["bootstrap-cluster"])
    assert (reference.access, reference.place) == (Access.SECRET, "kind")


@pytest.mark.parametrize(
    ("place", "bootstrap", "problem"),
    [
        ("eks", "{role: a, node_role: b}", "subnets"),
        ("eks", "{role: a, subnets: [a]}", "node_role"),
        ("eks", "{role: a, node_role: b, subnets: a}", "subnets"),
        ("eks", "{rle: a}", "role"),
        ("eks", "[a]", "no mapping"),
        ("existing", "{role: a}", "eks"),
    ],
)
def test_what_it_is_made_of_is_checked_before_anything_happens(hub, place, bootstrap, problem):
    with pytest.raises(TaskFailed, match=problem):
        hub(spec(place, bootstrap)).run("validate")


def test_it_is_made_in_one_way(hub):
    both = TASKS[:-1] + f', {CREATE}: ["true"]}}'
    with pytest.raises(TaskFailed, match="say one"):
        hub(spec("eks", EKS, both)).run("validate")


@pytest.mark.parametrize(("place", "bootstrap"), [("eks", "null"), ("existing", "null"), ("host", EKS)])
def test_a_file_that_does_not_say_how_it_comes_about_is_refused_by_the_plan(hub, place, bootstrap):
    with pytest.raises(ClusterPlanRefused, match="create-bootstrap-cluster"):
        hub(spec(place, bootstrap))
