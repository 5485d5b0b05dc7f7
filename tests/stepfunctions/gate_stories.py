"""What happens to deployments of one change that wait for each other. Each story checks itself."""

from __future__ import annotations

from tests.stepfunctions.acts import confirm, reject, stumbling
from tests.stepfunctions.ways import APPLYING, GATED, PLANNED_AFTER_OTHERS, PLANNED_AGAIN
from tests.stepfunctions.world import RootInWorld, World, until
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.rerun import run_again
from tidegate.ports import Enrolled

AFTER_DEV = Waits(apply_after=("dev",))
#: What is run again must be in its stack still. The directories are empty: only what the stories enqueue is deployed.
_STACKS = """
version: 1
dirs:
  retried-dev: {tags: [dev]}
  retried-prod-plan-only-adds: {tags: [prod]}
  two-stacks: {tags: [dev, prod]}
stacks:
  allow_workspace_in_multiple_stacks: true
  names:
    dev: {tag_query: dev}
    prod: {tag_query: prod, rules: {apply_after: [dev]}}
"""
#: What follows once an apply begins, from its beginning on.
_APPLIED = (*APPLYING[-3:], "Record that it was applied", "Applied")


def _ends_as(root: RootInWorld, deployment: Deployment, state: State, *states: str) -> None:
    """Wait for a deployment's end, and compare what its execution went through."""
    assert root.until_final(deployment).state is state, root.record(deployment).reason
    assert root.until_ended(root.terraform_arn(deployment)).states == states


def _stumbles(root: RootInWorld, deployment: Deployment) -> None:
    for fault in stumbling("wait_at_gate", root, deployment):
        root.world.cloud.add_fault(**fault)


def _members(world: World, change: str) -> list[Deployment]:
    """Return the deployments that are part of a change now."""
    names = [each.deployment for each in world.tidegate.change_sets.deployments(change)]
    return list(world.tidegate.deployments.many(names).values())


def a_root_is_planned_once_what_it_depends_on_is_applied(world: World) -> None:
    network, app = world.root("layers-network"), world.root("layers-app-plan-is-empty")
    first = network.in_change("layers", "prod")
    second = app.in_change("layers", "prod", Waits(roots=(network.name,)))
    _stumbles(app, second)
    app.enqueue(second)
    network.enqueue(first)
    assert app.until_state(second, State.GATED).plan is None
    confirm(network, first)
    _ends_as(app, second, State.NO_CHANGES, *PLANNED_AFTER_OTHERS, "Nothing to change")
    assert network.record(first).state is State.APPLIED


def a_plan_is_made_again_when_what_it_waits_for_changed_after_it(world: World) -> None:
    dev, prod = world.root("promoted-dev"), world.root("promoted-prod-plan-only-adds")
    first, second = dev.in_change("promoted", "dev"), prod.in_change("promoted", "prod", AFTER_DEV)
    _stumbles(prod, second)
    dev.enqueue(first)
    prod.enqueue(second)
    prod.until_state(second, State.GATED)
    assert prod.record(second).plan is not None
    confirm(dev, first)
    assert dev.until_final(first).state is State.APPLIED, dev.record(first)
    _ends_as(prod, second, State.APPLIED, *GATED, *PLANNED_AGAIN, *_APPLIED)
    assert [prod.runners(f"{second.id}-plan-{number}") for number in (1, 2, 3)] == [1, 1, 0]
    assert prod.audits(second) == ["RUNNING", "SUCCESS"]


def a_plan_is_reviewed_once_its_gate_is_open(world: World) -> None:
    dev, prod = world.root("quick-dev-plan-is-empty"), world.root("quick-prod")
    first, second = dev.in_change("quick", "dev"), prod.in_change("quick", "prod", AFTER_DEV)
    prod.enqueue(second)
    prod.until_state(second, State.GATED)
    dev.enqueue(first)
    reject(prod, second)
    reviewed = ("Wait for the plan review", "Was the plan approved?", "Rejected")
    _ends_as(prod, second, State.REJECTED, *GATED, *reviewed)


def a_blocked_deployment_is_rejected_by_its_button(world: World) -> None:
    dev, prod = world.root("blocked-dev-plan-fails"), world.root("blocked-prod")
    first, second = dev.in_change("blocked", "dev"), prod.in_change("blocked", "prod", AFTER_DEV)
    dev.enqueue(first)
    prod.enqueue(second)
    prod.until_state(second, State.BLOCKED)
    reject(prod, second)
    _ends_as(prod, second, State.REJECTED, *GATED, "Rejected")
    until(lambda: prod.audits(second) == ["REJECTED"], "the rejection in the audit")
    assert prod.record(second).rejected_by == "reviewer"


def a_retry_runs_again_what_blocks_and_all_goes_on_when_that_is_applied(world: World) -> None:
    commits = world.make_repository("paths-retried/roots", _STACKS)
    dev, prod = world.root("retried-dev", commits), world.root("retried-prod-plan-only-adds", commits)
    first, second = dev.in_change("retried", "dev"), prod.in_change("retried", "prod", AFTER_DEV)
    dev.enqueue(first)
    prod.enqueue(second)
    reject(dev, first)
    prod.until_state(second, State.BLOCKED)
    prod.press(second, "Retry")
    again = until(lambda: next((each for each in _members(world, "retried") if each.rerun_of), None), "a re-run")
    assert again.rerun_of == first.id
    prod.until_state(second, State.GATED)
    confirm(dev, again)
    _ends_as(prod, second, State.APPLIED, *GATED, *PLANNED_AGAIN, *_APPLIED)


def a_newer_revision_takes_the_place_of_a_blocked_one(world: World) -> None:
    dev, prod = world.root("overtaken-dev-plan-fails"), world.root("overtaken-prod-plan-is-not-empty")
    first, second = dev.in_change("overtaken", "dev"), prod.in_change("overtaken", "prod", AFTER_DEV)
    dev.enqueue(first)
    prod.enqueue(second)
    prod.until_state(second, State.BLOCKED)
    newer = prod.in_change("overtaking", "prod", sha=world.commits.second)
    prod.enqueue(newer)
    _ends_as(prod, second, State.SUPERSEDED, *GATED, "Superseded")
    assert (prod.record(second).superseded_by, prod.record(newer).supersedes) == (newer.id, second.id)
    reject(prod, newer)
    assert prod.until_final(newer).state is State.REJECTED


def two_stacks_of_one_root_share_its_queue_and_what_is_run_again_goes_first(world: World) -> None:
    root = world.root("two-stacks", world.make_repository("paths-two-stacks/roots", _STACKS))
    first = root.in_change("two-stacks", "dev", shared=True)
    second = root.in_change("two-stacks", "prod", AFTER_DEV, shared=True)
    root.enqueue(first, second)
    reject(root, first)
    root.until_state(second, State.BLOCKED)
    root.press(second, "Retry")
    _ends_as(root, second, State.SUPERSEDED, *GATED, "Superseded")
    again = {each.stack: each for each in _members(world, "two-stacks")}
    assert {each.rerun_of for each in again.values()} == {first.id, second.id}
    confirm(root, again["dev"])
    confirm(root, again["prod"])
    reviewed = ("Wait for the plan review", "Was the plan approved?")
    _ends_as(root, again["prod"], State.APPLIED, *GATED, *reviewed, *_APPLIED)
    assert root.record(again["dev"]).state is State.APPLIED


def a_confirmed_plan_goes_back_to_its_gate_when_what_went_before_is_run_again(world: World) -> None:
    dev, prod = world.root("shut-dev"), world.root("shut-prod")
    first, second = dev.in_change("shut", "dev"), prod.in_change("shut", "prod", AFTER_DEV)
    dev.enqueue(first)
    confirm(dev, first)
    assert dev.until_final(first).state is State.APPLIED
    prod.enqueue(second)
    prod.until_state(second, State.AWAITING_REVIEW)
    again = run_again(dev.record(first), "main", "maintainer", second.requested_at, "once more")
    world.tidegate.change_sets.enroll("shut", [Enrolled(again.root.name, again.stack, again.id, again.requested_at)])
    dev.enqueue(again)
    dev.until_state(again, State.AWAITING_REVIEW)
    confirm(prod, second)
    assert prod.until_state(second, State.GATED).apply_job is None
    confirm(dev, again)
    prod.until_state(second, State.AWAITING_REVIEW)
    confirm(prod, second)
    reviewed = ("Wait for the plan review", "Was the plan approved?")
    back = ("Begin the apply", "Wait for the stacks before this one", "What follows from the gate?")
    _ends_as(prod, second, State.APPLIED, *GATED, *reviewed, *back, *PLANNED_AGAIN, *reviewed, *_APPLIED)


GATE_STORIES = [
    a_root_is_planned_once_what_it_depends_on_is_applied,
    a_plan_is_made_again_when_what_it_waits_for_changed_after_it,
    a_plan_is_reviewed_once_its_gate_is_open,
    a_blocked_deployment_is_rejected_by_its_button,
    a_retry_runs_again_what_blocks_and_all_goes_on_when_that_is_applied,
    a_newer_revision_takes_the_place_of_a_blocked_one,
    two_stacks_of_one_root_share_its_queue_and_what_is_run_again_goes_first,
    a_confirmed_plan_goes_back_to_its_gate_when_what_went_before_is_run_again,
]
