"""What every store of jobs and their logs does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.builders import NOW, any_job
from tidegate.deploys.rules.job import JobKind, TakenJob
from tidegate.deploys.rules.plan_runner import Limit, kept
from tidegate.ports import LogChunk
from tidegate.rules.errors import ApplyAlreadyStarted, Conflict, NotFound


@pytest.fixture
def job(stores):
    job = any_job(JobKind.APPLY)
    stores.jobs.create(job)
    return job


@pytest.mark.parametrize("kind", JobKind)
def test_a_job_is_read_as_it_was_created(stores, kind):
    stores.jobs.create(any_job(kind))
    assert stores.jobs.get(any_job(kind).id) == any_job(kind)


def test_an_unknown_job_is_not_found(stores):
    for ask in (stores.jobs.get, lambda job: stores.jobs.take(job, "runner")):
        with pytest.raises(NotFound):
            ask("unknown")
    with pytest.raises(NotFound):
        stores.jobs.hand_over("unknown", "token", "clone")
    assert stores.jobs.token("unknown") is None
    assert stores.jobs.runner("unknown") is None


def test_of_many_ids_those_that_jobs_have_are_told(stores, job):
    stores.jobs.close("closed before it was created")
    asked = [job.id, "closed before it was created", *(f"unknown-{number}" for number in range(120))]
    assert stores.jobs.existing(asked) == {job.id}
    assert stores.jobs.existing([]) == set()


def test_creating_the_same_job_again_changes_nothing(stores, job):
    stores.jobs.hand_over(job.id, "token", "clone")
    stores.jobs.create(job)
    assert stores.jobs.take(job.id, "runner") == TakenJob(job, "token", "clone")


def test_another_job_under_the_same_id_is_a_conflict(stores, job):
    with pytest.raises(Conflict):
        stores.jobs.create(replace(job, sha="0" * 40))
    assert stores.jobs.get(job.id) == job


def test_a_job_can_be_taken_once_it_is_handed_over(stores, job):
    assert stores.jobs.take(job.id, "runner") is None
    assert stores.jobs.token(job.id) is None
    assert stores.jobs.hand_over(job.id, "token", "clone")
    assert stores.jobs.token(job.id) == "token"
    assert stores.jobs.runner(job.id) is None
    assert stores.jobs.take(job.id, "runner") == TakenJob(job, "token", "clone")
    assert stores.jobs.runner(job.id) == "runner"
    assert stores.jobs.token(job.id) == "token"


def test_a_token_is_that_of_the_runner_that_took_the_job(stores, job):
    assert stores.jobs.token_of("unknown", "runner") is None
    stores.jobs.hand_over(job.id, "token", "clone")
    assert stores.jobs.token_of(job.id, "runner") is None
    stores.jobs.take(job.id, "runner")
    assert stores.jobs.token_of(job.id, "runner") == "token"
    assert stores.jobs.token_of(job.id, "another") is None


def test_the_tokens_handed_over_last_count(stores, job):
    stores.jobs.hand_over(job.id, "token-1", "clone-1")
    assert stores.jobs.hand_over(job.id, "token-2", "clone-2")
    assert stores.jobs.take(job.id, "runner") == TakenJob(job, "token-2", "clone-2")


def test_a_taken_job_is_nobody_elses(stores, job):
    stores.jobs.hand_over(job.id, "token", "clone")
    stores.jobs.take(job.id, "runner")
    with pytest.raises(ApplyAlreadyStarted):
        stores.jobs.take(job.id, "another")
    assert not stores.jobs.hand_over(job.id, "token-2", "clone-2")
    assert stores.jobs.token(job.id) == "token"


def test_the_token_to_clone_with_is_gone_once_the_job_is_taken(stores, job):
    stores.jobs.hand_over(job.id, "token", "clone")
    stores.jobs.take(job.id, "runner")
    assert stores.jobs.take(job.id, "runner") == TakenJob(job, "token", "")


def test_a_closed_job_is_not_handed_over_and_not_taken(stores, job):
    stores.jobs.hand_over(job.id, "token", "clone")
    assert not stores.jobs.close(job.id)
    assert not stores.jobs.hand_over(job.id, "token", "clone")
    with pytest.raises(ApplyAlreadyStarted):
        stores.jobs.take(job.id, "runner")
    assert not stores.jobs.close(job.id)


def test_closing_tells_whether_a_runner_has_taken_the_job(stores, job):
    stores.jobs.hand_over(job.id, "token", "clone")
    stores.jobs.take(job.id, "runner")
    assert stores.jobs.close(job.id)
    assert stores.jobs.close(job.id)


def test_a_job_that_was_closed_before_it_was_created_is_never_taken(stores):
    job = any_job()
    assert not stores.jobs.close(job.id)
    with pytest.raises(Conflict):
        stores.jobs.create(job)
    with pytest.raises(NotFound):
        stores.jobs.hand_over(job.id, "token", "clone")


def test_of_several_runners_one_takes_the_job(stores, job, kind):
    stores.jobs.hand_over(job.id, "token", "clone")

    def take(number):
        try:
            return int(stores.jobs.take(job.id, f"runner-{number}") is not None)
        except ApplyAlreadyStarted:
            return 0

    # moto's tables are not made for threads; there the four come one after another with what they read before.
    with ThreadPoolExecutor(4 if kind == "memory" else 1) as pool:
        assert sum(pool.map(take, range(4))) == 1


def test_a_log_is_read_from_a_position_on(stores):
    chunks = [LogChunk(0, ("a", "b")), LogChunk(2, ("",)), LogChunk(10, ("ü \x1b[0m",))]
    for chunk in [chunks[2], chunks[0], chunks[1], chunks[0]]:
        stores.logs.append("job", chunk)
    stores.logs.append("job-2", LogChunk(0, ("other",)))
    assert list(stores.logs.read("job", 0)) == chunks
    assert list(stores.logs.read("job", 2)) == chunks[1:]
    assert list(stores.logs.read("job", 11)) == []


def test_a_log_is_read_a_few_chunks_at_a_time(stores):
    for position in (0, 2, 4):
        stores.logs.append("a-job", LogChunk(position, ("a", "b")))
    assert [chunk.position for chunk in stores.logs.read("a-job", 0, 2)] == [0, 2]
    assert [chunk.position for chunk in stores.logs.read("a-job", 2, 2)] == [2, 4]


def test_the_last_chunk_before_a_line_is_found(stores):
    for position in (0, 2, 12):
        stores.logs.append("job", LogChunk(position, ("a", "b")))
    stores.logs.append("job-2", LogChunk(0, ("other",)))
    found = {line: stores.logs.last_before("job", line) for line in (0, 1, 2, 3, 12, 13, 99)}
    positions = {line: chunk.position if chunk else None for line, chunk in found.items()}
    assert positions == {0: None, 1: 0, 2: 0, 3: 2, 12: 2, 13: 12, 99: 12}
    assert stores.logs.last_before("none", 5) is None


def test_a_log_of_many_megabytes_is_read_completely(stores):
    for position in range(8):
        stores.logs.append("job", LogChunk(position, ("x" * 200_000,)))
    assert [chunk.position for chunk in stores.logs.read("job", 0)] == list(range(8))


def test_the_limit_that_a_job_has_met_is_remembered(stores, job):
    assert stores.jobs.limit("unknown") is None
    assert stores.jobs.limit(job.id) is None
    stores.jobs.report_limit(job.id, Limit.DISK)
    assert stores.jobs.limit(job.id) is Limit.DISK
    assert stores.jobs.get(job.id) == job


def test_the_runner_that_took_a_job_is_at_large_until_it_has_stopped(stores, job):
    assert stores.jobs.at_large(job.id) is None
    stores.jobs.report_stopped(job.id, "task")
    stores.jobs.hand_over(job.id, "token", "clone")
    stores.jobs.take(job.id, "task")
    stores.jobs.report_stopped(job.id, "another")
    assert stores.jobs.at_large(job.id) == "task"
    stores.jobs.report_stopped(job.id, "task")
    assert stores.jobs.at_large(job.id) is None


def test_why_a_roots_plans_run_on_fargate_is_remembered(stores):
    assert stores.plan_runners.kept("acme/infra||network", "form") is None
    for limit in (Limit.TIME, Limit.MEMORY):
        why = kept(limit, "form", NOW)
        stores.plan_runners.keep("acme/infra||network", why)
        assert stores.plan_runners.kept("acme/infra||network", "form") == why
    assert stores.plan_runners.kept("acme/infra||other", "form") is None
