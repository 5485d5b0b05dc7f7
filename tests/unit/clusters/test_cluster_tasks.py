from __future__ import annotations

from dataclasses import replace

import pytest

from runner.steps import REPORT_SECONDS
from tests.unit.clusters.cluster_scenario import (
    AUTHORITY,
    CHECK,
    CURRENT,
    FUNCTION,
    ORDER_OF_TASKS,
    PLAN,
    TELL,
    TIDY,
    ClusterScenario,
)
from tidegate.clusters.rules.execution_refusals import FunctionNotListed, MissingValue, NotItsTurn, UnexpectedValue
from tidegate.clusters.rules.order import TaskOrder
from tidegate.clusters.rules.progress import LONGEST_VALUE, LONGEST_WARNING, MOST_VALUES, MOST_WARNINGS
from tidegate.clusters.rules.record import PhaseState, Place
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.deploys.rules.job import JobKind
from tidegate.rules.errors import NotFound

HOOK = {"hook": CHECK.name, "registrar": CHECK.registrar}
AUTHORITY_HOOK = {"hook": AUTHORITY.name, "registrar": AUTHORITY.registrar}
TELL_HOOK = {"hook": TELL.name, "registrar": TELL.registrar}
TIDY_HOOK = {"hook": TIDY.name, "registrar": TIDY.registrar}


@pytest.fixture
def cluster():
    cluster = ClusterScenario()
    cluster.begin()
    return cluster


def phase(cluster, task="", hook="", registrar=""):
    return cluster.record.run.phase(Place(task, hook, registrar))


def test_a_task_gets_a_job_of_the_apply_with_its_order_and_time_limit(cluster):
    begun = cluster.start("validate")
    job = cluster.jobs.get(begun.job)
    assert (job.id, job.kind, job.seconds, job.plan_file) == (
        "d1-task-1",
        JobKind.TASK,
        600 + 300,
        cluster.record.run.plan,
    )
    assert cluster.order(begun) == TaskOrder(
        PLAN.cluster, Operation.UPGRADE, "validate", 1, cluster.record.run.plan, current=CURRENT
    )
    assert (begun.next, begun.seconds, begun.size.seconds) == ("run", 900, 900)


def test_a_task_of_a_workload_cluster_knows_its_management_cluster(cluster):
    cluster.end()
    shop = replace(PLAN.cluster, name="shop", kind=ClusterKind.WORKLOAD, management="fleet")
    plan = replace(PLAN, cluster=shop, workflow=Workflow(ClusterKind.WORKLOAD, Operation.CREATE))
    workload = ClusterScenario(plan, None, cluster.ports)
    workload.begin(workload.deployed(2))
    order = workload.order(workload.start("validate", "d2"))
    assert order.current is None
    assert order.management == replace(cluster.record.current, workloads=("shop",))


def test_a_task_is_begun_once_however_often_it_is_asked_for(cluster):
    assert cluster.start("validate") == cluster.start("validate")
    assert cluster.record.run.jobs == 1


def test_another_attempt_has_another_job_and_closes_the_one_before(cluster):
    first = cluster.start("validate")
    second = cluster.start("validate", attempt=2)
    assert second.job != first.job
    assert cluster.jobs.hand_over(first.job, "token", "") is False
    assert phase(cluster, "validate").attempt == 2


def test_a_task_gets_what_it_needs_of_what_others_have_produced(cluster):
    for task in ORDER_OF_TASKS[:3]:
        cluster.do(task)
    order = cluster.order(cluster.start("wait"))
    assert order.values == (("paused", "paused of d1"),)


def test_a_task_without_what_it_needs_does_not_begin(cluster):
    with pytest.raises(MissingValue, match="paused"):
        cluster.start("wait")


def test_a_task_that_is_not_due_is_left_out_with_its_hooks_and_the_reason(cluster):
    begun = cluster.start("install-networking")
    assert (begun.next, begun.reason) == ("not needed", "It has no components.")
    assert phase(cluster, "install-networking").state is PhaseState.NOT_NEEDED


@pytest.mark.parametrize(
    ("task", "hook"),
    [("unknown", {}), ("validate", HOOK), ("", TELL_HOOK), ("diagnose-workload-cluster", {})],
)
def test_what_the_workflow_does_not_run_now_is_refused(cluster, task, hook):
    with pytest.raises(NotItsTurn):
        cluster.start(task, **hook)


def test_what_a_task_produces_is_kept_with_the_time_it_took(cluster):
    cluster.do("validate")
    assert cluster.clusters.context("acme/infra", "fleet", "d1") == {"management-cluster": "management-cluster of d1"}
    done = phase(cluster, "validate")
    assert (done.state, done.reason) == (PhaseState.DONE, "")
    assert done.ended_at > done.begun_at


def test_a_result_is_recorded_once(cluster):
    cluster.do("validate")
    before = cluster.record
    cluster.finish("validate")
    assert cluster.record == before


def test_a_result_that_is_not_there_is_not_recorded(cluster):
    cluster.start("validate")
    with pytest.raises(NotFound):
        cluster.finish("validate")


@pytest.mark.parametrize(
    "values",
    [(), (("management-cluster", "x"), ("more", "x")), (("management-cluster", "x" * (LONGEST_VALUE + 1)),)],
    ids=["missing", "unknown", "long"],
)
def test_a_task_may_produce_just_what_it_declares(cluster, values):
    cluster.result(cluster.start("validate").job, *values)
    with pytest.raises(UnexpectedValue):
        cluster.finish("validate")


def test_a_task_may_not_produce_too_many_values():
    names = tuple(f"v{number}" for number in range(MOST_VALUES + 1))
    validate = replace(PLAN.steps[0], produces=names)
    cluster = ClusterScenario(replace(PLAN, steps=(validate,)))
    cluster.begin()
    with pytest.raises(UnexpectedValue):
        cluster.do("validate")


def test_warnings_and_effects_that_were_there_before_are_shown(cluster):
    job = cluster.start("validate").job
    cluster.result(job, ("management-cluster", "x"), found=True, warnings=("It is slow.",))
    cluster.finish("validate")
    assert cluster.record.run.warnings == ("validate: It is slow.",)
    assert phase(cluster, "validate").reason


def test_of_many_long_warnings_the_record_keeps_the_first(cluster):
    job = cluster.start("validate").job
    many = tuple(f"{number} {'x' * 1000}" for number in range(2000))
    cluster.result(job, ("management-cluster", "x"), warnings=many)
    cluster.finish("validate")
    kept = cluster.record.run.warnings
    assert len(kept) == MOST_WARNINGS
    assert "x" in kept[0]
    assert "more" in kept[-1]
    assert max(map(len, kept)) == LONGEST_WARNING


def test_what_a_task_takes_is_held_from_its_beginning_until_another_gives_it_back(cluster):
    for task in ORDER_OF_TASKS[:2]:
        cluster.do(task)
    cluster.start("pause-gitops-agent")
    assert [each.name for each in cluster.record.held] == ["backup", "pause"]
    cluster.start("pause-gitops-agent", attempt=2)
    assert len(cluster.record.held) == 2
    cluster.result("d1-task-4", ("paused", "agent"))
    cluster.finish("pause-gitops-agent")
    cluster.do("resume-gitops-agent")
    assert [each.name for each in cluster.record.held] == ["backup"]


def test_a_hook_in_a_runner_gets_all_values_and_adds_its_own(cluster):
    for task in ORDER_OF_TASKS[:3]:
        cluster.do(task)
    begun = cluster.do("pause-gitops-agent", **AUTHORITY_HOOK)
    order = cluster.order(begun)
    assert (order.hook, order.registrar) == ("authority", "iam")
    assert {key for key, _ in order.values} == {"management-cluster", "backup", "paused"}
    assert "iam-authority" in cluster.clusters.context("acme/infra", "fleet", "d1")


def test_a_hook_has_its_whole_time_limit_beside_what_its_job_needs(cluster):
    for task in ORDER_OF_TASKS[:3]:
        cluster.do(task)
    begun = cluster.start("pause-gitops-agent", **AUTHORITY_HOOK)
    assert begun.seconds == begun.size.seconds
    assert begun.seconds - REPORT_SECONDS > AUTHORITY.seconds


def test_a_hook_that_is_a_function_is_called_with_references_and_has_no_job(cluster):
    begun = cluster.start("upgrade-cluster", **HOOK)
    assert (begun.next, begun.function, begun.seconds, begun.job) == ("call", FUNCTION, 60, "")
    assert begun.payload == {
        "repository": "acme/infra",
        "cluster": "fleet",
        "kind": "management",
        "operation": "upgrade",
        "deployment": "d1",
        "task": "upgrade-cluster",
        "hook": "check",
        "fence": 1,
        "values": {},
    }
    cluster.finish("upgrade-cluster", **HOOK)
    assert phase(cluster, "upgrade-cluster", "check", "repository").state is PhaseState.DONE


def test_a_hook_calls_only_functions_that_the_installation_lists():
    step = replace(PLAN.steps[5], after=(replace(CHECK, function="other"),))
    cluster = ClusterScenario(replace(PLAN, steps=(step,)))
    cluster.begin()
    with pytest.raises(FunctionNotListed, match="cluster_hooks"):
        cluster.start("upgrade-cluster", **HOOK)


def test_a_failed_task_fails_the_workflow(cluster):
    job = cluster.start("validate").job
    failed = cluster.fail_task("validate", cause='{"message": "The file is wrong."}')
    assert (failed.goes_on, failed.reason) == (False, "Oops: The file is wrong.")
    assert phase(cluster, "validate").state is PhaseState.FAILED
    assert cluster.jobs.hand_over(job, "token", "") is False


def test_a_failure_is_recorded_once(cluster):
    cluster.start("validate")
    assert cluster.fail_task("validate") == cluster.fail_task("validate")
    with pytest.raises(NotItsTurn):
        cluster.finish("validate")


def test_a_task_that_did_not_begin_can_fail(cluster):
    assert cluster.fail_task("wait").goes_on is False
    assert phase(cluster, "wait").state is PhaseState.FAILED


def test_the_failure_of_a_hook_may_be_only_a_warning(cluster):
    cluster.start("upgrade-cluster", **HOOK)
    assert cluster.fail_task("upgrade-cluster", **HOOK).goes_on
    assert cluster.record.run.warnings == ("hook check at upgrade-cluster: Oops",)
    assert cluster.fail_task("upgrade-cluster", **HOOK).goes_on


def test_a_result_of_what_never_began_is_refused(cluster):
    with pytest.raises(NotItsTurn):
        cluster.finish("validate")


def test_a_resumed_workflow_finds_what_was_done_and_its_values(cluster):
    resumed = ClusterScenario()
    resumed.failed_at("upgrade-cluster")
    resumed.begin(resumed.deployed(2))
    assert resumed.do("validate", "d2").next == "run", "validation always runs again"
    assert resumed.do("back-up", "d2").next == "done"
    assert resumed.clusters.context("acme/infra", "fleet", "d2")["backup"] == "backup of d1"
    assert resumed.record.run.phase(Place("back-up")).state is PhaseState.DONE_BEFORE


def test_what_was_given_back_is_taken_again_with_all_that_came_of_it():
    cluster = ClusterScenario()
    cluster.begin(cluster.deployed())
    for task in ORDER_OF_TASKS[:4]:
        cluster.do(task)
    cluster.do("pause-gitops-agent", **AUTHORITY_HOOK)
    cluster.start("upgrade-cluster")
    for task in cluster.fail().releases:
        cluster.do(task)
    cluster.end_failed()
    cluster.begin(cluster.deployed(2))
    assert {each: cluster.do(each, "d2").next for each in ORDER_OF_TASKS} == {
        "validate": "run",
        "back-up": "done",
        "pause-gitops-agent": "run",
        "wait": "run",
        "upgrade-cluster": "run",
        "resume-gitops-agent": "run",
    }
    assert cluster.start("pause-gitops-agent", "d2", **AUTHORITY_HOOK).next == "run"


@pytest.mark.parametrize(
    "changed",
    [
        replace(PLAN, spec_hash="edited"),
        replace(PLAN, provider_version="2"),
        replace(PLAN, definition="other steps"),
    ],
)
def test_a_checkpoint_holds_for_one_plan_only(changed):
    cluster = ClusterScenario()
    cluster.begin(cluster.deployed())
    cluster.do("validate")
    cluster.do("upgrade-cluster")
    cluster.fail()
    cluster.end_failed()
    cluster.begin(cluster.deployed(2, changed))
    cluster.do("validate", "d2")
    assert cluster.do("upgrade-cluster", "d2").next == "run"


def test_a_checkpoint_is_of_the_past_once_a_workflow_has_completed(cluster):
    cluster.do("validate")
    cluster.do("upgrade-cluster")
    cluster.end()
    cluster.begin(cluster.deployed(2))
    cluster.do("validate", "d2")
    assert cluster.do("upgrade-cluster", "d2").next == "run"


def test_hooks_at_the_end_always_run_again(cluster):
    assert cluster.do("", **TIDY_HOOK).next == "run"
    cluster.fail()
    assert cluster.do("", **TIDY_HOOK).next == "run"
    assert cluster.do("", **TELL_HOOK).next == "run"
    cluster.end_failed()
    cluster.begin(cluster.deployed(2))
    assert cluster.do("", "d2", **TIDY_HOOK).next == "run"


def test_after_an_error_nothing_else_begins(cluster):
    cluster.do("validate")
    cluster.fail()
    for task, hook in (("back-up", {}), ("upgrade-cluster", HOOK), ("delete-backup", {})):
        with pytest.raises(NotItsTurn):
            cluster.start(task, **hook)


def test_after_an_error_nothing_is_given_back_that_is_not_held(cluster):
    cluster.fail()
    assert cluster.start("resume-gitops-agent").next == "not needed"


def test_of_two_tasks_that_begin_at_once_each_has_an_order_of_its_own(cluster, monkeypatch):
    first, second = "diagnose-management-cluster", "diagnose-workload-cluster"
    cluster.fail()
    save, meanwhile = cluster.clusters.save, []

    def while_the_second_begins(*records):
        if not meanwhile:
            meanwhile.append(None)
            meanwhile[0] = cluster.start(second)
        return save(*records)

    monkeypatch.setattr(cluster.clusters, "save", while_the_second_begins)
    begun = cluster.start(first)
    assert cluster.order(begun).task == first
    assert cluster.order(meanwhile[0]).task == second


def test_diagnostics_take_what_is_there_and_their_own_time(cluster):
    cluster.do("validate")
    cluster.fail()
    begun = cluster.do("diagnose-management-cluster")
    assert cluster.order(begun).values == (("management-cluster", "management-cluster of d1"),)
    assert begun.seconds == 900 + 300
