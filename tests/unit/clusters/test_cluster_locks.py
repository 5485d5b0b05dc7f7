from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_artifact
from tests.fakes.ports import With, changed
from tests.unit.clusters.cluster_scenario import CURRENT, MANAGEMENT, PLAN, REPOSITORY, ClusterScenario
from tidegate.clusters.begin_cluster import with_known
from tidegate.clusters.rules.execution_refusals import (
    ClusterBusy,
    ClusterLocked,
    ClusterPlanAltered,
    MachineChanged,
    ResourcesHeld,
    StaleFence,
    WorkloadsLeft,
)
from tidegate.clusters.rules.record import Held, Lock
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, ProviderName
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.outcome import Cancellation
from tidegate.rules.errors import Conflict, DeploymentCancelled

WORKLOAD = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, "shop.yaml", "fleet")
CREATE = replace(PLAN, cluster=WORKLOAD, workflow=Workflow(ClusterKind.WORKLOAD, Operation.CREATE), steps=())
LOCK = Lock("other", "other", 3, NOW)


@pytest.fixture
def cluster():
    return ClusterScenario()


def test_a_workflow_locks_its_cluster_once_however_often_it_asks(cluster):
    assert cluster.begin() == 1
    assert cluster.begin("d1") == 1
    assert replace(cluster.record.lock, at=NOW) == Lock("d1", "d1", 1, NOW)
    assert (cluster.record.run.workflow, cluster.record.exists) == ("management-upgrade", True)


def test_the_number_of_a_lock_grows_with_every_holder(cluster):
    cluster.begin()
    cluster.end()
    assert cluster.begin(cluster.deployed(2)) == 2


def test_a_second_execution_is_refused_and_told_how_to_take_over(cluster):
    cluster.begin()
    with pytest.raises(ClusterLocked, match=r"d1.*tidegate cluster release acme/infra fleet"):
        cluster.begin(cluster.deployed(2))


def test_another_execution_of_the_same_deployment_is_refused(cluster):
    cluster.begin()
    with pytest.raises(DeploymentCancelled):
        cluster.begin("d1", execution="again")


def test_an_execution_without_the_lock_does_nothing(cluster):
    cluster.begin()
    with pytest.raises(StaleFence, match="d1 has it"):
        cluster.start("validate", execution="stale")
    cluster.end()
    with pytest.raises(StaleFence, match="nobody has it"):
        cluster.start("validate")


def test_a_plan_that_is_not_the_reviewed_one_is_refused(cluster):
    deployment = cluster.deployed()
    cluster.ports.artifacts.put("plans/1-plan-1/plan.tfplan", b"{}")
    with pytest.raises(ClusterPlanAltered):
        cluster.begin(deployment)


def test_a_plan_for_other_hooks_of_the_installation_is_refused(cluster):
    with pytest.raises(MachineChanged):
        cluster.begin(machine="other hooks")
    assert cluster.begin("d1", machine=PLAN.machine) == 1


def test_a_cancellation_before_its_begin_keeps_it_from_beginning(cluster):
    deployment = cluster.deployed()
    cancel_deployment(cluster.ports, deployment, "rhea", NOW, is_apply=True)
    with pytest.raises(DeploymentCancelled):
        cluster.begin(deployment)
    assert cluster.record.lock is None


def test_a_cancellation_ends_the_wait_for_a_lock(cluster):
    cluster.begin()
    waiting = cluster.deployed(2)
    with pytest.raises(ClusterLocked):
        cluster.begin(waiting)
    assert cancel_deployment(cluster.ports, waiting, "rhea", NOW, is_apply=True).done
    with pytest.raises(DeploymentCancelled):
        cluster.begin(waiting)


def test_a_workflow_that_waited_begins_once_the_other_has_ended(cluster):
    cluster.begin()
    waiting = cluster.deployed(2)
    with pytest.raises(ClusterLocked):
        cluster.begin(waiting)
    cluster.end()
    assert cluster.begin(waiting) == 2


def test_a_cancellation_of_a_running_workflow_keeps_its_next_task_from_beginning(cluster):
    cluster.begin()
    cluster.do("validate")
    assert cancel_deployment(cluster.ports, "d1", "rhea", NOW, is_apply=True).done
    with pytest.raises(DeploymentCancelled):
        cluster.start("back-up")
    cluster.fail("DeploymentCancelled")
    assert cluster.do("diagnose-management-cluster").next == "run"
    assert cluster.ports.deployments.get("d1").outcome.cancelled == Cancellation("rhea", NOW)


def test_the_apply_counts_as_taken_once_the_workflow_has_begun(cluster):
    cluster.begin()
    assert cluster.jobs.close("d1-apply-1") is True


def test_what_a_failed_workflow_holds_keeps_another_plan_from_beginning(cluster):
    cluster.failed_at("upgrade-cluster")
    assert [each.name for each in cluster.record.held] == ["backup"]
    edited = cluster.deployed(2, replace(PLAN, spec_hash="edited"))
    with pytest.raises(ResourcesHeld, match=r"backup.*its file or declaration has changed"):
        cluster.begin(edited)
    with pytest.raises(ResourcesHeld, match="its plan has changed"):
        cluster.begin(cluster.deployed(3, replace(PLAN, definition="other steps")))
    assert cluster.begin(cluster.deployed(4)) == 2


def test_a_changed_plan_begins_where_nothing_is_held(cluster):
    cluster.begin()
    cluster.fail()
    cluster.end_failed()
    assert cluster.begin(cluster.deployed(2, replace(PLAN, spec_hash="edited"))) == 2


def test_a_held_resource_of_a_cluster_without_a_run_keeps_nothing_from_beginning():
    cluster = ClusterScenario(current=None)
    cluster.known(MANAGEMENT, None, held=(Held("backup", "back-up", NOW),))
    assert cluster.begin() == 1


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.DELETE])
def test_a_workload_cluster_waits_for_its_management_cluster(cluster, operation):
    cluster.clusters.save(replace(cluster.record, lock=LOCK))
    plan = replace(CREATE, workflow=Workflow(ClusterKind.WORKLOAD, operation))
    with pytest.raises(ClusterBusy, match="Deploy shop again"):
        cluster.begin(cluster.deployed(1, plan))


def test_a_management_cluster_waits_for_its_workload_clusters(cluster):
    cluster.begin(cluster.deployed(1, CREATE))
    with pytest.raises(ClusterBusy, match="Deploy fleet again"):
        cluster.begin(cluster.deployed(2))


def test_only_one_of_two_workflows_of_a_cluster_begins_at_a_time(cluster):
    """Both have seen it unlocked."""
    before = cluster.clusters.clusters(REPOSITORY)
    cluster.begin(cluster.deployed(1))
    stale = changed(cluster.ports, clusters=With(cluster.clusters, clusters=lambda _repository: before))
    with pytest.raises(Conflict):
        ClusterScenario(ports=stale, current=None).begin(cluster.deployed(2))


def test_only_one_of_two_related_workflows_begins_at_a_time(cluster):
    """Both have seen the other one unlocked."""
    before = cluster.clusters.clusters(REPOSITORY)
    cluster.begin(cluster.deployed(1, CREATE))
    stale = changed(cluster.ports, clusters=With(cluster.clusters, clusters=lambda _repository: before))
    with pytest.raises(Conflict):
        ClusterScenario(ports=stale, current=None).begin(cluster.deployed(2))


def test_a_management_cluster_with_workload_clusters_is_not_deleted(cluster):
    cluster.known(WORKLOAD, None)
    plan = replace(PLAN, workflow=Workflow(ClusterKind.MANAGEMENT, Operation.DELETE))
    with pytest.raises(WorkloadsLeft, match="shop"):
        cluster.begin(cluster.deployed(1, plan))


def test_a_workload_cluster_is_deleted_although_others_name_it(cluster):
    cluster.known(WORKLOAD, None)
    cluster.known(replace(WORKLOAD, name="odd", management="shop"), None)
    plan = replace(CREATE, workflow=Workflow(ClusterKind.WORKLOAD, Operation.DELETE))
    assert cluster.begin(cluster.deployed(1, plan)) == 1


def job_of(cluster, declared):
    job = cluster.jobs.get(f"{cluster.deployed()}-apply-1")
    return replace(job, kind=JobKind.PLAN, plan_file=any_artifact(), run=replace(job.run, cluster=declared))


def test_a_plan_knows_what_its_cluster_is_and_which_workload_clusters_it_has(cluster):
    job = job_of(cluster, MANAGEMENT)
    cluster.known(WORKLOAD, None)
    known = with_known(cluster.ports, job)
    assert known.current == replace(CURRENT, workloads=("shop",))
    assert (known.begun, known.management) == (False, None)
    cluster.begin("d1")
    cluster.fail()
    assert with_known(cluster.ports, job).begun


def test_a_plan_of_a_new_cluster_knows_its_management_cluster(cluster):
    job = job_of(cluster, WORKLOAD)
    known = with_known(cluster.ports, job)
    assert (known.current, known.begun, known.management) == (None, False, CURRENT)
    cluster.known(WORKLOAD, None)
    assert with_known(cluster.ports, job).begun


def test_a_plan_of_a_root_module_knows_nothing_of_clusters(cluster):
    job = job_of(cluster, None)
    assert with_known(cluster.ports, job) is job
