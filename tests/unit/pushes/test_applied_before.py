"""A merge deploys nothing again of what its pull request applied, and everything else as usual."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployment, any_lock, any_revision, sha
from tests.unit.comments.apply_scenario import FREE, MERGED, QUEUE, ApplyScenario
from tests.unit.comments.events_scenario import BASE, HEAD, MAIN, NUMBER
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
def scenario():
    found = ApplyScenario()
    found.comment("tidegate apply")
    return found


def test_what_was_applied_counts_as_deployed_by_the_merge_and_the_queue_is_unlocked(scenario):
    applied = scenario.end()
    assert scenario.head().lock is not None
    scenario.push()
    settled = scenario.of(MERGED)
    assert settled.state is State.NO_CHANGES
    assert settled.reason == (
        f"#{NUMBER} applied this before its merge, from {HEAD[:7]}. The merge has the same files "
        "for this root. Nothing was deployed again."
    )
    assert (scenario.line(), scenario.head().lock, scenario.workflows.starts) == (
        [],
        None,
        scenario.workflows.starts[:1],
    )
    assert (scenario.head().deployed.deployment, scenario.head().deployed.revision.sha) == (settled.id, MERGED)
    assert applied.id in scenario.event_publisher.refreshed
    assert settled in scenario.event_publisher.announced


def test_its_check_run_says_so_and_is_green(scenario):
    scenario.end()
    scenario.push()
    face = presentation_of(scenario.of(MERGED), View())
    assert (face.title, face.conclusion) == ("Applied before the merge", "success")
    assert "Nothing was deployed again" in " ".join(face.paragraphs)


def test_a_plan_that_had_nothing_to_change_counts_as_applied(scenario):
    scenario.end(State.NO_CHANGES)
    scenario.push()
    assert scenario.of(MERGED).state is State.NO_CHANGES


@pytest.mark.parametrize(
    "state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.REJECTED, State.PLAN_FAILED, State.REFUSED]
)
def test_what_was_not_applied_well_is_deployed_as_usual(scenario, state):
    scenario.end(state)
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED
    assert scenario.line() == [MERGED]


def test_what_was_deployed_by_hand_without_its_base_is_deployed_by_the_merge(scenario):
    deployment = scenario.of(HEAD)
    scenario.end()
    scenario.deployments.save(amended(scenario.deployments.get(deployment.id), base_sha=""))
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_a_merge_that_makes_other_files_of_a_root_deploys_it(scenario):
    scenario.end()
    scenario.trees[MERGED] = {**scenario.trees[HEAD], "live/app/more.tf": "# moved"}
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED
    assert scenario.head().lock is not None


def test_a_merge_that_makes_other_files_elsewhere_deploys_those_roots_only(scenario):
    scenario.end()
    scenario.trees[MERGED] = {**scenario.trees[HEAD], "live/db/main.tf": "# moved"}
    scenario.push()
    assert scenario.of(MERGED).state is State.NO_CHANGES
    assert scenario.of(MERGED, "live/db").state is State.QUEUED
    assert scenario.event_publisher.moved == [scenario.of(MERGED).change.id]


def test_a_root_that_the_merge_configures_otherwise_is_deployed(scenario):
    scenario.end()
    scenario.trees[MERGED] = {**scenario.trees[HEAD], "tidegate.yaml": f"{FREE}engine: {{name: tofu}}\n"}
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_what_the_base_had_besides_must_not_matter_to_the_root(scenario):
    scenario.end()
    scenario.forge.changes[MAIN, HEAD] = Change(BASE, Authors())
    scenario.push()
    assert scenario.of(MERGED).state is State.NO_CHANGES


def test_what_was_merged_from_head_and_base_is_deployed_again_where_both_may_have_touched_it(scenario):
    scenario.end()
    scenario.forge.changes[MAIN, HEAD] = Change(BASE, Authors())
    scenario.trees[MAIN] = {**scenario.trees[MAIN], "live/app/base.tf": "# other"}
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_what_cannot_be_compared_is_deployed_as_usual(scenario):
    scenario.end()
    del scenario.trees[HEAD]
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


@pytest.mark.parametrize("problem", [NotFound("common commit of", "both")])
def test_commits_that_are_gone_are_no_reason_to_fail(scenario, problem):
    scenario.end()
    del scenario.forge.changes[MAIN, HEAD]
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_a_root_that_was_deployed_otherwise_since_is_deployed(scenario):
    scenario.end()
    other = any_deployment(
        9, root=Root("live/app", "live/app"), revision=any_revision(9), trigger=Trigger.MANUAL, state=State.APPLIED
    )
    scenario.deployments.add(other)
    head = scenario.head()
    scenario.queues.commit(head, head_after(head, other))
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_something_that_is_in_flight_is_waited_for(scenario):
    scenario.end()
    scenario.queues.commit(scenario.head(), replace(scenario.head(), in_flight="other"))
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED
    assert scenario.line() == [MERGED]


def test_a_lock_of_somebody_else_stays(scenario):
    scenario.end()
    lock = any_lock(pull_request=99)
    scenario.queues.commit(scenario.head(), replace(scenario.head(), lock=lock))
    scenario.push()
    assert (scenario.of(MERGED).state, scenario.head().lock) == (State.NO_CHANGES, lock)


def test_the_merges_of_others_that_wait_go_on(scenario):
    scenario.end()
    other = any_deployment(9, root=Root("live/app", "live/app"), repository="acme/infra")
    scenario.queues.enqueue(other)
    scenario.workflows.starts.clear()
    scenario.queues.commit(scenario.head(), replace(scenario.head(), worker=None))
    scenario.push()
    assert scenario.of(MERGED).state is State.NO_CHANGES
    assert len(scenario.workflows.starts) == 1


def test_the_same_push_received_again_changes_nothing(scenario):
    scenario.end()
    scenario.push(delivery="push")
    settled, head = scenario.of(MERGED), scenario.head()
    scenario.push(delivery="push")
    assert (scenario.of(MERGED), scenario.head()) == (settled, head)


def test_whoever_died_before_it_was_ended_ends_it_when_the_push_comes_again(scenario):
    scenario.end()
    commit, tries = scenario.queues.commit, []

    def dying(*arguments, **options):
        tries.append(options)
        raise RuntimeError("the function died")

    scenario.queues.commit = dying
    with pytest.raises(ExceptionGroup):
        scenario.push(delivery="push")
    scenario.queues.commit = commit
    assert (len(tries), scenario.of(MERGED).state) == (1, State.QUEUED)
    scenario.push(delivery="push")
    assert (scenario.of(MERGED).state, scenario.line(), scenario.head().lock) == (State.NO_CHANGES, [], None)


def test_who_writes_at_the_same_time_is_waited_for(scenario):
    scenario.end()
    commit, conflicts = scenario.queues.commit, [Conflict("The queue")]

    def busy(*arguments, **options):
        if conflicts:
            raise conflicts.pop()
        return commit(*arguments, **options)

    scenario.queues.commit = busy
    scenario.push()
    assert scenario.of(MERGED).state is State.NO_CHANGES


def test_a_root_of_several_stacks_is_judged_in_each(scenario):
    applied = scenario.end()
    head = scenario.head()
    scenario.queues.commit(head, replace(head, deployed=None, by_stack=(Standing("other", head.deployed),)))
    assert applied.stack == "default"
    scenario.push()
    assert scenario.of(MERGED).state is State.QUEUED


def test_commits_are_compared_once_for_the_roots_of_one_push(scenario):
    applied = scenario.end()
    comparing = AppliedBefore(scenario.ports)
    comparing.enqueue(replace(any_deployment(4), root=applied.root))
    assert scenario.of(MERGED).state is State.NO_CHANGES
    assert len(comparing._differing) == 1


def test_only_merges_are_compared(scenario):
    applied = scenario.end()
    again = replace(applied, id="again", state=State.QUEUED, version=0, history=())
    AppliedBefore(scenario.ports).enqueue(again)
    assert scenario.deployments.get("again").state is State.QUEUED
    assert queue_id(again.repository, "live/app") == QUEUE
