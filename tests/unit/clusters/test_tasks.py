"""The tasks of each workflow: what a provider's capabilities leave of them, and what each says of itself."""

from __future__ import annotations

import re

import pytest

from tidegate.clusters.rules.context import CONTEXTS
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.task import Capability, Task
from tidegate.clusters.rules.task_catalogue import DIAGNOSTICS
from tidegate.clusters.rules.workflow import WORKFLOWS, Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import ProviderName

_ALL = frozenset(Capability)
_EVERY = [(workflow, task) for workflow in WORKFLOWS for task in tasks_of(workflow, _ALL)]
_TASKS = pytest.mark.parametrize("task", [*(task for _, task in _EVERY), *DIAGNOSTICS], ids=lambda task: task.id)
_WORKFLOWS = pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)


def _ids(name: str, provider: ProviderName) -> list[str]:
    (workflow,) = (each for each in WORKFLOWS if each.name == name)
    return [task.id for task in tasks_of(workflow, PROVIDERS[provider].capabilities)]


def test_a_management_cluster_is_created_from_a_bootstrap_cluster():
    assert _ids("management-create", ProviderName.SIMULATED) == [
        "validate",
        "create-bootstrap-cluster",
        "install-bootstrap-components",
        "create-management-cluster",
        "install-networking",
        "install-management-components",
        "pivot-to-management",
        "install-configuration",
        "delete-bootstrap-cluster",
    ]


def test_a_provider_without_a_bootstrap_cluster_has_no_state_for_one():
    assert _ids("management-create", ProviderName.TERRAFORM) == [
        "validate",
        "create-management-cluster",
        "install-networking",
        "install-management-components",
        "install-configuration",
    ]
    assert _ids("management-delete", ProviderName.EXISTING) == ["validate", "delete-management-cluster"]


def test_a_management_cluster_is_upgraded_from_a_bootstrap_cluster_between_pauses():
    assert _ids("management-upgrade", ProviderName.COMMAND) == [
        "validate",
        "back-up",
        "pause-gitops-agent",
        "pause-other-clusters",
        "upgrade-management-components",
        "upgrade-networking",
        "install-management-components",
        "create-bootstrap-cluster",
        "install-bootstrap-components",
        "pivot-to-bootstrap",
        "upgrade-cluster",
        "pivot-to-management",
        "delete-bootstrap-cluster",
        "write-configuration",
        "resume-other-clusters",
        "resume-gitops-agent",
        "delete-backup",
    ]


def test_an_upgrade_in_place_leaves_out_the_bootstrap_cluster():
    upgrade = Workflow(*next((each.kind, each.operation) for each in WORKFLOWS if each.name == "management-upgrade"))
    in_place = tasks_of(upgrade, _ALL - {Capability.BOOTSTRAP_UPGRADE})
    assert not [task.id for task in in_place if "bootstrap" in task.id or "pivot" in task.id]


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        (
            "management-upgrade-components",
            """validate pause-gitops-agent upgrade-management-components install-management-components
            resume-gitops-agent""",
        ),
        (
            "management-delete",
            """validate create-bootstrap-cluster install-bootstrap-components pivot-to-bootstrap
            delete-management-cluster delete-bootstrap-cluster""",
        ),
        ("workload-create", "validate create-workload-cluster install-networking install-workload-components"),
        (
            "workload-upgrade",
            "validate upgrade-networking upgrade-workload-components upgrade-cluster write-configuration",
        ),
        ("workload-delete", "validate delete-workload-cluster"),
    ],
)
def test_each_other_workflow_has_its_tasks(name, tasks):
    assert _ids(name, ProviderName.SIMULATED) == tasks.split()


@_TASKS
def test_a_task_says_what_it_is_for_and_why_it_has_its_time(task: Task):
    assert len(task.title) <= 60
    for text in (task.contract, task.duty, task.probe, task.errors, task.why):
        assert re.fullmatch(r"[A-Z].+\.", text)
    assert 60 <= task.seconds <= 12 * 3600


@_WORKFLOWS
def test_a_context_has_what_the_tasks_of_its_workflow_produce(workflow: Workflow):
    produced = {key for task in tasks_of(workflow, _ALL) for key in task.produces}
    assert CONTEXTS[workflow].keys() == produced


@_WORKFLOWS
def test_only_validation_is_done_again_by_a_resumed_workflow(workflow: Workflow):
    again = [task.id for task in tasks_of(workflow, _ALL) if not task.checkpoint]
    assert again == ["validate"]


def test_an_id_always_means_the_same_title():
    titles = {(task.id, task.title) for _, task in _EVERY}
    assert len(titles) == len({task.id for _, task in _EVERY})
