"""Registrars bind hooks to workflows: what they may bind, and in which order it runs."""

from __future__ import annotations

import pytest

from tests.unit.clusters.clusters import (
    SIMULATED,
    TERRAFORM,
    Recording,
    a_declared_hook,
    a_hook,
    a_plan,
    any_cluster,
    order_of,
    registering,
)
from tidegate.clusters.rules.builtin_registrars import BUILTIN, DEFAULT, IamAuthentication
from tidegate.clusters.rules.refusals import (
    DuplicateId,
    DuplicateKey,
    InvalidHook,
    KeyNotProduced,
    NeverReleased,
    UnknownAnchor,
)
from tidegate.clusters.rules.registrar import Registrar
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind, HookFailure, HookPoint

_CREATE = Workflow(ClusterKind.MANAGEMENT, Operation.CREATE)
_WORKLOAD = Workflow(ClusterKind.WORKLOAD, Operation.CREATE)
_BEFORE, _AFTER, _ON_ERROR, _ALWAYS = HookPoint.BEFORE, HookPoint.AFTER, HookPoint.ON_ERROR, HookPoint.ALWAYS


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_registrar_that_overrides_nothing_registers_nothing(workflow):
    assert order_of(a_plan(workflow, Registrar())) == order_of(a_plan(workflow))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_registrar_is_asked_for_the_operation_at_hand(workflow):
    asked = []

    class Mine(Registrar):
        name = "mine"
        create = upgrade = upgrade_components = delete = lambda self, binder: asked.append(binder.workflow)

    a_plan(workflow, Mine())
    assert set(asked) == {workflow}


def test_hooks_run_in_the_order_of_registrars_and_then_as_each_has_bound_them():
    first = registering(_CREATE, (_BEFORE, "validate", a_hook("a")), (_BEFORE, "validate", a_hook("b")), name="first")
    second = registering(_CREATE, (_BEFORE, "validate", a_hook("c")), name="second")
    assert order_of(a_plan(_CREATE, first, second))[:4] == ["a", "b", "c", "validate"]
    assert order_of(a_plan(_CREATE, second, first))[:4] == ["c", "a", "b", "validate"]


def test_hooks_of_the_repository_are_around_those_of_the_installation():
    hooks = (a_declared_hook(_BEFORE, "validate"), a_declared_hook(_AFTER, "validate", name="mine-after"))
    installation = registering(_CREATE, (_BEFORE, "validate", a_hook("before")), (_AFTER, "validate", a_hook("after")))
    plan = a_plan(_CREATE, installation, declared=any_cluster(hooks=hooks))
    assert order_of(plan)[:5] == ["mine", "before", "validate", "after", "mine-after"]
    assert plan.execution_input["before"]["validate"] == ["mine"]


def test_hooks_of_the_whole_workflow_run_first_and_last():
    installation = registering(
        _CREATE, (_BEFORE, "", a_hook("begin")), (_AFTER, "", a_hook("end")), (_ALWAYS, "", a_hook("always"))
    )
    order = order_of(a_plan(_CREATE, installation))
    assert (order[0], order[-2:]) == ("begin", ["end", "always"])


def test_a_registrar_in_python_binds_at_every_place():
    class Mine(Registrar):
        name = "mine"

        def create(self, binder):
            binder.before_workflow(a_hook("begin"))
            binder.before("validate", a_hook("before"))
            binder.after("validate", a_hook("after"))
            binder.after_workflow(a_hook("end"))
            binder.always(a_hook("always"))
            binder.on_error(a_hook("tell"))

    plan = a_plan(_CREATE, Mine())
    order = order_of(plan)
    assert order[:4] == ["begin", "before", "validate", "after"]
    assert order[-2:] == ["end", "always"]
    assert [each.registrar for each in plan.on_error] == ["mine"]


def test_a_configured_hook_is_of_its_workflow_only():
    assert "any" not in order_of(a_plan(_CREATE, registering(_WORKLOAD, (_BEFORE, "", a_hook()))))


def test_hooks_on_errors_are_apart():
    plan = a_plan(_CREATE, registering(_CREATE, (_ON_ERROR, "", a_hook("tell"))))
    assert "tell" not in order_of(plan)
    assert [each.name for each in plan.on_error] == ["tell"]


def test_an_unknown_anchor_is_refused_with_the_nearest_and_all_that_there_are():
    with pytest.raises(UnknownAnchor, match="create-bootstrap-cluster") as refused:
        a_plan(_CREATE, registering(_CREATE, (_AFTER, "create-bootstrap-clutser", a_hook())))
    assert refused.value.near == "create-bootstrap-cluster"
    assert "mean create-bootstrap-cluster?" in str(refused.value)
    assert "validate" in refused.value.known


def test_an_anchor_that_is_like_no_other_is_refused_with_all_that_there_are():
    with pytest.raises(UnknownAnchor, match="pivot-to-management") as refused:
        a_plan(_CREATE, registering(_CREATE, (_AFTER, "xyz", a_hook())))
    assert refused.value.near is None
    assert "mean" not in str(refused.value)


def test_a_task_that_the_provider_leaves_out_is_no_anchor():
    with pytest.raises(UnknownAnchor):
        a_plan(_CREATE, registering(_CREATE, (_AFTER, "pivot-to-management", a_hook())), provider=TERRAFORM)


def test_a_declared_hook_runs_in_the_workflows_that_have_its_task():
    cluster = any_cluster(hooks=(a_declared_hook(_AFTER, "pivot-to-bootstrap"),))
    upgrade = Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE)
    assert "mine" in order_of(a_plan(upgrade, declared=cluster))
    assert "mine" not in order_of(a_plan(_CREATE, declared=cluster))


def test_a_declared_hook_at_a_task_that_no_workflow_has_is_refused():
    with pytest.raises(UnknownAnchor, match="repository/mine"):
        a_plan(_CREATE, declared=any_cluster(hooks=(a_declared_hook(_AFTER, "create-workload-cluster"),)))


def test_two_hooks_of_one_registrar_need_two_names():
    with pytest.raises(DuplicateId, match="installation/any"):
        a_plan(_CREATE, registering(_CREATE, (_BEFORE, "", a_hook()), (_AFTER, "validate", a_hook())))


def test_two_registrars_need_two_names():
    with pytest.raises(DuplicateId, match="installation"):
        a_plan(_CREATE, registering(_CREATE), registering(_CREATE))


@pytest.mark.parametrize(
    ("point", "task", "fields"),
    [
        (_BEFORE, "", {"command": ()}),
        (_BEFORE, "", {"function": "both"}),
        (_BEFORE, "", {"name": "Not A Name"}),
        (_BEFORE, "", {"name": "x" * 31}),
        (_ALWAYS, "validate", {}),
        (_ON_ERROR, "", {"needs": ("management-cluster",)}),
    ],
)
def test_a_hook_that_cannot_work_is_refused(point, task, fields):
    with pytest.raises(InvalidHook):
        a_plan(_CREATE, registering(_CREATE, (point, task, a_hook(**fields))))


def test_a_hook_may_need_what_a_task_or_hook_before_it_produces():
    installation = registering(
        _CREATE,
        (_AFTER, "create-management-cluster", a_hook("one", needs=("management-cluster",), produces=("mine",))),
        (_AFTER, "create-management-cluster", a_hook("two", needs=("mine",))),
    )
    assert "two" in order_of(a_plan(_CREATE, installation))


@pytest.mark.parametrize("point", [_BEFORE, _AFTER])
def test_a_hook_that_needs_what_comes_later_is_refused(point):
    with pytest.raises(KeyNotProduced, match="management-cluster"):
        a_plan(_CREATE, registering(_CREATE, (point, "validate", a_hook(needs=("management-cluster",)))))


@pytest.mark.parametrize("key", ["management-cluster", "backup"])
def test_a_hook_may_not_produce_a_key_of_a_task(key):
    with pytest.raises(DuplicateKey, match=key):
        a_plan(_CREATE, registering(_CREATE, (_BEFORE, "", a_hook(produces=(key,)))))


def test_two_hooks_may_not_produce_one_key():
    hooks = [(_BEFORE, "", a_hook(name, produces=("mine",))) for name in ("one", "two")]
    with pytest.raises(DuplicateKey, match="mine"):
        a_plan(_CREATE, registering(_CREATE, *hooks))


def test_what_a_hook_takes_is_given_back_at_the_end_and_after_a_failure():
    takes = (_BEFORE, "validate", a_hook("take", acquires="mine"))
    a_plan(_CREATE, registering(_CREATE, takes, (_ALWAYS, "", a_hook("give", releases="mine"))))
    both = [(_AFTER, "", a_hook("give", releases="mine")), (_ON_ERROR, "", a_hook("clean", releases="mine"))]
    a_plan(_CREATE, registering(_CREATE, takes, *both))
    for one, missing in ((both[0], "after a failure"), (both[1], "after it")):
        with pytest.raises(NeverReleased, match=missing):
            a_plan(_CREATE, registering(_CREATE, takes, one))


def test_what_an_error_hook_takes_is_given_back_by_another():
    installation = registering(
        _CREATE,
        (_ON_ERROR, "", a_hook("take", acquires="mine")),
        (_ALWAYS, "", a_hook("give", releases="mine")),
    )
    assert a_plan(_CREATE, installation).on_error


def _places(plan):
    at = {(each.name, "", each.on_error) for each in plan.after}
    return at | {(each.name, step.task, each.on_error) for step in plan.steps for each in step.after}


def test_the_default_hooks_follow_the_creation_and_only_warn_where_a_cluster_works_without():
    assert _places(a_plan(_CREATE, *DEFAULT)) == {
        ("install-resources", "pivot-to-management", HookFailure.FAIL),
        ("install-gitops-agent", "", HookFailure.WARN),
        ("install-packages", "", HookFailure.WARN),
        ("write-configuration", "", HookFailure.FAIL),
    }


def test_without_a_pivot_resources_follow_the_management_components():
    places = _places(a_plan(_CREATE, BUILTIN["resources"], provider=TERRAFORM))
    assert places == {("install-resources", "install-management-components", HookFailure.FAIL)}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
@pytest.mark.parametrize("provider", [SIMULATED, TERRAFORM], ids=lambda provider: provider.name)
def test_all_that_is_built_in_fits_every_workflow(workflow, provider):
    a_plan(workflow, *BUILTIN.values(), provider=provider)


def test_packages_are_upgraded_with_their_cluster():
    upgrade = Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE)
    assert "install-packages" in order_of(a_plan(upgrade, *DEFAULT))


def test_iam_authentication_has_its_authority_after_the_bootstrap_cluster_and_its_authenticator_after_the_workload():
    iam = IamAuthentication()
    assert _places(a_plan(_CREATE, iam)) == {("create-authority", "create-bootstrap-cluster", HookFailure.FAIL)}
    assert _places(a_plan(_WORKLOAD, iam)) == {("install-authenticator", "create-workload-cluster", HookFailure.FAIL)}
    assert _places(a_plan(_CREATE, iam, provider=TERRAFORM)) == set()


def test_a_registrar_sees_the_workflow_and_its_tasks():
    recording = Recording()
    a_plan(_WORKLOAD, recording)
    assert recording.binder.workflow == _WORKLOAD
    assert "create-workload-cluster" in recording.binder.tasks
