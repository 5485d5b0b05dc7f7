"""The check run of a cluster's deployment follows its workflow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_job
from tests.fakes.ports import changed
from tests.unit.clusters.cluster_scenario import MANAGEMENT, PLAN, STEPS, ClusterScenario
from tidegate.check_runs.check_run_view import Links, present_check_run
from tidegate.check_runs.get_deployment import jobs_of
from tidegate.deploys.rules.cluster import ProviderName
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.advice import advice_on
from tidegate.vcs.rules.check_run import Conclusion

WEB = "https://tidegate.example"
PAGE = f"{WEB}/clusters/acme/infra/fleet"
TITLED = replace(PLAN, steps=tuple(replace(each, title=f"Do {each.task}") for each in STEPS))


@pytest.fixture
def cluster():
    return ClusterScenario(plan=TITLED)


def drawn(cluster, state=State.APPLYING, web=WEB, **fields):
    deployment = amended(cluster.ports.deployments.get("d1"), **fields)
    ports = changed(cluster.ports, links=Links(web=web))
    return present_check_run(ports, replace(deployment, state=state))


def test_while_the_workflow_runs_each_task_is_listed_with_how_far_it_is(cluster):
    cluster.begin()
    cluster.do("validate")
    begun = cluster.start("back-up")
    shown = drawn(cluster)
    assert shown.title == "Workflow: 2 of 8 tasks done"
    assert shown.status == "in_progress"
    for line in (
        "* Do validate: done",
        "* Do back\\-up: **running**",
        "* Do wait: waits",
        "* Do install\\-networking: not needed",
    ):
        assert line in shown.summary
    assert f"]({PAGE})" in shown.summary
    assert shown.details_url == f"{WEB}/jobs/{begun.job}"


def test_hooks_are_listed_once_there_is_something_to_see(cluster):
    cluster.begin()
    for task in ("validate", "back-up", "pause-gitops-agent"):
        cluster.do(task)
    hook = {"hook": "authority", "registrar": "iam"}
    assert "authority" not in drawn(cluster).summary
    cluster.start("pause-gitops-agent", **hook)
    assert "    * hook `authority`: **running**" in drawn(cluster).summary
    cluster.do("pause-gitops-agent", **hook)
    assert "authority" not in drawn(cluster).summary


def test_a_warning_is_listed_with_its_reason(cluster):
    cluster.begin()
    for task in ("validate", "back-up", "pause-gitops-agent", "wait", "upgrade-cluster"):
        cluster.do(task)
    cluster.start("upgrade-cluster", hook="check", registrar="repository")
    cluster.fail_task("upgrade-cluster", error="Slow", hook="check", registrar="repository")
    assert "only a warning: Slow" in drawn(cluster).summary


def test_while_a_failure_is_handled_it_is_said_what_failed_and_why(cluster):
    cluster.begin()
    cluster.do("validate")
    cluster.start("back-up")
    cluster.fail_task("back-up", error="Broken", cause='{"message": "No <b>bucket</b>."}')
    cluster.fail("Broken", '{"message": "No <b>bucket</b>."}')
    shown = drawn(cluster)
    assert shown.title == "The workflow failed at Do back-up"
    assert shown.status == "in_progress"
    assert "No &lt;b&gt;bucket" in shown.summary
    assert "It still holds `backup`." in shown.summary


def test_a_failed_apply_says_which_task_failed_why_and_that_running_it_again_resumes_there(cluster):
    cluster.failed_at("upgrade-cluster")
    shown = drawn(cluster, State.APPLY_FAILED)
    assert (shown.title, shown.conclusion) == ("The workflow failed at Do upgrade-cluster", Conclusion.FAILURE)
    assert "re-run this check" in shown.summary
    assert "goes on where it failed" in shown.summary
    assert "Do delete\\-backup: not reached" in shown.summary
    assert f"]({PAGE})" in shown.summary


def test_a_failed_hook_is_named_with_its_task(cluster):
    cluster.begin()
    for task in ("validate", "back-up", "pause-gitops-agent"):
        cluster.do(task)
    cluster.start("pause-gitops-agent", hook="authority", registrar="iam")
    cluster.fail_task("pause-gitops-agent", hook="authority", registrar="iam")
    cluster.fail()
    cluster.end_failed()
    assert drawn(cluster, State.APPLY_FAILED).title == "The workflow failed in the hook authority at pause-gitops-agent"


def test_a_workflow_that_failed_between_its_tasks_says_so(cluster):
    cluster.begin()
    cluster.fail("States.Timeout", "")
    cluster.end_failed()
    shown = drawn(cluster, State.APPLY_FAILED, web="")
    assert shown.title == "The workflow failed"
    assert "](/" not in shown.summary


@pytest.mark.parametrize("begun", [True, False])
def test_a_workflow_without_a_failure_of_its_own_says_why_its_deployment_failed(cluster, begun):
    cluster.deployed()
    if begun:
        cluster.begin("d1")
    shown = drawn(cluster, State.APPLY_FAILED, reason="It is locked.")
    assert shown.title == "The workflow failed"
    assert "It is locked" in shown.summary
    assert "the engine" not in shown.summary.lower()


@pytest.mark.parametrize("web", [WEB, ""])
def test_an_unknown_outcome_leads_to_the_cluster_and_not_to_the_engines_state(cluster, web):
    cluster.begin()
    cluster.do("validate")
    shown = drawn(cluster, State.OUTCOME_UNKNOWN, web=web)
    assert "the cluster's page" in shown.summary
    assert "state push" not in shown.summary
    assert "Do validate: done" in shown.summary


def test_an_unknown_outcome_of_a_root_module_says_where_its_state_may_be():
    declared = replace(PLAN.cluster, provider=ProviderName.TERRAFORM)
    cluster = ClusterScenario(plan=replace(PLAN, cluster=declared))
    cluster.begin()
    assert "errored/d1-apply-2.tfstate" in drawn(cluster, State.OUTCOME_UNKNOWN).summary


def test_an_unknown_outcome_of_an_earlier_workflow_still_names_no_engine(cluster):
    cluster.deployed()
    assert "state push" not in drawn(cluster, State.OUTCOME_UNKNOWN).summary


def test_before_the_apply_nothing_is_said_of_a_workflow(cluster):
    cluster.begin()
    assert "tasks done" not in drawn(cluster, apply_job=None).summary


def test_a_long_list_of_tasks_is_cut():
    steps = tuple(replace(STEPS[0], task=f"task-{number}", title="long " * 60) for number in range(60))
    cluster = ClusterScenario(plan=replace(PLAN, steps=steps))
    cluster.begin()
    assert " more." in drawn(cluster).summary


def test_each_step_of_the_workflow_asks_for_the_check_run(cluster):
    cluster.begin()
    cluster.start("validate")
    cluster.fail_task("validate")
    assert cluster.ports.event_publisher.progressed == ["d1", "d1"]
    cluster.do("validate")
    assert cluster.ports.event_publisher.progressed == ["d1"] * 4


def test_the_advice_on_a_failed_workflow_is_to_resume_it_unless_something_newer_is_deployed(cluster):
    cluster.deployed()
    deployment: Deployment = replace(cluster.ports.deployments.get("d1"), state=State.APPLY_FAILED)
    assert "goes on where it failed" in advice_on(deployment)
    lineage = replace(deployment.lineage, contained_by="d2")
    assert advice_on(replace(deployment, lineage=lineage)) == ""


def test_the_jobs_of_a_cluster_are_its_plans_and_tasks(cluster):
    cluster.failed_at("wait")
    deployment = cluster.ports.deployments.get("d1")
    plan, *tasks = jobs_of(cluster.ports, deployment)
    count = cluster.record.run.jobs
    assert tasks == [f"d1-task-{number}" for number in range(1, count + 1)]
    cluster.begin(cluster.deployed(2))
    assert jobs_of(cluster.ports, deployment) == (plan, *tasks)
    assert jobs_of(cluster.ports, amended(deployment, apply_job=None)) == (plan,)


def test_a_cluster_without_a_record_has_no_tasks():
    cluster = ClusterScenario(current=None)
    deployment = cluster.ports.deployments.get(cluster.deployed())
    assert [each for each in jobs_of(cluster.ports, deployment) if "task" in each] == []
    cluster.known(MANAGEMENT, None)
    assert [each for each in jobs_of(cluster.ports, deployment) if "task" in each] == []


def test_of_an_earlier_deployment_with_very_many_tasks_the_first_are_found():
    cluster = ClusterScenario(current=None)
    deployment = cluster.ports.deployments.get(cluster.deployed())
    for number in range(1, 40):
        cluster.jobs.create(any_job(JobKind.TASK, id=f"d1-task-{number}", deployment="d1"))
    assert len([each for each in jobs_of(cluster.ports, deployment) if "task" in each]) == 30


def test_what_makes_the_cluster_is_named_the_provider_where_no_engine_does(cluster):
    cluster.begin()
    assert "| Provider | `simulated 1" in drawn(cluster).summary
    deployment = cluster.ports.deployments.get("d1")
    of_terraform = replace(deployment.settings.run.cluster, provider=ProviderName.TERRAFORM)
    run = replace(deployment.settings.run, cluster=of_terraform)
    shown = drawn(cluster, settings=replace(deployment.settings, run=run))
    assert "| Engine | `terraform" in shown.summary
