"""The log of a replay: it runs as long as somebody waits for its result."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, any_job, sha
from tests.fakes.ports import memory_ports
from tidegate.deploys.read_log import LogState, ReplayRun, read_log
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.ports import LogChunk


@pytest.mark.parametrize(("is_over", "state"), [(False, LogState.RUNNING), (True, LogState.LOST)])
def test_lines_without_a_stored_log_are_all_there_is_once_the_replay_is_over(is_over, state):
    ports = memory_ports()
    replay = ReplayRun("replay-1", REPOSITORY, sha(1), is_over)
    job = job_id(replay.id, JobKind.REPLAY, 1)
    ports.jobs.create(any_job(id=job))
    ports.job_logs.append(job, LogChunk(0, ("make images",)))
    page = read_log(ports, replay, job, 0)
    assert (page.state, page.lines) == (state, ("make images",))
