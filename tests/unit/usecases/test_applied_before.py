"""A merge deploys nothing again of what its pull request applied, and everything else as usual."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployment, any_lock, any_revision, sha
from tests.unit.usecases.apply_world import FREE, MERGED, QUEUE, ApplyWorld
from tests.unit.usecases.events_world import BASE, HEAD, MAIN, NUMBER
from tidegate.deploys.rules.queue import Standing, head_after
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.states import presentation_of
from tidegate.ports import Change
from tidegate.pushes.applied_before import AppliedBefore
from tidegate.roots.rules.root import Root, queue_id
from tidegate.rules.errors import Conflict, NotFound
from tidegate.vcs.rules.authors import Authors

OTHER = sha(6)


@pytest.fixture
def world():
    found = ApplyWorld()
    found.comment("tidegate apply")
    return found


def test_what_was_applied_counts_as_deployed_by_the_merge_and_the_queue_is_unlocked(world):
    applied = world.end()
    assert world.head().lock is not None
    world.push()
    settled = world.of(MERGED)
    assert settled.state is State.NO_CHANGES
    assert settled.reason == (
        f"#{NUMBER} applied this before its merge, from {HEAD[:7]}. The merge has the same files "
        "for this root. Nothing was deployed again."
    )
    assert (world.line(), world.head().lock, world.workflows.starts) == ([], None, world.workflows.starts[:1])
    assert (world.head().deployed.deployment, world.head().deployed.revision.sha) == (settled.id, MERGED)
    assert applied.id in world.event_publisher.refreshed
    assert settled in world.event_publisher.announced


def test_its_check_run_says_so_and_is_green(world):
    world.end()
    world.push()
    face = presentation_of(world.of(MERGED), View())
    assert (face.title, face.conclusion) == ("Applied before the merge", "success")
    assert "Nothing was deployed again" in " ".join(face.paragraphs)


def test_a_plan_that_had_nothing_to_change_counts_as_applied(world):
    world.end(State.NO_CHANGES)
    world.push()
    assert world.of(MERGED).state is State.NO_CHANGES


@pytest.mark.parametrize(
    "state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.REJECTED, State.PLAN_FAILED, State.REFUSED]
)
def test_what_was_not_applied_well_is_deployed_as_usual(world, state):
    world.end(state)
    world.push()
    assert world.of(MERGED).state is State.QUEUED
    assert world.line() == [MERGED]


def test_what_was_deployed_by_hand_without_its_base_is_deployed_by_the_merge(world):
    deployment = world.of(HEAD)
    world.end()
    world.deployments.save(amended(world.deployments.get(deployment.id), base_sha=""))
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_a_merge_that_makes_other_files_of_a_root_deploys_it(world):
    world.end()
    world.trees[MERGED] = {**world.trees[HEAD], "live/app/more.tf": "# moved"}
    world.push()
    assert world.of(MERGED).state is State.QUEUED
    assert world.head().lock is not None


def test_a_merge_that_makes_other_files_elsewhere_deploys_those_roots_only(world):
    world.end()
    world.trees[MERGED] = {**world.trees[HEAD], "live/db/main.tf": "# moved"}
    world.push()
    assert world.of(MERGED).state is State.NO_CHANGES
    assert world.of(MERGED, "live/db").state is State.QUEUED
    assert world.event_publisher.moved == [world.of(MERGED).change.id]


def test_a_root_that_the_merge_configures_otherwise_is_deployed(world):
    world.end()
    world.trees[MERGED] = {**world.trees[HEAD], "tidegate.yaml": f"{FREE}engine: {{name: tofu}}\n"}
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_what_the_base_had_besides_must_not_matter_to_the_root(world):
    world.end()
    world.forge.changes[MAIN, HEAD] = Change(BASE, Authors())
    world.push()
    assert world.of(MERGED).state is State.NO_CHANGES


def test_what_was_merged_from_head_and_base_is_deployed_again_where_both_may_have_touched_it(world):
    world.end()
    world.forge.changes[MAIN, HEAD] = Change(BASE, Authors())
    world.trees[MAIN] = {**world.trees[MAIN], "live/app/base.tf": "# other"}
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_what_cannot_be_compared_is_deployed_as_usual(world):
    world.end()
    del world.trees[HEAD]
    world.push()
    assert world.of(MERGED).state is State.QUEUED


@pytest.mark.parametrize("problem", [NotFound("common commit of", "both")])
def test_commits_that_are_gone_are_no_reason_to_fail(world, problem):
    world.end()
    del world.forge.changes[MAIN, HEAD]
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_a_root_that_was_deployed_otherwise_since_is_deployed(world):
    world.end()
    other = any_deployment(
        9, root=Root("live/app", "live/app"), revision=any_revision(9), trigger=Trigger.MANUAL, state=State.APPLIED
    )
    world.deployments.add(other)
    head = world.head()
    world.queues.commit(head, head_after(head, other))
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_something_that_is_in_flight_is_waited_for(world):
    world.end()
    world.queues.commit(world.head(), replace(world.head(), in_flight="other"))
    world.push()
    assert world.of(MERGED).state is State.QUEUED
    assert world.line() == [MERGED]


def test_a_lock_of_somebody_else_stays(world):
    world.end()
    lock = any_lock(pull_request=99)
    world.queues.commit(world.head(), replace(world.head(), lock=lock))
    world.push()
    assert (world.of(MERGED).state, world.head().lock) == (State.NO_CHANGES, lock)


def test_the_merges_of_others_that_wait_go_on(world):
    world.end()
    other = any_deployment(9, root=Root("live/app", "live/app"), repository="acme/infra")
    world.queues.enqueue(other)
    world.workflows.starts.clear()
    world.queues.commit(world.head(), replace(world.head(), worker=None))
    world.push()
    assert world.of(MERGED).state is State.NO_CHANGES
    assert len(world.workflows.starts) == 1


def test_the_same_push_received_again_changes_nothing(world):
    world.end()
    world.push(delivery="push")
    settled, head = world.of(MERGED), world.head()
    world.push(delivery="push")
    assert (world.of(MERGED), world.head()) == (settled, head)


def test_whoever_died_before_it_was_ended_ends_it_when_the_push_comes_again(world):
    world.end()
    commit, tries = world.queues.commit, []

    def dying(*arguments, **options):
        tries.append(options)
        raise RuntimeError("the function died")

    world.queues.commit = dying
    with pytest.raises(ExceptionGroup):
        world.push(delivery="push")
    world.queues.commit = commit
    assert (len(tries), world.of(MERGED).state) == (1, State.QUEUED)
    world.push(delivery="push")
    assert (world.of(MERGED).state, world.line(), world.head().lock) == (State.NO_CHANGES, [], None)


def test_who_writes_at_the_same_time_is_waited_for(world):
    world.end()
    commit, conflicts = world.queues.commit, [Conflict("The queue")]

    def busy(*arguments, **options):
        if conflicts:
            raise conflicts.pop()
        return commit(*arguments, **options)

    world.queues.commit = busy
    world.push()
    assert world.of(MERGED).state is State.NO_CHANGES


def test_a_root_of_several_stacks_is_judged_in_each(world):
    applied = world.end()
    head = world.head()
    world.queues.commit(head, replace(head, deployed=None, by_stack=(Standing("other", head.deployed),)))
    assert applied.stack == "default"
    world.push()
    assert world.of(MERGED).state is State.QUEUED


def test_commits_are_compared_once_for_the_roots_of_one_push(world):
    applied = world.end()
    comparing = AppliedBefore(world.ports)
    comparing.enqueue(replace(any_deployment(4), root=applied.root))
    assert world.of(MERGED).state is State.NO_CHANGES
    assert len(comparing._differing) == 1


def test_only_merges_are_compared(world):
    applied = world.end()
    again = replace(applied, id="again", state=State.QUEUED, version=0, history=())
    AppliedBefore(world.ports).enqueue(again)
    assert world.deployments.get("again").state is State.QUEUED
    assert queue_id(again.repository, "live/app") == QUEUE
