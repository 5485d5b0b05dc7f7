"""Reading logs: of jobs that wait, run, have ended, lost their runner, or never were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_job, any_layer, deployment_in
from tests.fakes.ports import memory_ports
from tidegate.deploys import read_log
from tidegate.deploys.read_log import MISSING_LINE, LogState, RawLog, read_whole_log
from tidegate.deploys.rules.job import JobKind, job_id, log_key
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports import LogChunk
from tidegate.rules.errors import NotFound


class Scenario:
    def __init__(self, state=State.PLANNING, kind=JobKind.PLAN):
        self.ports = memory_ports()
        self.jobs, self.logs, self.artifacts = self.ports.jobs, self.ports.job_logs, self.ports.artifacts
        self.deployment = deployment_in(state)
        self.job = job_id(self.deployment.id, kind, 1)

    def begun(self):
        self.jobs.create(any_job(id=self.job, deployment=self.deployment.id))
        return self

    def taken(self):
        self.begun()
        self.jobs.hand_over(self.job, "token", "clone")
        self.jobs.take(self.job, "runner-1")
        return self

    def wrote(self, position, *lines):
        self.logs.append(self.job, LogChunk(position, lines))
        return self

    def stored(self, *lines):
        self.artifacts.put(log_key(self.job), "".join(f"{line}\n" for line in lines).encode())
        return self

    def read(self, after=0):
        return read_log.read_log(self.ports, self.deployment, self.job, after)

    def whole(self):
        return read_whole_log(self.ports, self.deployment, self.job)


def test_a_job_that_nobody_has_taken_waits_for_a_runner():
    page = Scenario().begun().read()
    assert (page.state, page.lines, page.next, page.ended) == (LogState.WAITING, (), 0, False)


def test_a_job_without_lines_yet_runs():
    assert Scenario().taken().read().state is LogState.RUNNING


@pytest.mark.parametrize("state", [State.PLANNING, State.AWAITING_REVIEW])
def test_a_job_that_never_was_is_not_found(state):
    scenario = Scenario(state)
    with pytest.raises(NotFound):
        scenario.read()
    with pytest.raises(NotFound):
        scenario.read(5)
    with pytest.raises(NotFound):
        scenario.whole()


@pytest.mark.parametrize("job", ["other-plan-1", "rubbish", "", "x" * 5000, "a-destroy-1"])
def test_a_job_of_another_deployment_is_not_found(job):
    scenario = Scenario().begun()
    with pytest.raises(NotFound):
        read_log.read_log(scenario.ports, scenario.deployment, job, 0)


def test_lines_of_a_running_job_come_one_after_the_other():
    scenario = Scenario().taken().wrote(0, "a", "b")
    first = scenario.read()
    assert (first.lines, first.next, first.ended) == (("a", "b"), 2, False)
    assert scenario.read(2).lines == ()
    scenario.wrote(2, "c")
    assert scenario.read(2).lines == ("c",)


def test_a_reader_that_stopped_inside_a_chunk_misses_nothing():
    scenario = Scenario().taken().wrote(0, "a", "b", "c").wrote(3, "d")
    assert scenario.read(1).lines == ("b", "c", "d")
    assert scenario.read(4).lines == ()


def test_the_rest_of_a_chunk_is_read_although_nothing_follows_it_yet():
    scenario = Scenario().taken().wrote(0, "a", "b", "c")
    assert scenario.read(1).lines == ("b", "c")
    assert scenario.read(3).lines == ()


def test_lines_that_are_missing_keep_their_numbers():
    scenario = Scenario().taken().wrote(0, "a").wrote(3, "d")
    assert scenario.read().lines == ("a", MISSING_LINE, MISSING_LINE, "d")
    assert scenario.read(2).lines == (MISSING_LINE, "d")


def test_the_end_of_a_job_is_seen_as_soon_as_its_log_is_stored():
    scenario = Scenario().taken().wrote(0, "a")
    assert not scenario.read(1).ended
    scenario.stored("a", "b")
    page = scenario.read(1)
    assert (page.state, page.lines, page.next, page.ended) == (LogState.ENDED, ("b",), 2, True)
    assert scenario.read(2).ended
    assert scenario.read(99).next == 2


@pytest.mark.parametrize(
    ("state", "kind"),
    [(State.AWAITING_REVIEW, JobKind.PLAN), (State.PLAN_FAILED, JobKind.PLAN), (State.APPLIED, JobKind.APPLY)],
)
def test_a_log_is_read_from_the_store_when_the_job_is_forgotten(state, kind):
    page = Scenario(state, kind).stored("a", "", "c").read()
    assert (page.state, page.lines, page.ended) == (LogState.ENDED, ("a", "", "c"), True)


def test_an_empty_log_has_ended():
    page = Scenario(State.APPLIED).stored().read()
    assert (page.lines, page.ended, page.state) == ((), True, LogState.ENDED)


def test_a_log_without_a_last_line_break_is_read_whole():
    scenario = Scenario(State.APPLIED)
    scenario.artifacts.put(log_key(scenario.job), b"a\nb \xff")
    assert scenario.read().lines == ("a", "b \ufffd")


def test_what_a_runner_wrote_before_it_died_is_shown_as_all_there_is():
    scenario = Scenario(State.PLAN_FAILED).taken().wrote(0, "a", "b")
    page = scenario.read()
    assert (page.state, page.lines, page.ended) == (LogState.LOST, ("a", "b"), False)
    assert (scenario.read(2).ended, scenario.read(2).state) == (True, LogState.LOST)


def test_an_apply_runs_until_its_deployment_has_ended():
    scenario = Scenario(State.APPLYING, JobKind.APPLY).taken().wrote(0, "a")
    assert (scenario.read().state, scenario.read(1).ended) == (LogState.RUNNING, False)


def test_the_whole_log_is_what_is_stored_or_what_there_is_so_far():
    scenario = Scenario().taken().wrote(0, "a", "b")
    assert scenario.whole().content == b"a\nb\n"
    scenario.stored("a", "b", "c")
    assert scenario.whole().content == b"a\nb\nc\n"


def test_the_whole_log_of_a_job_that_waits_is_empty():
    scenario = Scenario().begun()
    assert scenario.whole().content == b""


def test_a_large_log_comes_in_pages_and_is_fetched_once():
    scenario = Scenario(State.APPLIED).stored(*map(str, range(5000)))
    lines, after, pages = [], 0, 0
    while True:
        page = scenario.read(after)
        lines, after, pages = [*lines, *page.lines], page.next, pages + 1
        scenario.artifacts.objects.clear()
        if page.ended:
            break
    assert (lines, pages) == ([str(number) for number in range(5000)], 3)


def test_long_lines_make_shorter_pages():
    scenario = Scenario(State.APPLIED).stored(*["x" * 400_000] * 4, "y" * 2_000_000, "z")
    sizes, after = [], 0
    while not (page := scenario.read(after)).ended or page.lines:
        sizes.append(len(page.lines))
        after = page.next
    assert sizes == [2, 2, 1, 1]


def test_an_enormous_log_is_shown_to_a_limit_and_says_so(monkeypatch):
    monkeypatch.setattr(read_log, "LONGEST_LOG", 4)
    monkeypatch.setattr(read_log, "KEPT_LOG", 3)
    page = Scenario(State.APPLIED).stored("aa", "bb", "cc").read()
    assert page.lines == ("aa", "b", "[The log is truncated here. Its full size is 9 bytes.]")


@given(st.lists(st.lists(st.text("ab", max_size=3), min_size=1, max_size=5), max_size=6), st.integers(0, 30))
def test_every_reader_sees_all_lines_in_order_from_wherever_it_begins(chunks, after):
    scenario, position = Scenario().taken(), 0
    for chunk in chunks:
        scenario.wrote(position, *chunk)
        position += len(chunk)
    every = [line for chunk in chunks for line in chunk]
    page = scenario.read(after)
    assert list(page.lines) == every[after:] or (page.lines == () and after > 0)
    assert page.next == after + len(page.lines)
    whole = scenario.stored(*every).read(after)
    assert list(whole.lines) == every[after:]


def test_of_a_log_that_is_too_long_to_be_read_at_once_the_beginning_is_read(monkeypatch):
    monkeypatch.setattr(read_log, "LONGEST_LOG", 7)
    running, ended = Scenario().taken().wrote(0, "abc").wrote(1, "defg"), Scenario(State.APPLIED).stored("abc", "defg")
    assert running.whole().is_whole is False
    assert ended.whole() == RawLog(b"abc\ndef", is_whole=False)


def test_a_running_log_of_many_chunks_is_read_to_its_end():
    scenario = Scenario().taken()
    for number in range(300):
        scenario.wrote(number, str(number))
    assert scenario.whole().content.split() == [b"%d" % number for number in range(300)]


def test_fewer_lines_of_a_page_lead_on_to_the_rest():
    scenario = Scenario(State.APPLIED).stored("a", "b", "c")
    page = scenario.read(1).first(1)
    assert (page.start, page.lines, page.next, page.ended) == (1, ("b",), 2, False)


@pytest.mark.parametrize(
    ("state", "attempt", "expected"),
    [
        (LayerState.PLANNING, 1, LogState.RUNNING),
        (LayerState.PLANNED, 1, LogState.LOST),
        (LayerState.PLANNING, 2, LogState.LOST),
    ],
)
def test_the_log_of_a_pull_requests_plan_goes_on_until_its_layer_has_ended_or_another_job_runs(
    state, attempt, expected
):
    layer = any_layer(state=state)
    layer = replace(layer, job=job_id(layer.id, JobKind.SPECULATE, attempt))
    scenario = Scenario()
    scenario.job = job_id(layer.id, JobKind.SPECULATE, 1)
    scenario.taken().wrote(0, "Refreshing")
    assert read_log.read_log(scenario.ports, layer, scenario.job, 0).state is expected
    with pytest.raises(NotFound):
        read_log.read_log(scenario.ports, any_layer("other"), scenario.job, 0)


def test_the_end_of_a_running_log_is_read_however_long_it_is():
    scenario = Scenario().taken().wrote(0, *"abcd").wrote(4, *"ef")
    page = read_log.read_tail(scenario.ports, scenario.deployment, scenario.job, 3)
    assert (page.start, page.lines) == (3, ("d", "e", "f"))
    assert read_log.read_tail(scenario.ports, scenario.deployment, scenario.job, 9).lines == tuple("abcdef")


def test_a_running_job_without_lines_has_an_empty_end():
    scenario = Scenario().taken()
    assert read_log.read_tail(scenario.ports, scenario.deployment, scenario.job, 3).lines == ()
