"""Everything is decided, and every mistake found, before anything runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.clusters.clusters import (
    TERRAFORM,
    a_declared_hook,
    a_hook,
    a_plan,
    any_cluster,
    any_component,
    any_current,
    any_spec,
    registering,
)
from tidegate.clusters.rules import refusals
from tidegate.clusters.rules.construct import MOST_HOOKS, check, machine_hash, operation_of, released
from tidegate.clusters.rules.plan import VersionChange
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.spec import BootstrapPlace, GitOpsAgent
from tidegate.clusters.rules.task import Resource
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import ClusterKind, ComponentRole, HookPoint, ProviderName
from tidegate.plans.rules.plan import Artifact

_CREATE = Workflow(ClusterKind.MANAGEMENT, Operation.CREATE)
_UPGRADE = Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE)
_COMPONENTS = Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE_COMPONENTS)
_DELETE = Workflow(ClusterKind.MANAGEMENT, Operation.DELETE)
_WORKLOAD_CREATE = Workflow(ClusterKind.WORKLOAD, Operation.CREATE)
_WORKLOAD_UPGRADE = Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE)
_WORKLOAD_DELETE = Workflow(ClusterKind.WORKLOAD, Operation.DELETE)


def _due(plan):
    return {step.task for step in plan.steps if step.due}


def _step(plan, task):
    (step,) = (each for each in plan.steps if each.task == task)
    return step


# Which operation it is


def _operation(current=None, kind=ClusterKind.MANAGEMENT, *, destroy=False, begun=False, **spec):
    decision = operation_of(any_cluster(kind), any_spec(**spec), current, destroy=destroy, begun=begun)
    assert decision.reason.endswith(".")
    return decision.operation


def test_a_cluster_that_is_not_there_is_created():
    assert _operation() is Operation.CREATE
    assert _operation(begun=True) is Operation.CREATE


def test_a_cluster_that_is_as_declared_needs_nothing():
    assert _operation(any_current(spec_hash="new")) is None


def test_a_cluster_that_failed_on_the_way_to_something_else_is_brought_back():
    assert _operation(any_current(spec_hash="new"), begun=True) is Operation.UPGRADE


def test_a_cluster_whose_file_has_changed_is_upgraded():
    assert _operation(any_current()) is Operation.UPGRADE
    assert _operation(any_current(cluster_hash="new", kubernetes="1.32")) is Operation.UPGRADE
    assert _operation(any_current(cluster_hash="")) is Operation.UPGRADE


def test_a_management_cluster_of_which_only_components_have_changed_has_a_workflow_for_that():
    current = any_current(cluster_hash="new", kubernetes="1.33")
    assert _operation(current) is Operation.UPGRADE_COMPONENTS
    assert _operation(current, ClusterKind.WORKLOAD) is Operation.UPGRADE


def test_a_cluster_that_is_to_be_destroyed_is_deleted_even_if_only_half_of_it_was_made():
    assert _operation(any_current(), destroy=True) is Operation.DELETE
    assert _operation(destroy=True, begun=True) is Operation.DELETE
    assert _operation(destroy=True) is None


# What is refused


def test_a_workload_cluster_has_no_management_components():
    with pytest.raises(refusals.WrongWorkflow):
        a_plan(Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE_COMPONENTS))


def test_what_is_there_is_not_created_and_what_is_not_there_is_not_upgraded():
    for workflow, current in ((_CREATE, any_current()), (_UPGRADE, None), (_COMPONENTS, None)):
        with pytest.raises(refusals.NothingToChange):
            a_plan(workflow, current=current)


def test_a_cluster_is_not_changed_by_another_provider_than_its_own():
    from tests.unit.clusters.clusters import SIMULATED
    from tidegate.clusters.rules.construct import build

    current = any_current(provider=ProviderName.TERRAFORM)
    with pytest.raises(refusals.ProviderChanged, match="terraform"):
        build(Operation.UPGRADE, any_cluster(), any_spec(), current, SIMULATED, ())


def test_a_management_cluster_with_workload_clusters_is_not_deleted():
    with pytest.raises(refusals.WorkloadsRemain, match="shop, office"):
        a_plan(_DELETE, current=any_current(workloads=("shop", "office")))


def test_versions_that_kubernetes_forbids_are_refused():
    with pytest.raises(refusals.VersionSkipped):
        a_plan(_UPGRADE, current=any_current(kubernetes="1.31"))
    with pytest.raises(refusals.Downgraded):
        a_plan(_UPGRADE, current=any_current(kubernetes="1.34"))


def test_an_adopted_cluster_has_whatever_version_others_have_given_it():
    plan = a_plan(_UPGRADE, provider=PROVIDERS[ProviderName.EXISTING], current=any_current(kubernetes="1.30"))
    assert VersionChange("kubernetes", "1.30", "1.33") in plan.versions


def test_a_deletion_asks_for_no_version():
    assert a_plan(_WORKLOAD_DELETE, current=any_current(kubernetes="1.20"), management="")


def test_a_workload_cluster_needs_a_management_cluster_that_can_manage_it():
    with pytest.raises(refusals.ManagementMissing, match="hub"):
        a_plan(_WORKLOAD_CREATE, management="")
    with pytest.raises(refusals.NewerThanManagement):
        a_plan(_WORKLOAD_CREATE, management="1.32")


def test_a_workload_cluster_without_a_management_cluster_has_no_reference_to_one():
    plan = a_plan(_WORKLOAD_CREATE, declared=any_cluster(ClusterKind.WORKLOAD, management=""), provider=TERRAFORM)
    assert _step(plan, "validate").produces == ()
    assert _step(plan, "create-workload-cluster").needs == ()


def test_components_that_may_take_too_long_are_refused():
    slow = any_component(ComponentRole.NETWORKING, seconds=5 * 3600)
    with pytest.raises(refusals.StepTooLong, match="install-networking"):
        a_plan(_CREATE, declared=any_cluster(components=(slow,)))


def test_too_many_hooks_are_refused():
    hooks = tuple(a_declared_hook(HookPoint.BEFORE, name=f"h{number}") for number in range(MOST_HOOKS + 1))
    assert a_plan(_CREATE, declared=any_cluster(hooks=hooks[:-1]))
    with pytest.raises(refusals.PlanTooLarge, match="hooks"):
        a_plan(_CREATE, declared=any_cluster(hooks=hooks))


def test_an_input_that_step_functions_would_refuse_is_refused_before(monkeypatch):
    monkeypatch.setattr("tidegate.clusters.rules.construct.MOST_BYTES", 100)
    with pytest.raises(refusals.PlanTooLarge, match="bytes"):
        a_plan(_CREATE)


def test_a_bootstrap_cluster_that_needs_a_container_engine_is_refused():
    with pytest.raises(refusals.NoContainerEngine):
        a_plan(_CREATE, spec=any_spec(bootstrap=BootstrapPlace.CONTAINER))


def test_two_tasks_with_one_id_are_refused():
    plan, tasks = a_plan(_CREATE), _tasks(_CREATE)
    with pytest.raises(refusals.DuplicateId, match="validate"):
        check([*tasks, tasks[0]], plan.steps, ())


def test_a_task_that_comes_before_what_it_needs_is_refused():
    plan = a_plan(_CREATE)
    with pytest.raises(refusals.KeyNotProduced, match="bootstrap-cluster"):
        check(_tasks(_CREATE), plan.steps[::-1], ())


def test_what_a_task_takes_must_be_given_back_after_it():
    tasks = [task for task in _tasks(_UPGRADE) if task.releases is not Resource.GITOPS]
    with pytest.raises(refusals.NeverReleased, match="pause-gitops-agent"):
        list(released(tasks))


# What is decided


def _tasks(workflow):
    return tasks_of(workflow, PROVIDERS[ProviderName.SIMULATED].capabilities)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_every_workflow_can_be_built_for_every_provider(workflow, provider):
    plan = a_plan(workflow, provider=provider, spec=any_spec(bootstrap=(provider.places or (None,))[0]))
    assert [step.task for step in plan.steps] == [task.id for task in tasks_of(workflow, provider.capabilities)]
    assert all(step.why.endswith(".") for step in plan.steps)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_failure_gives_back_what_is_taken_last_first_and_keeps_the_backup(workflow):
    plan = a_plan(workflow)
    taken = [task.acquires for task in _tasks(workflow) if task.acquires not in {None, Resource.BACKUP}]
    given = [task.releases for each in plan.releases for task in _tasks(workflow) if task.id == each]
    assert given == taken[::-1]


def test_what_is_not_taken_is_not_given_back():
    plan = a_plan(_UPGRADE, current=any_current(), spec=any_spec(gitops=GitOpsAgent.NONE))
    assert plan.releases == ("delete-bootstrap-cluster",)


def test_a_cluster_that_only_gets_components_stays_where_it_is():
    plan = a_plan(_UPGRADE, current=any_current(cluster_hash="new", kubernetes="1.33"))
    assert not _due(plan) & {"back-up", "create-bootstrap-cluster", "pivot-to-bootstrap", "upgrade-cluster"}


def test_why_a_cluster_is_upgraded_is_said():
    assert "1.32 becomes 1.33" in _step(a_plan(_UPGRADE), "upgrade-cluster").why
    changed = a_plan(_UPGRADE, current=any_current(kubernetes="1.33"))
    assert "file" in _step(changed, "upgrade-cluster").why


def test_a_task_names_the_components_of_its_role_alone_and_a_version_before_only_where_there_is_one():
    components = (
        any_component(ComponentRole.NETWORKING, name="cilium", version="1.16"),
        any_component(ComponentRole.MANAGEMENT, name="flux", version="2.4"),
    )
    plan = a_plan(_CREATE, declared=any_cluster(components=components))
    why = _step(plan, "install-networking").why
    assert "cilium 1.16" in why
    assert "flux" not in why


def test_components_decide_whether_they_are_installed_and_say_their_versions():
    networking = any_component(ComponentRole.NETWORKING, name="cilium", version="1.16")
    plan = a_plan(
        _UPGRADE, current=any_current(components=(("cilium", "1.15"),)), declared=any_cluster(components=(networking,))
    )
    assert "cilium 1.15 → 1.16" in _step(plan, "upgrade-networking").why
    assert "upgrade-networking" not in _due(a_plan(_UPGRADE, declared=any_cluster(components=())))


def test_the_time_of_a_task_has_that_of_its_components():
    with_two = any_cluster(components=tuple(any_component(name=name, seconds=100) for name in ("a", "b")))
    without = a_plan(_CREATE, declared=any_cluster(components=()))
    assert _step(a_plan(_CREATE, declared=with_two), "install-networking").seconds == (
        _step(without, "install-networking").seconds + 200
    )


def test_a_command_needs_a_bootstrap_cluster_only_if_its_file_names_one():
    provider = PROVIDERS[ProviderName.COMMAND]
    plan = a_plan(_CREATE, provider=provider)
    assert not [task for task in _due(plan) if "bootstrap" in task or "pivot" in task]
    assert _step(plan, "create-management-cluster").needs == ()
    said = any_spec(bootstrap=BootstrapPlace.HOST, makes_bootstrap=frozenset({"tasks"}))
    named = a_plan(_CREATE, provider=provider, spec=said)
    assert "create-bootstrap-cluster" in _due(named)
    assert _step(named, "create-management-cluster").needs == ("bootstrap-cluster",)


def test_only_a_management_cluster_says_how_its_bootstrap_cluster_comes_about():
    provider, spec = PROVIDERS[ProviderName.COMMAND], any_spec(bootstrap=BootstrapPlace.HOST)
    assert a_plan(_WORKLOAD_CREATE, provider=provider, spec=spec)
    with pytest.raises(refusals.BootstrapNotSaid):
        a_plan(_CREATE, provider=provider, spec=spec)


def test_a_cluster_that_is_deleted_before_it_was_known_is_deleted_whole():
    assert "delete-management-cluster" in _due(a_plan(_DELETE, current=None))


def test_versions_that_change_are_shown():
    component = any_component(name="cilium", version="1.16")
    declared = any_cluster(components=(component,))
    current = any_current(components=(("cilium", "1.15"), ("old", "3")))
    plan = a_plan(_UPGRADE, current=current, declared=declared)
    assert set(plan.versions) == {
        VersionChange("kubernetes", "1.32", "1.33"),
        VersionChange("cilium", "1.15", "1.16"),
        VersionChange("old", "3", ""),
    }
    deleted = a_plan(_DELETE, current=any_current(components=()))
    assert VersionChange("kubernetes", "1.32", "") in deleted.versions


def test_the_plan_of_the_root_module_is_part_of_the_plan():
    artifact = Artifact("plans/1/plan.tfplan", "ab" * 32)
    assert a_plan(_CREATE, provider=TERRAFORM, terraform=artifact).terraform == artifact


def test_checkpoints_hold_for_the_same_steps_whether_due_or_not_and_whatever_their_hooks():
    plain = a_plan(_UPGRADE)
    assert plain.definition == a_plan(_UPGRADE, current=any_current()).definition
    hooked = a_plan(_UPGRADE, registering(_UPGRADE, (HookPoint.BEFORE, "validate", a_hook())))
    assert plain.definition == hooked.definition
    in_place = a_plan(_UPGRADE, provider=TERRAFORM)
    slower = a_plan(_UPGRADE, declared=any_cluster(components=(any_component(seconds=601),)))
    assert len({plain.definition, in_place.definition, slower.definition}) == 3


def test_a_machine_is_told_apart_by_its_tasks_and_the_installations_hooks():
    hooked = registering(_CREATE, (HookPoint.BEFORE, "validate", a_hook()))
    hashes = {
        machine_hash(_CREATE, TERRAFORM, ()),
        machine_hash(_CREATE, TERRAFORM, (hooked,)),
        machine_hash(_UPGRADE, TERRAFORM, ()),
        machine_hash(_CREATE, PROVIDERS[ProviderName.EXISTING], ()),
    }
    assert len(hashes) == 4
    repository = any_cluster(hooks=(a_declared_hook(HookPoint.BEFORE),))
    assert a_plan(_CREATE, declared=repository, provider=TERRAFORM).machine in hashes


def test_the_execution_is_told_which_tasks_are_due_and_which_hooks_the_repository_has():
    hooks = (
        a_declared_hook(HookPoint.BEFORE, name="start"),
        a_declared_hook(HookPoint.AFTER, name="end"),
        a_declared_hook(HookPoint.ON_ERROR, name="tell"),
        a_declared_hook(HookPoint.ALWAYS, name="always"),
        a_declared_hook(HookPoint.AFTER, "validate", name="checked"),
    )
    given = a_plan(_CREATE, declared=any_cluster(hooks=hooks)).execution_input
    assert given["due"]["validate"] is True
    assert given["after"]["validate"] == ["checked"]
    assert [given[key] for key in ("start", "end", "onError", "always")] == [["start"], ["end"], ["tell"], ["always"]]
    assert given["releases"] == ["delete-bootstrap-cluster"]


def test_a_plan_has_what_the_cluster_will_be_known_by_and_what_its_steps_take():
    plan = a_plan(_CREATE)
    assert (plan.spec_hash, plan.cluster_hash) == ("new", "new")
    assert (_step(plan, "create-bootstrap-cluster").acquires, _step(plan, "delete-bootstrap-cluster").releases) == (
        "bootstrap-cluster",
        "bootstrap-cluster",
    )
    assert not _step(plan, "validate").checkpoint


def test_a_plan_says_the_same_each_time():
    assert a_plan(_CREATE) == a_plan(_CREATE)
    assert replace(a_plan(_CREATE), definition="") != a_plan(_CREATE)
