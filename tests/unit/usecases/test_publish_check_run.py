from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from tests.builders import any_artifact, any_deployed, any_deployment, any_lock, any_plan, deployment_in
from tests.unit.usecases.terraform_world import World
from tidegate.domain.check_run import Button, Conclusion
from tidegate.domain.deployment import State, Trigger
from tidegate.domain.errors import ForgeUnavailable, NotFound
from tidegate.ports import PublishedCheckRun
from tidegate.usecases.check_run_view import PLAN_START
from tidegate.usecases.publish_check_run import CheckRunPublisher


@pytest.fixture
def world():
    return World()


def publish(world, deployment, *, again=False, **links):
    publisher = CheckRunPublisher(world.deployments, world.check_runs, world.forge, world.painter(**links))
    publisher.publish(deployment.id, again=again)


def move(world, deployment, state):
    """Save the deployment in another state, with what belongs to it."""
    current = world.deployments.get(deployment.id)
    return world.deployments.save(replace(deployment_in(state), version=current.version))


def titles(world):
    return {identifier: check_run.title.partition(":")[0] for identifier, check_run in world.forge.check_runs.items()}


def test_the_first_state_makes_a_check_run_on_the_commit(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    (check_run,) = world.forge.check_runs.values()
    assert (check_run.sha, check_run.external_id) == (deployment.revision.sha, deployment.id)
    assert world.check_runs.published(deployment.id) == PublishedCheckRun(deployment.id, 1, 0, closed=False)


def test_a_further_state_updates_it(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    move(world, deployment, State.PLANNING)
    publish(world, deployment)
    assert titles(world) == {1: "Planning"}


def test_a_version_that_is_shown_is_not_shown_again(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    publish(world, deployment)
    assert world.forge.updates == []


def test_a_version_that_is_shown_is_drawn_again_when_its_surroundings_changed(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    publish(world, deployment, again=True)
    assert len(world.forge.updates) == 1


def test_a_completed_check_run_is_never_reopened(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check run", 2: "Approved"}
    old = world.forge.check_runs[1]
    assert (old.status, old.conclusion, old.actions) == ("completed", Conclusion.NEUTRAL, ())
    assert "https://github.com/acme/infra/runs/2" in old.summary


def test_a_completed_check_run_that_stays_completed_is_updated_in_place(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.REJECTED)
    publish(world, deployment)
    assert titles(world) == {1: "Rejected"}


def test_the_last_message_shows_the_final_state_whatever_came_between(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    for state in (State.PLANNING, State.AWAITING_REVIEW, State.APPROVED, State.APPLYING, State.APPLIED):
        move(world, deployment, state)
    publish(world, deployment)
    assert titles(world) == {1: "Applied"}


def test_a_check_run_that_was_made_and_not_remembered_is_gone_on_with(world):
    deployment = world.put(any_deployment())
    publish(world, deployment)
    world.check_runs._published.clear()
    publish(world, deployment)
    assert titles(world) == {1: "Queued"}


def test_a_second_check_run_that_was_made_and_not_remembered_is_gone_on_with(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    before = world.check_runs.published(deployment.id)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    world.check_runs.remember(before)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check run", 2: "Approved"}
    assert world.check_runs.published(deployment.id).id == 2


def test_a_deployment_that_ended_before_the_next_attempt_ends_on_the_newest_check_run(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    before = world.check_runs.published(deployment.id)
    move(world, deployment, State.APPROVED)
    publish(world, deployment)
    world.check_runs.remember(before)
    for state in (State.APPLYING, State.APPLIED):
        move(world, deployment, state)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check run", 2: "Applied"}


@pytest.mark.parametrize("calls", range(3))
def test_after_a_forge_that_fails_at_any_call_the_next_attempt_gets_it_right(world, calls):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    publish(world, deployment)
    move(world, deployment, State.APPROVED)

    class FailsAfter:
        left = calls

        def __getattr__(self, name):
            call = getattr(world.forge, name)
            if name == "check_run_url":
                return call

            def counted(*arguments):
                if self.left == 0:
                    raise ForgeUnavailable("down", 30)
                self.left -= 1
                return call(*arguments)

            return counted

    publisher = CheckRunPublisher(world.deployments, world.check_runs, FailsAfter(), world.painter())
    with pytest.raises(ForgeUnavailable):
        publisher.publish(deployment.id)
    publish(world, deployment)
    assert titles(world) == {1: "Continued in a newer check run", 2: "Approved"}


def test_an_unknown_deployment_is_not_published(world):
    with pytest.raises(NotFound):
        publish(world, any_deployment())


def test_a_plan_is_shown_from_its_artifact(world):
    publish(world, world.put(deployment_in(State.AWAITING_REVIEW)), bucket="artifacts")
    assert "+   resource" in world.forge.check_runs[1].text
    assert "s3://artifacts/" in world.forge.check_runs[1].text


def test_a_plan_that_has_expired_is_left_out(world):
    world.artifacts.objects.clear()
    publish(world, world.put(deployment_in(State.APPLIED)))
    assert world.forge.check_runs[1].text == ""


def test_a_plan_without_changes_is_not_fetched(world):
    publish(world, world.put(deployment_in(State.NO_CHANGES)))
    assert world.forge.check_runs[1].text == ""


def test_of_a_huge_plan_only_the_start_is_read(world):
    content = b"z" * (PLAN_START + 1000)
    text = any_artifact(key="plans/network-plan-1/plan.txt", sha256=sha256(content).hexdigest())
    deployment = world.put(deployment_in(State.AWAITING_REVIEW, plan=any_plan(text=text)))
    world.artifacts.put(text.key, content)
    publish(world, deployment)
    text = world.forge.check_runs[1].text
    assert f"{PLAN_START + 1000 - text.count('z'):,} bytes are left out" in text


def test_an_altered_plan_text_is_not_shown_and_cannot_be_confirmed(world):
    deployment = world.put(deployment_in(State.AWAITING_REVIEW))
    world.artifacts.put(deployment.plan.text.key, b"No changes.")
    publish(world, deployment)
    shown = world.forge.check_runs[1]
    assert "No changes." not in shown.text
    assert "altered after it was made" in shown.summary
    assert "Reject it and merge again" in shown.summary
    assert [action.button for action in shown.actions] == [Button.REJECT]


def test_a_plan_text_altered_later_is_not_shown_either(world):
    deployment = world.put(deployment_in(State.APPLIED))
    world.artifacts.put(deployment.plan.text.key, b"No changes.")
    publish(world, deployment)
    assert "altered after it was made" in world.forge.check_runs[1].summary
    assert "Reject" not in world.forge.check_runs[1].summary


def test_the_place_in_line_counts_who_is_in_flight(world):
    first, second = any_deployment(1), any_deployment(2)
    world.queues.enqueue(first)
    world.queues.enqueue(second)
    publish(world, second)
    assert "1 deployment of this root goes first" in world.forge.check_runs[1].title
    head, waiting = world.queues.read(first.queue)
    world.queues.commit(head, replace(head, in_flight=first.id), take=waiting)
    publish(world, second, again=True)
    assert "1 deployment of this root goes first" in world.forge.check_runs[1].title


def test_a_deployment_that_was_just_taken_is_not_behind_anybody(world):
    publish(world, world.put(any_deployment()))
    assert world.forge.check_runs[1].title == "Queued"


def test_a_lock_is_shown_to_those_who_wait(world):
    deployment = any_deployment()
    world.queues.enqueue(deployment)
    head, _ = world.queues.read(deployment.queue)
    world.queues.commit(head, replace(head, lock=any_lock()))
    publish(world, deployment)
    assert "locked" in world.forge.check_runs[1].title


@pytest.mark.parametrize(
    "deployment",
    [deployment_in(State.OUTCOME_UNKNOWN), deployment_in(State.APPLIED, trigger=Trigger.MANUAL)],
    ids=["unknown outcome", "by hand"],
)
def test_unlock_is_offered_once_the_queue_is_locked_and_not_before(world, deployment):
    world.put(deployment)
    head, _ = world.queues.read(deployment.queue)
    head = world.queues.commit(head, replace(head, in_flight=deployment.id))
    publish(world, deployment)
    assert world.forge.check_runs[1].actions == ()
    assert "is being locked" in world.forge.check_runs[1].summary
    deployed = any_deployed(deployment=deployment.id, revision=deployment.revision)
    lock = any_lock(revision=deployment.revision.sha)
    world.queues.commit(head, replace(head, in_flight=None, deployed=deployed, lock=lock))
    publish(world, deployment, again=True)
    assert [action.button for action in world.forge.check_runs[1].actions] == [Button.UNLOCK]
    assert "is being locked" not in world.forge.check_runs[1].summary


def test_links_lead_to_the_execution_and_to_the_jobs_log(world):
    links = {"execution": "https://x.example/{deployment}", "log": "https://x.example/log/{job}"}
    queued, applied = any_deployment(1), deployment_in(State.APPLIED, 2)
    publish(world, world.put(queued), **links)
    publish(world, world.put(applied), **links)
    assert world.forge.check_runs[1].details_url == f"https://x.example/{queued.id}"
    assert world.forge.check_runs[2].details_url == f"https://x.example/log/{applied.apply_job}"
