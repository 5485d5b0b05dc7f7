"""Sizes of runners: what Fargate has, what a root gets of what it asks for, and what an installation does not allow."""

from __future__ import annotations

import pytest

from tidegate.deploys.rules.runner_size import (
    APPLY_SECONDS,
    MEMORY,
    RunnerNeeds,
    RunnerOffer,
    RunnerSize,
    duration,
    duration_text,
    from_text,
    more_memory,
    out_of_memory,
    size_of,
    size_problem,
    to_text,
    took_too_long,
    with_more_memory,
)
from tidegate.rules.errors import RunnerNotOffered

GIB = 1024
EVERY = [(cpu, memory) for cpu, sizes in MEMORY.items() for memory in sizes]
LARGEST = RunnerOffer(most=RunnerSize(16384, 120 * GIB, 200, APPLY_SECONDS[-1]))


def got(offer: RunnerOffer = LARGEST, **needs: int) -> tuple[int, int]:
    size = size_of(RunnerNeeds(**needs), offer)
    return size.cpu, size.memory


def test_a_root_that_asks_for_nothing_gets_what_is_usual():
    assert size_of(None, RunnerOffer()) == size_of(RunnerNeeds(), RunnerOffer()) == RunnerSize(1024, 2048, 30, 3600)


def test_each_part_may_be_asked_for_alone():
    assert size_of(RunnerNeeds(disk=100), RunnerOffer()).disk == 100
    assert size_of(RunnerNeeds(apply_seconds=7200), RunnerOffer()).apply_seconds == 7200


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({"cpu": 2048}, (2048, 4 * GIB)),
        ({"cpu": 256}, (256, 2 * GIB)),
        ({"memory": 4 * GIB}, (1024, 4 * GIB)),
        ({"memory": 12 * GIB}, (2048, 12 * GIB)),
        ({"memory": 512}, (256, 512)),
        ({"memory": 120 * GIB}, (16384, 120 * GIB)),
        ({"cpu": 4096, "memory": 16 * GIB}, (4096, 16 * GIB)),
    ],
)
def test_of_cpu_and_memory_one_alone_takes_the_other_along(needs, expected):
    assert got(**needs) == expected


@pytest.mark.parametrize("usual", [RunnerSize(), RunnerSize(4096, 30 * GIB)])
def test_whatever_is_asked_for_is_a_size_that_fargate_has(usual):
    offer = RunnerOffer(usual, LARGEST.most)
    for cpu, memory in EVERY:
        for needs in ({"cpu": cpu}, {"memory": memory}, {"cpu": cpu, "memory": memory}):
            found = got(offer, **needs)
            assert found[1] in MEMORY[found[0]]
            assert needs.items() <= {"cpu": found[0], "memory": found[1]}.items()


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ({"cpu": 8192}, r"runner\.cpu of this root is 8, .* allows at most 4.*runner_limits\.cpu"),
        ({"memory": 30 * GIB}, r"runner\.memory of this root is 30 GB, .* at most 16 GB"),
        ({"disk": 101}, r"runner\.disk of this root is 101 GB, .* at most 100 GB"),
        ({"architecture": "x86_64"}, r"runner\.architecture is x86_64, .* are arm64.*architecture to x86_64"),
    ],
)
def test_what_the_installation_does_not_allow_is_refused_with_the_key_and_what_to_do(needs, said):
    with pytest.raises(RunnerNotOffered, match=said):
        size_of(RunnerNeeds(**needs), RunnerOffer())


def test_an_apply_may_take_no_longer_than_is_allowed():
    offer = RunnerOffer(most=RunnerSize(apply_seconds=5400))
    with pytest.raises(RunnerNotOffered, match=r"runner\.apply_timeout of this root is 2 hours, .* at most 90 minutes"):
        size_of(RunnerNeeds(apply_seconds=7200), offer)


def test_the_architecture_that_there_is_may_be_named():
    assert size_of(RunnerNeeds(architecture="arm64"), RunnerOffer()) == RunnerSize()


@pytest.mark.parametrize(
    ("needs", "problem"),
    [
        (RunnerNeeds(), ""),
        (RunnerNeeds(cpu=2048, memory=16 * GIB, disk=21, architecture="x86_64"), ""),
        (RunnerNeeds(cpu=3072), "3 vCPU (cpu) is not a Fargate size. Use one of 0.25, 0.5, 1, 2, 4, 8, 16"),
        (RunnerNeeds(256, 3 * GIB), "3 GB (memory) is not a Fargate size for 0.25 vCPU. Use one of 0.5, 1, 2 GB"),
        (RunnerNeeds(memory=2500), "2.44141 GB (memory) is not a Fargate size. Use one of 0.5, 1, 2, 3, …, 120 GB"),
        (RunnerNeeds(disk=20), "20 GB (disk) is not a Fargate size. Use 21 to 200"),
        (RunnerNeeds(architecture="arm"), "'arm' is not a supported architecture. Use arm64 or x86_64"),
    ],
)
def test_what_fargate_does_not_have_is_said_with_what_it_has(needs, problem):
    assert ". ".join(size_problem(needs) or ("",)) == problem


@pytest.mark.parametrize(
    ("size", "more"),
    [
        (RunnerSize(), "memory: 3"),
        (RunnerSize(1024, 8 * GIB), "memory: 9, cpu: 2"),
        (RunnerSize(256, 512), "memory: 1"),
        (RunnerSize(8192, 60 * GIB), "memory: 64, cpu: 16"),
        (RunnerSize(16384, 120 * GIB), ""),
    ],
)
def test_the_next_larger_memory_is_one_that_fargate_has(size, more):
    assert more_memory(size) == more


@pytest.mark.parametrize(
    ("size", "had", "larger"),
    [
        (RunnerSize(), 3008, RunnerSize(1024, 3 * GIB)),
        (RunnerSize(), 10 * GIB, RunnerSize(2048, 11 * GIB)),
        (RunnerSize(256, 512), 3008, RunnerSize(512, 3 * GIB)),
        (RunnerSize(1024, 8 * GIB), 3008, RunnerSize(1024, 8 * GIB)),
    ],
)
def test_what_had_too_little_memory_gets_the_next_larger_one(size, had, larger):
    assert with_more_memory(size, had, LARGEST.most) == larger


@pytest.mark.parametrize("most", [RunnerSize(2048, 10 * GIB), RunnerSize(1024, 120 * GIB)])
def test_nobody_gets_more_memory_than_the_installation_allows(most):
    assert with_more_memory(RunnerSize(), 10 * GIB, most) == RunnerSize()


def test_who_needed_more_memory_is_told_what_there_was_and_what_to_write():
    assert "2 GB (runner.memory). Set runner: {memory: 3}" in out_of_memory(RunnerSize())
    assert "split the root" in out_of_memory(RunnerSize(16384, 120 * GIB))


def test_the_engine_collects_garbage_within_half_of_the_memory():
    assert RunnerSize(2048, 8 * GIB).engine_memory == 4 * GIB


@pytest.mark.parametrize(
    ("seconds", "advice"),
    [
        (3600, "apply_timeout: 2h"),
        (5400, "apply_timeout: 3h"),
        (42000, "apply_timeout: 12h"),
        (43200, "split the root"),
    ],
)
def test_of_an_apply_that_took_too_long_the_next_time_is_told(seconds, advice):
    assert advice in took_too_long(seconds)


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("6h", 21600), ("12h", 43200), ("1m", 60)])
def test_times_are_minutes_or_hours(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0m", "13h", "721m", "1d", "-1h", "60", "1.5h", "h"])
def test_no_apply_takes_another_time(text):
    with pytest.raises(ValueError, match="not a valid time limit"):
        duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(3600, "60 minutes"), (5400, "90 minutes"), (21600, "6 hours"), (60, "1 minutes")]
)
def test_times_are_told_as_people_say_them(seconds, text):
    assert duration_text(seconds) == text


def test_sizes_are_told_as_people_say_them():
    assert str(RunnerSize(512, 1536, 40)) == "0.5 vCPU, 1.5 GB memory, 40 GB disk"


def test_an_inner_section_goes_before_an_outer_one():
    assert RunnerNeeds(cpu=2048).over(RunnerNeeds(4096, disk=50)) == RunnerNeeds(2048, disk=50)


def test_an_offer_is_read_as_it_was_written():
    offer = RunnerOffer(RunnerSize(2048, 4 * GIB), LARGEST.most, "x86_64")
    assert from_text(to_text(offer)) == offer
    assert from_text("") == RunnerOffer()


@pytest.mark.parametrize("text", ["{}", "[1]", '{"usual": {"x": 1}, "most": {}, "architecture": ""}', "x"])
def test_another_text_is_no_offer(text):
    with pytest.raises(ValueError, match=r"invalid runner settings|Expecting value"):
        from_text(text)
