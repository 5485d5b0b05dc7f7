from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_root
from tests.fakes import MemoryForge
from tests.fakes.ports import changed
from tests.unit.clusters.cluster_scenario import MANAGEMENT, ORDER_OF_TASKS, REPOSITORY, ClusterScenario
from tidegate.clusters.operate import check_operation, release_cluster
from tidegate.clusters.rules.audit import ClusterOperation
from tidegate.clusters.rules.execution_refusals import NoCluster, StaleFence
from tidegate.clusters.rules.record import Held, Lock
from tidegate.deploys.authorize import person_asking
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import Trigger
from tidegate.ports import KnownRepository
from tidegate.requests.resume_cluster import resume_cluster
from tidegate.rules.access import Access
from tidegate.rules.permission import Permission

BY = "rhea"


@pytest.fixture
def cluster():
    cluster = ClusterScenario()
    cluster.ports.repository_index.remember(KnownRepository(REPOSITORY, "main", "a" * 40, NOW))
    return cluster


def release(cluster, reason="It is hopeless."):
    return release_cluster(cluster.ports, REPOSITORY, "fleet", BY, reason)


def resume(cluster):
    return resume_cluster(cluster.ports, REPOSITORY, "fleet", BY)


def audited(cluster):
    return [each.body["state"] for each in cluster.ports.audit.published]


def test_an_unknown_cluster_is_neither_resumed_nor_released(cluster):
    for refused in (
        lambda: resume_cluster(cluster.ports, REPOSITORY, "none", BY),
        lambda: release_cluster(cluster.ports, REPOSITORY, "none", BY),
    ):
        with pytest.raises(NoCluster):
            refused()


def test_a_failed_workflow_is_resumed_by_a_new_deployment(cluster):
    cluster.failed_at("upgrade-cluster")
    assert resume(cluster).done
    (request,) = cluster.ports.events.sent
    assert request.event == "manual"
    assert request.fields == {"repository": REPOSITORY, "roots": ["fleet"], "by": BY, "resumes": True}
    assert audited(cluster) == ["CLUSTER_RESUMED"]


def with_request(cluster, **fields):
    cluster.failed_at("upgrade-cluster")
    deployment = cluster.ports.deployments.get("d1")
    cluster.ports.deployments.save(replace(deployment, request=replace(deployment.request, **fields)))


def test_the_deletion_of_a_cluster_that_is_declared_no_more_is_resumed_as_a_deletion(cluster):
    with_request(cluster, destroy=Destruction("d0"))
    assert resume(cluster).done
    (request,) = cluster.ports.events.sent
    assert request.fields == {"repository": REPOSITORY, "roots": ["fleet"], "by": BY, "destroy": True}


def test_a_workflow_of_a_pull_request_is_not_resumed_from_the_default_branch(cluster):
    with_request(cluster, trigger=Trigger.MANUAL, pull_request=7)
    assert "Apply #7 again" in resume(cluster).reason
    assert (audited(cluster), cluster.ports.events.sent) == ([], [])


def test_a_workflow_whose_deployment_has_no_record_any_more_is_resumed(cluster):
    cluster.failed_at("upgrade-cluster")
    cluster.clusters.save(replace(cluster.record, run=replace(cluster.record.run, deployment="gone")))
    assert resume(cluster).done


def test_a_workflow_that_runs_or_has_completed_is_not_resumed(cluster):
    assert "has not failed" in resume(cluster).reason
    cluster.begin()
    assert "d1 works on fleet" in resume(cluster).reason
    cluster.end()
    assert not resume(cluster).done
    assert (audited(cluster), cluster.ports.events.sent) == ([], [])


def test_an_operator_has_everything_given_back_that_a_failed_workflow_kept(cluster):
    cluster.failed_at("upgrade-cluster")
    assert release(cluster).done
    ((execution, deployment, of, error, cause),) = cluster.ports.cluster_workflows.errors
    assert (deployment, of, error, cause) == ("d1", execution, "Released", "rhea gave it up. It is hopeless.")
    failed = cluster.fail(error, cause, execution=execution)
    assert failed.releases == ("delete-backup",)
    begun = cluster.start("delete-backup", execution=execution)
    assert (begun.next, cluster.record.lock.fence) == ("run", 2)
    cluster.result(begun.job)
    cluster.finish("delete-backup", execution=execution)
    assert cluster.end_failed(execution=execution).error == "Oops"
    assert (cluster.record.held, cluster.record.lock) == ((), None)
    assert audited(cluster) == ["CLUSTER_RELEASED"]


def test_what_was_released_starts_over(cluster):
    cluster.failed_at("upgrade-cluster")
    release(cluster)
    execution = cluster.record.lock.execution
    cluster.start("delete-backup", execution=execution)
    cluster.result(cluster.record.run.phases[-1].job)
    cluster.finish("delete-backup", execution=execution)
    cluster.end_failed(execution=execution)
    assert not resume(cluster).done
    assert not release(cluster).done
    cluster.begin(cluster.deployed(2))
    assert {cluster.do(each, "d2").next for each in ORDER_OF_TASKS} == {"run"}


def test_a_cluster_that_holds_nothing_is_not_released(cluster):
    cluster.begin()
    cluster.end()
    assert "holds nothing" in release(cluster).reason
    assert audited(cluster) == []


def test_a_lock_is_not_taken_from_an_execution_that_runs(cluster):
    cluster.begin()
    for running in (
        ("cluster-management-upgrade-simulated", "d1"),
        ("cluster-error", "d1-error"),
        ("cluster-error", "d1"),
    ):
        cluster.ports.cluster_workflows.running = {running}
        assert "no lock is taken" in release(cluster).reason
    assert cluster.record.lock.fence == 1


def test_a_lock_whose_execution_is_gone_is_taken_and_the_old_one_has_it_no_more(cluster):
    cluster.begin()
    assert release(cluster).done
    assert cluster.record.lock.fence == 2
    with pytest.raises(StaleFence):
        cluster.start("validate")


def with_rule(cluster, access):
    cluster.failed_at("upgrade-cluster")
    deployment = cluster.ports.deployments.get("d1")
    settings = replace(deployment.settings, access=access)
    cluster.ports.deployments.save(replace(deployment, settings=settings))


def allowed(cluster, operation, permission=Permission.WRITE, login=BY):
    ports = changed(cluster.ports, people=MemoryForge())
    asking = person_asking(ports, REPOSITORY, login, permission)
    return check_operation(ports, asking, REPOSITORY, "fleet", operation)


@pytest.mark.parametrize("operation", ClusterOperation)
def test_who_may_write_may_operate_where_no_rule_says_otherwise(cluster, operation):
    cluster.failed_at("upgrade-cluster")
    assert allowed(cluster, operation).done
    assert not allowed(cluster, operation, Permission.READ).done


def test_access_control_says_who_resumes_and_who_releases(cluster):
    with_rule(cluster, Access(apply=("user:rhea",), unlock=("user:kim",)))
    assert allowed(cluster, ClusterOperation.RESUME).done
    assert not allowed(cluster, ClusterOperation.RELEASE).done
    assert allowed(cluster, ClusterOperation.RELEASE, login="kim").done


def test_a_cluster_whose_deployment_is_gone_or_never_was_is_operated_by_who_may_write(cluster):
    assert allowed(cluster, ClusterOperation.RELEASE).done
    lock = Lock("gone", "gone", 1, NOW)
    cluster.failed_at("upgrade-cluster")
    record = cluster.record
    run = replace(record.run, deployment="gone")
    cluster.clusters.save(replace(record, run=run, lock=lock, held=(Held("backup", "back-up", NOW),)))
    assert allowed(cluster, ClusterOperation.RELEASE).done
    assert any_root(name="fleet").name == MANAGEMENT.name
