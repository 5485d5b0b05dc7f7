"""What happens to a queue over several deployments, or when somebody intervenes. Each story checks itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from tests.stepfunctions.acts import stumbling
from tests.stepfunctions.faults import FOR_GOOD, THROTTLED, invokes
from tests.stepfunctions.limits import ROUNDS
from tests.stepfunctions.ways import APPLIED, BEGAN, CLAIMED, DEPLOYED, RAN, RESTED, WAITING
from tests.stepfunctions.world import RootInWorld, World, until
from tidegate.deploys.rules.deployment import Deployment, State, Trigger, Unlocking, is_final
from tidegate.roots.rules.root import worker_name

#: Seconds in which the reconciler has begun a worker, mostly; else it is called once more.
_RECONCILED = 15.0
Story = Callable[[World], None]
STORIES: list[Story] = []
#: Stories that do to the cloud what others would feel.
ALONE: list[Story] = []


def story(function: Story) -> Story:
    STORIES.append(function)
    return function


def alone(function: Story) -> Story:
    ALONE.append(function)
    return story(function)


def _generation(root: RootInWorld, number: int) -> str:
    """Return the ARN of the deploy execution of a generation."""
    return root.deploy_arn(worker_name(root.queue, number))


def _deployed(root: RootInWorld, *deployments: Deployment, rests: int = 1) -> None:
    root.enqueue(*deployments)
    for deployment in deployments:
        root.until_final(deployment)
    root.until_in(_generation(root, 1), WAITING, rests)


def _ends_as(root: RootInWorld, deployment: Deployment, state: State) -> None:
    assert root.until_final(deployment).state is state, root.record(deployment).reason


@story
def a_merge_that_a_newer_one_has_overtaken_is_superseded(world: World) -> None:
    root = world.root("overtaken-plan-is-empty")
    _deployed(root, root.deployment(world.commits.second))
    behind = root.deployment(world.commits.first)
    root.enqueue(behind)
    _ends_as(root, behind, State.SUPERSEDED)
    deployed = root.head().deployed
    assert deployed is not None
    assert deployed.revision.sha == world.commits.second


@story
def a_deploy_by_hand_that_is_behind_is_refused_and_locks_nothing(world: World) -> None:
    root = world.root("goes-backwards-plan-is-empty")
    _deployed(root, root.deployment(world.commits.second))
    behind = root.deployment(world.commits.first, Trigger.MANUAL)
    root.enqueue(behind)
    _ends_as(root, behind, State.REFUSED)
    assert root.head().lock is None
    refused = (*CLAIMED, "Record the outcome")
    assert root.until_in(_generation(root, 1), WAITING, 2).states == (*DEPLOYED, *refused, *RESTED)
    until(lambda: (root.check_run(behind) or {}).get("conclusion") == "failure", "a failed check run")
    deployed = root.head().deployed
    assert deployed is not None
    assert deployed.revision.sha == world.commits.second


@story
def a_deploy_by_hand_locks_the_queue_until_somebody_unlocks_it_even_while_it_runs(world: World) -> None:
    root = world.root("by-hand")
    by_hand = root.deployment(world.commits.first, Trigger.MANUAL)
    merged = root.deployment(world.commits.second)
    root.enqueue(by_hand)
    root.until_state(by_hand, State.AWAITING_REVIEW)
    lock = root.head().lock
    assert lock is not None
    assert (lock.deployment, lock.revision) == (by_hand.id, world.commits.first)
    root.enqueue(merged)
    assert world.tidegate.queue_unlocker.unlock(root.queue, Unlocking("maintainer", lock.at)).done
    root.press(by_hand, "Confirm")
    _ends_as(root, by_hand, State.APPLIED)
    root.until_state(merged, State.AWAITING_REVIEW)
    assert root.head().lock is None
    root.press(merged, "Reject")
    _ends_as(root, merged, State.REJECTED)
    assert root.audits(merged) == ["REJECTED"]
    assert [message["initiating_user"] for message in root.unlocks()] == ["maintainer"]


@story
def a_rejected_deployment_is_run_again_before_merges_that_wait(world: World) -> None:
    root = world.root("again")
    rejected = root.deployment(world.commits.first)
    root.enqueue(rejected)
    root.press(rejected, "Reject")
    _ends_as(root, rejected, State.REJECTED)
    again = root.deployment(world.commits.first, Trigger.RERUN, "rerun 1")
    root.enqueue(again)
    root.press(again, "Confirm")
    _ends_as(root, again, State.APPLIED)
    root.enqueue(stale := root.deployment(world.commits.second, Trigger.RERUN, "rerun 2"))
    _ends_as(root, stale, State.REFUSED)


@story
def a_diverged_revision_waits_for_a_review_that_its_plan_does_not_need(world: World) -> None:
    commits = world.make_repository("paths-diverged/roots")
    root = world.root("diverges-plan-only-adds", commits)
    _deployed(root, root.deployment(commits.second))
    world.forge.force_push("paths-diverged/roots", "main", commits.beside)
    beside = root.deployment(commits.beside)
    root.enqueue(beside)
    assert "diverged" in (root.until_state(beside, State.AWAITING_REVIEW).must_review or "")
    root.press(beside, "Confirm")
    _ends_as(root, beside, State.APPLIED)


@story
def an_apply_that_falls_silent_locks_the_queue_until_somebody_unlocks_it(world: World) -> None:
    root = world.root("plan-only-adds-silent-in-apply-once")
    lost, later = root.deployment(), root.deployment(world.commits.third)
    root.enqueue(lost, later)
    _ends_as(root, lost, State.OUTCOME_UNKNOWN)
    history = root.until_in(_generation(root, 1), WAITING)
    assert history.states == DEPLOYED
    assert root.head().lock is not None
    assert root.record(later).state is State.QUEUED
    assert root.runners(f"{lost.id}-apply-1") == 1
    root.press(lost, "Unlock")
    _ends_as(root, later, State.OUTCOME_UNKNOWN)
    assert root.audits(lost) == ["RUNNING", "UNKNOWN", "UNLOCKED"]


@story
def a_quiet_queue_is_closed_and_opened_again(world: World) -> None:
    root = world.root("idle-plan-is-empty")
    first = root.deployment(world.commits.first)
    root.enqueue(first)
    closed = ("Close the queue if nothing came", "Is there work after all?", "The queue is quiet")
    assert root.until_ended(_generation(root, 1)).states == (*DEPLOYED, *closed)
    assert root.head().worker is None
    second = root.deployment(world.commits.second)
    for fault in stumbling("close_worker", root, second):
        world.cloud.add_fault(**fault)
    root.enqueue(second)
    assert root.until_ended(_generation(root, 2)).states == (*DEPLOYED, *closed)


@story
def a_revision_that_arrives_while_the_queue_closes_is_deployed(world: World) -> None:
    root = world.root("idle-closing-plan-is-empty")
    first, second = root.deployment(world.commits.first), root.deployment(world.commits.second)
    fault = world.cloud.add_fault(**invokes("close_worker", f'{root.queue}"', THROTTLED, times=None))
    root.enqueue(first)
    root.until_in(_generation(root, 1), "Close the queue if nothing came")
    root.enqueue(second)
    world.cloud.remove_fault(fault)
    _ends_as(root, second, State.NO_CHANGES)
    came = ("Close the queue if nothing came", "Is there work after all?", *RAN)
    assert root.until_ended(_generation(root, 1)).states[: len(DEPLOYED + came)] == (*DEPLOYED, *came)


def _until_released(root: RootInWorld) -> None:
    """Wait until the first worker is gone. The reconciler, which other stories call as well, may have made another."""

    def released() -> bool:
        worker = root.head().worker
        return worker is None or worker.generation > 1

    until(released, lambda: f"the release of the queue: {root.head()}")


def _reconcile_until_final(root: RootInWorld, deployment: Deployment) -> None:
    """Let the reconciler run whenever nobody works on the queue, as it does every few minutes, to a deployment's end.

    Another story's call may have begun a worker before the fault was gone, which is only about to be released now.
    """

    def is_final_now() -> bool:
        if is_final(root.record(deployment).state):
            return True
        if root.head().worker is None:
            root.world.cloud.fire_schedule("reconcile")
            with suppress(AssertionError):
                until(lambda: root.head().worker, "a worker", _RECONCILED)
        return False

    until(is_final_now, lambda: f"the end of {deployment.id} behind {root.head()}")


@story
def a_queue_that_cannot_be_closed_is_released_by_the_event(world: World) -> None:
    root = world.root("idle-unclosed-plan-is-empty")
    world.cloud.add_fault(**invokes("close_worker", f'{root.queue}"', FOR_GOOD, times=None))
    root.enqueue(root.deployment())
    failed = ("Close the queue if nothing came", "Tidegate failed")
    assert root.until_ended(_generation(root, 1)).states == (*DEPLOYED, *failed)
    _until_released(root)


@story
def a_revision_wakes_the_queue_that_waits(world: World) -> None:
    root = world.root("woken-plan-is-empty")
    _deployed(root, root.deployment(world.commits.first))
    second = root.deployment(world.commits.second)
    root.enqueue(second)
    _ends_as(root, second, State.NO_CHANGES)
    assert root.until_in(_generation(root, 1), WAITING, 2).states == (*DEPLOYED, *RAN, *RESTED)


@story
def after_many_rounds_a_new_execution_takes_over(world: World) -> None:
    root = world.root("hands-over-plan-is-empty")
    many = _more_than_one_execution_takes(root)
    for fault in stumbling("hand_over_worker", root, many[0]):
        world.cloud.add_fault(**fault)
    root.enqueue(*many)
    handed = ("Claim the next deployment", "What to do next?", "Hand over to a new execution", "Handed over")
    assert root.until_ended(_generation(root, 1)).states == (BEGAN, *RAN * ROUNDS, *handed)
    assert root.until_in(_generation(root, 2), WAITING).states == DEPLOYED
    assert {root.record(each).state for each in many} == {State.NO_CHANGES}


def _more_than_one_execution_takes(root: RootInWorld) -> list[Deployment]:
    return [root.deployment(request=f"merge {number}") for number in range(ROUNDS + 1)]


@story
def a_queue_that_cannot_be_handed_over_is_released_and_taken_up_by_the_reconciler(world: World) -> None:
    root = world.root("never-hands-over-plan-is-empty")
    many = _more_than_one_execution_takes(root)
    fault = world.cloud.add_fault(**invokes("hand_over_worker", f'{root.queue}"', FOR_GOOD, times=None))
    root.enqueue(*many)
    history = root.until_ended(_generation(root, 1))
    assert history.states[-2:] == ("Hand over to a new execution", "Tidegate failed")
    _until_released(root)
    world.cloud.remove_fault(fault)
    _reconcile_until_final(root, many[-1])
    _ends_as(root, many[-1], State.NO_CHANGES)


@story
def an_execution_that_does_not_own_the_queue_leaves_it_alone(world: World) -> None:
    root = world.root("owned-plan-is-empty")
    _deployed(root, root.deployment())
    before = root.head()
    stranger = f"stranger-{root.name}"
    world.states.start_execution(
        stateMachineArn=world.cloud.state_machines["deploy"], name=stranger, input=json.dumps({"queue": root.queue})
    )
    history = root.until_ended(root.deploy_arn(stranger))
    assert history.states == (BEGAN, "Claim the next deployment", "What to do next?", "Another execution works here")
    assert root.head().worker == before.worker


@story
def a_claim_that_fails_leaves_the_deployment_in_line_for_the_reconciler(world: World) -> None:
    root = world.root("unclaimed-plan-is-empty")
    fault = world.cloud.add_fault(**invokes("claim_deployment", f'{root.queue}"', FOR_GOOD, times=None))
    deployment = root.deployment()
    root.enqueue(deployment)
    history = root.until_ended(_generation(root, 1))
    assert history.states == (BEGAN, "Claim the next deployment", "Tidegate failed")
    _until_released(root)
    assert root.record(deployment).state is State.QUEUED
    world.cloud.remove_fault(fault)
    _reconcile_until_final(root, deployment)
    _ends_as(root, deployment, State.NO_CHANGES)


@story
def a_wait_that_cannot_begin_releases_the_queue(world: World) -> None:
    root = world.root("restless-plan-is-empty")
    fault = world.cloud.add_fault(**invokes("wait_for_signal", f'{root.queue}"', FOR_GOOD, times=None))
    root.enqueue(root.deployment())
    assert root.until_ended(_generation(root, 1)).states == (*DEPLOYED, "Tidegate failed")
    _until_released(root)
    world.cloud.remove_fault(fault)


@story
def an_outcome_that_cannot_be_recorded_is_kept_by_the_event(world: World) -> None:
    root = world.root("outcome-lost-plan-only-adds")
    deployment = root.deployment()
    world.cloud.add_fault(**invokes("record_outcome", deployment.id, FOR_GOOD, times=None))
    root.enqueue(deployment)
    assert root.until_ended(_generation(root, 1)).states == (BEGAN, *RAN, "Tidegate failed")
    _until_released(root)
    head = root.head()
    assert head.in_flight is None
    assert head.deployed is not None
    assert (head.deployed.deployment, root.record(deployment).state) == (deployment.id, State.APPLIED)


@story
def a_deploy_execution_that_is_stopped_before_the_plan_puts_its_deployment_back_in_line(world: World) -> None:
    root = world.root("stopped-early-plan-is-empty")
    deployment = root.deployment()
    fault = world.cloud.add_fault(**invokes("validate_revision", deployment.id, {"delay": 60}, times=None))
    root.enqueue(deployment)
    root.until_in(_generation(root, 1), "Compare with the revision deployed last")
    world.states.stop_execution(executionArn=_generation(root, 1))
    world.cloud.remove_fault(fault)
    _ends_as(root, deployment, State.NO_CHANGES)
    assert root.until_in(_generation(root, 2), WAITING).states == DEPLOYED


@story
def a_deploy_execution_that_is_stopped_in_review_takes_its_terraform_execution_with_it(world: World) -> None:
    root = world.root("stopped-in-review")
    deployment = root.deployment()
    root.enqueue(deployment)
    root.until_state(deployment, State.AWAITING_REVIEW)
    world.states.stop_execution(executionArn=_generation(root, 1))
    _ends_as(root, deployment, State.ENGINE_FAULT)
    assert root.until_ended(root.terraform_arn(deployment)).end == "ExecutionAborted"
    head = root.head()
    assert (head.in_flight, head.lock, head.worker) == (None, None, None)


@story
def a_deploy_execution_that_is_stopped_during_the_apply_leaves_the_outcome_unknown(world: World) -> None:
    root = world.root("plan-only-adds-silent-in-apply-deploy")
    deployment = root.deployment()
    _until_taken(root, deployment)
    world.states.stop_execution(executionArn=_generation(root, 1))
    _ends_as(root, deployment, State.OUTCOME_UNKNOWN)
    assert root.head().lock is not None
    assert root.audits(deployment) == ["RUNNING", "UNKNOWN"]


@story
def a_terraform_execution_that_is_stopped_in_review_is_a_fault_without_a_lock(world: World) -> None:
    root = world.root("aborted-in-review")
    deployment = root.deployment()
    root.enqueue(deployment)
    root.until_state(deployment, State.AWAITING_REVIEW)
    world.states.stop_execution(executionArn=root.terraform_arn(deployment))
    _ends_as(root, deployment, State.ENGINE_FAULT)
    assert root.until_in(_generation(root, 1), WAITING).states == DEPLOYED
    assert root.head().lock is None


@story
def a_terraform_execution_that_is_stopped_during_the_apply_leaves_the_outcome_unknown(world: World) -> None:
    root = world.root("plan-only-adds-silent-in-apply-abort")
    deployment = root.deployment()
    _until_taken(root, deployment)
    world.states.stop_execution(executionArn=root.terraform_arn(deployment))
    _ends_as(root, deployment, State.OUTCOME_UNKNOWN)
    root.until_in(_generation(root, 1), WAITING)
    assert root.head().lock is not None


@alone
def an_apply_waits_for_the_forge_to_give_a_token(world: World) -> None:
    commits = world.make_repository("paths-without-token/roots")
    root = world.root("tokenless-plan-only-adds", commits)
    deployment = root.deployment()
    fault = world.cloud.add_fault(**invokes("hand_over_job", f"{deployment.id}-apply-", THROTTLED, times=None))
    root.enqueue(deployment)
    root.until_in(root.terraform_arn(deployment), "Apply")
    until(lambda: root.title(deployment).startswith("Applying"), "a check run that shows the apply")
    # An instance keeps the token that it got for the plan, or to show the apply.
    world.cloud.kill_function(world.cloud.functions["forge_steps"])
    path = f".*/app/installations/{commits.installation}/access_tokens"
    world.forge.inject("secondary_limit", method="POST", path=path, times=1)
    world.cloud.remove_fault(fault)
    _ends_as(root, deployment, State.APPLIED)
    assert root.until_ended(root.terraform_arn(deployment)).states == APPLIED


def _until_taken(root: RootInWorld, deployment: Deployment) -> None:
    """Enqueue and wait until a runner has taken the apply."""
    root.enqueue(deployment)
    applying = root.until_state(deployment, State.APPLYING).apply_job or ""
    until(lambda: root.world.tidegate.jobs.runner(applying), "a runner that has taken the apply")
