"""What people see of a cluster: its state, its workflow in order, and the context without what may be secret."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.clusters.cluster_scenario import FLEET, MANAGEMENT, PLAN, REPOSITORY, ClusterScenario
from tidegate.clusters.end_cluster import close_failed
from tidegate.clusters.get_cluster import get_cluster, get_clusters, workflow_of
from tidegate.clusters.operate import release_cluster
from tidegate.clusters.rules.context import Access, ClusterReference, Key, diff_text, reference_text
from tidegate.clusters.rules.execution_refusals import NoCluster
from tidegate.clusters.rules.overview import ClusterState, PartState
from tidegate.clusters.rules.plan import VersionChange
from tidegate.clusters.rules.shown_context import ShownValue, shown_context
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.messages.clusters import OfCluster


@pytest.fixture
def cluster():
    return ClusterScenario()


def shown(cluster):
    return get_cluster(cluster.ports, REPOSITORY, FLEET)


def states(cluster):
    return {each.task.place.task: each.task.state for each in shown(cluster).workflow.tasks}


def test_a_cluster_is_ready_works_fails_is_released_and_may_be_incomplete_then(cluster):
    assert shown(cluster).state is ClusterState.READY
    cluster.begin()
    assert shown(cluster).state is ClusterState.WORKING
    cluster.fail()
    cluster.end_failed()
    assert shown(cluster).state is ClusterState.FAILED
    release_cluster(cluster.ports, REPOSITORY, FLEET, "rhea", "Enough.")
    assert shown(cluster).state is ClusterState.RELEASING
    execution = cluster.record.lock.execution
    close_failed(cluster.ports, OfCluster(deployment="d1", execution=execution), "another")
    cluster.end_failed(execution=execution)
    assert shown(cluster).state is ClusterState.READY


@pytest.mark.parametrize(("exists", "state"), [(True, ClusterState.INCOMPLETE), (False, ClusterState.ABSENT)])
def test_a_cluster_that_no_workflow_has_completed_is_incomplete_or_absent(exists, state):
    cluster = ClusterScenario(current=None)
    cluster.known(MANAGEMENT, None, exists=exists)
    assert shown(cluster).state is state
    assert shown(cluster).workflow is None


def test_an_unknown_cluster_and_names_that_are_none_are_refused(cluster):
    for name in ("none", "a" * 2000):
        with pytest.raises(NoCluster):
            get_cluster(cluster.ports, REPOSITORY, name)


def test_management_clusters_come_first_with_their_workload_clusters(cluster):
    workload = replace(MANAGEMENT, name="a-shop", kind=ClusterKind.WORKLOAD, management=FLEET)
    cluster.known(workload, cluster.current)
    views = get_clusters(cluster.ports, REPOSITORY)
    assert [(view.record.name, view.workloads) for view in views] == [(FLEET, ("a-shop",)), ("a-shop", ())]


def test_tasks_are_shown_in_the_order_of_the_plan_with_what_has_not_begun(cluster):
    cluster.begin()
    cluster.do("validate")
    cluster.start("back-up")
    assert states(cluster) == {
        "validate": PartState.DONE,
        "back-up": PartState.RUNNING,
        "pause-gitops-agent": PartState.WAITING,
        "wait": PartState.WAITING,
        "install-networking": PartState.NOT_NEEDED,
        "upgrade-cluster": PartState.WAITING,
        "resume-gitops-agent": PartState.WAITING,
        "delete-backup": PartState.WAITING,
    }
    networking = next(each.task for each in shown(cluster).workflow.tasks if each.task.state is PartState.NOT_NEEDED)
    assert networking.reason == "It has no components."


def test_after_a_failure_the_rest_was_not_reached_and_hooks_of_the_end_wait_for_it(cluster):
    cluster.begin()
    cluster.do("validate")
    cluster.start("back-up")
    cluster.fail_task("back-up")
    cluster.fail()
    flow = shown(cluster).workflow
    assert flow.failed.name == "back-up"
    assert states(cluster)["wait"] is PartState.NOT_REACHED
    assert [each.state for each in (*flow.on_error, *flow.always)] == [PartState.WAITING] * 2
    cluster.start("diagnose-management-cluster")
    cluster.end_failed()
    flow = shown(cluster).workflow
    assert [each.title for each in flow.more] == ["Diagnose the management cluster"]
    assert [each.state for each in (*flow.on_error, *flow.always)] == [PartState.NOT_REACHED] * 2


def test_without_a_failure_no_hook_for_failures_is_shown(cluster):
    cluster.begin()
    assert shown(cluster).workflow.on_error == ()
    assert shown(cluster).workflow.failed is None


def test_a_hook_that_failed_needs_attention_and_is_named_with_its_task(cluster):
    cluster.begin()
    cluster.do("validate")
    hook = {"hook": "authority", "registrar": "iam"}
    cluster.do("back-up")
    cluster.do("pause-gitops-agent")
    cluster.start("pause-gitops-agent", **hook)
    cluster.fail_task("pause-gitops-agent", **hook)
    flow = shown(cluster).workflow
    assert [each.task.place.task for each in flow.tasks if each.needs_attention] == ["pause-gitops-agent"]
    assert flow.failed.name == "hook authority at pause-gitops-agent"


def test_the_failure_that_is_shown_is_the_first_one(cluster):
    cluster.begin()
    cluster.do("validate")
    cluster.start("back-up")
    cluster.fail_task("back-up")
    cluster.fail()
    cluster.ports.clock.advance(60)
    cluster.start("diagnose-management-cluster")
    cluster.fail_task("diagnose-management-cluster")
    assert shown(cluster).workflow.failed.place.task == "back-up"


def test_what_was_left_out_took_no_time_and_the_rest_until_now_or_its_end(cluster):
    cluster.begin()
    cluster.do("validate")
    cluster.do("install-networking")
    cluster.start("back-up")
    parts = {each.task.place.task: each.task for each in shown(cluster).workflow.tasks}
    begun = parts["back-up"].phase.begun_at
    assert parts["back-up"].took(begun + timedelta(seconds=5)) == timedelta(seconds=5)
    done = parts["validate"].phase
    assert parts["validate"].took(begun + timedelta(hours=5)) == done.ended_at - done.begun_at
    assert parts["install-networking"].took(begun) is None
    assert parts["wait"].took(begun) is None
    assert (parts["validate"].job, parts["wait"].job) == ("d1-task-1", "")


@pytest.mark.parametrize("lost", [True, False])
def test_without_its_plan_a_workflow_is_what_has_begun_of_it(cluster, lost):
    cluster.begin()
    cluster.do("validate")
    run = cluster.record.run
    if lost:
        cluster.clusters.save(cluster.record.with_run(replace(run, plan=replace(run.plan, key="gone"))))
    else:
        cluster.ports.artifacts.put(run.plan.key, b"{}")
    view = shown(cluster)
    assert view.plan is None
    assert [(each.title, each.state) for each in view.workflow.more] == [("validate", PartState.DONE)]
    assert view.workflow.tasks == ()


def test_the_workflow_of_a_deployment_is_the_last_one_of_its_cluster(cluster):
    cluster.failed_at("upgrade-cluster")
    first = cluster.ports.deployments.get("d1")
    record, flow = workflow_of(cluster.ports, first)
    assert (record.name, flow.failed.place.task) == (FLEET, "upgrade-cluster")
    second = cluster.deployed(2)
    assert workflow_of(cluster.ports, cluster.ports.deployments.get(second)) is None
    cluster.begin(second)
    assert workflow_of(cluster.ports, first) is None


def test_a_deployment_whose_workflow_has_not_begun_has_none():
    cluster = ClusterScenario(current=None)
    deployment = cluster.ports.deployments.get(cluster.deployed())
    assert workflow_of(cluster.ports, deployment) is None
    cluster.known(MANAGEMENT, None)
    assert workflow_of(cluster.ports, deployment) is None


def test_a_resume_shows_what_its_checkpoints_say(cluster):
    cluster.failed_at("upgrade-cluster")
    assert (shown(cluster).resume.done, shown(cluster).release.done) == (True, True)
    cluster.begin(cluster.deployed(2))
    cluster.do("validate", "d2")
    cluster.do("back-up", "d2")
    assert states(cluster)["back-up"] is PartState.DONE_BEFORE
    assert not shown(cluster).resume.done


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        (
            Key.WORKLOAD,
            reference_text(ClusterReference("shop", Access.SECRET, "a-secret")),
            "in the secret a-secret",
        ),
        (Key.MANAGEMENT, reference_text(ClusterReference("hub", Access.EKS, "arn:aws:eks:hub")), "arn:aws:eks:hub"),
        (Key.BOOTSTRAP, reference_text(ClusterReference("b", Access.SIMULATED)), "b (simulated)"),
        (Key.PAUSED_CLUSTERS, '["a","b"]', "a, b"),
        (Key.PAUSED_CLUSTERS, "[]", "none"),
        (Key.PAUSED_GITOPS, "flux", "flux"),
        (Key.BACKUP, "cluster-backups/1", "cluster-backups/1"),
        (Key.DIFF, diff_text((VersionChange("capi", "", "1.8"),)), "capi – → 1.8"),
        (Key.DIFF, "[]", "none"),
    ],
)
def test_values_of_the_context_are_shown_as_people_read_them(key, text, said):
    (value,) = shown_context({key: text})
    assert value.key == key
    assert said in value.text


@pytest.mark.parametrize("text", ["", "{}", "3", '{"name": 1, "access": "none", "place": ""}', "[1]"])
def test_a_value_that_cannot_be_read_is_not_shown(text):
    assert shown_context({"diff": text, "workload-cluster": text})[1].text is None


def test_what_hooks_add_to_the_context_is_not_shown_as_it_may_be_secret():
    assert shown_context({"token": "s3cret"}) == (ShownValue("token", None),)


def test_the_plan_says_which_versions_change(cluster):
    cluster.begin()
    assert shown(cluster).plan.versions == PLAN.versions
