from __future__ import annotations

import pytest

from tidegate.clusters.rules.builtin_registrars import DEFAULT
from tidegate.clusters.rules.construct import bound_hooks
from tidegate.clusters.rules.installed import InstalledHook, from_text, installed_registrars, to_text
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.registrar import Hook
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import ClusterKind, HookFailure, HookPoint, ProviderName

CREATE = Workflow(ClusterKind.WORKLOAD, Operation.CREATE)
HOOKS = (
    InstalledHook(Hook("tell", "Tells.", ("tell", "it"), on_error=HookFailure.WARN, seconds=60), HookPoint.ALWAYS),
    InstalledHook(Hook("open", "Opens.", function="arn"), HookPoint.BEFORE, "pivot-to-management"),
    InstalledHook(Hook("check", "Checks.", ("check",)), HookPoint.AFTER, "", "workload-create"),
)


def bound(workflow, provider=ProviderName.SIMULATED, hooks=HOOKS):
    facts = PROVIDERS[provider]
    registrars = installed_registrars(hooks)
    assert registrars[: len(DEFAULT)] == tuple(DEFAULT)
    every = bound_hooks(workflow, tasks_of(workflow, facts.capabilities), registrars)
    return [each.hook.name for each in every if each.registrar == "installation"]


def test_hooks_come_back_from_a_runners_environment():
    assert from_text(to_text(HOOKS)) == HOOKS
    assert from_text("") == ()


def test_a_hook_is_in_the_workflows_that_have_its_place():
    assert bound(CREATE) == ["tell", "check"]
    management = Workflow(ClusterKind.MANAGEMENT, Operation.CREATE)
    assert bound(management) == ["tell", "open"]
    assert bound(management, ProviderName.TERRAFORM) == ["tell"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_an_installation_without_hooks_has_what_is_built_in(workflow):
    assert bound(workflow, hooks=()) == []
