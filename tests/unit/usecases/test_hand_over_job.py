from __future__ import annotations

import pytest

from tests.builders import any_job
from tests.unit.usecases.terraform_world import World
from tidegate.domain.errors import ForgeUnavailable, JobGone, NotFound
from tidegate.messages import HandOverJob
from tidegate.usecases.deploys.hand_over_job import JobHandover


@pytest.fixture
def world():
    world = World()
    world.jobs.create(any_job())
    return world


@pytest.fixture
def handover(world):
    return JobHandover(world.jobs, world.forge)


MESSAGE = HandOverJob(job=any_job().id, token="task-token")


def test_the_runner_finds_both_tokens_in_the_jobs_record(world, handover):
    handover.hand_over(MESSAGE)
    taken = world.jobs.take(any_job().id, "runner")
    assert (taken.token, taken.clone_token) == ("task-token", "clone-token-of-acme/infra")


def test_nothing_is_handed_over_while_the_forge_gives_no_token(world, handover):
    world.forge.failures = [ForgeUnavailable("down")]
    with pytest.raises(ForgeUnavailable):
        handover.hand_over(MESSAGE)
    assert world.jobs.token(any_job().id) is None


def test_a_job_that_a_runner_has_taken_is_not_handed_over_again(world, handover):
    handover.hand_over(MESSAGE)
    world.jobs.take(any_job().id, "runner")
    with pytest.raises(JobGone):
        handover.hand_over(MESSAGE)


def test_a_closed_job_is_not_handed_over(world, handover):
    world.jobs.close(any_job().id)
    with pytest.raises(JobGone):
        handover.hand_over(MESSAGE)


def test_a_job_that_does_not_exist_is_not_handed_over(handover):
    with pytest.raises(NotFound):
        handover.hand_over(HandOverJob(job="no-such-job", token="t"))
