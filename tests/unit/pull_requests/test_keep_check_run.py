"""Check runs of pull requests get each annotation once, as many in one call as the forge takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.queue_actors import Died, Fate, Mortal
from tests.fakes import MemoryCheckRuns, MemoryForge
from tests.fakes.ports import memory_ports
from tidegate.pull_requests.keep_check_run import show_check_run
from tidegate.vcs.rules.check_run import Annotation, CheckRun, Conclusion, Level


def check_run(*lines, **fields):
    notes = tuple(Annotation("a.tf", line, Level.FAILURE, "title", "message") for line in lines)
    found = CheckRun("tidegate/policy: net", "a" * 40, "key", "completed", "Title", "Summary", annotations=notes)
    return replace(found, conclusion=Conclusion.FAILURE, **fields)


class Keeping:
    def __init__(self):
        self.forge, self.fate = MemoryForge(), Fate()
        mortal = {"pull_check_runs": Mortal(MemoryCheckRuns(), self.fate), "forge": Mortal(self.forge, self.fate)}
        self.ports = memory_ports(**mortal)

    def show(self, found):
        show_check_run(self.ports, "acme/infra", found)


@pytest.fixture
def keeping():
    return Keeping()


def noted(keeping):
    """Return the lines that updates noted, call by call."""
    return [[note.line for note in run.annotations] for _, run in keeping.forge.updates]


def test_more_annotations_than_one_call_takes_are_added_by_others(keeping):
    keeping.show(check_run(*range(1, 121)))
    assert noted(keeping) == [list(range(51, 101)), list(range(101, 121))]
    keeping.show(check_run(*range(1, 121)))
    assert len(keeping.forge.updates) == 2


def test_a_check_run_that_had_none_gets_them_when_it_is_updated(keeping):
    keeping.show(check_run(status="in_progress"))
    keeping.show(check_run(1, 2))
    assert noted(keeping) == [[1, 2]]


def test_what_is_noted_already_is_not_noted_again(keeping):
    keeping.show(check_run(1, 2))
    keeping.show(check_run(1, 2, title="Approved"))
    keeping.show(check_run(2, 3, title="Approved"))
    assert noted(keeping) == [[], [3]]


@pytest.mark.parametrize("call", range(12))
def test_after_a_death_all_of_them_are_there(keeping, call):
    keeping.fate.countdown, keeping.fate.after = call, False
    try:
        keeping.show(check_run(*range(1, 121)))
    except Died:
        keeping.fate.countdown = None
        keeping.show(check_run(*range(1, 121)))
    keeping.fate.countdown = None
    made = [note.line for run in keeping.forge.check_runs.values() for note in run.annotations]
    every = {*made, *(line for lines in noted(keeping) for line in lines), *range(1, 51)}
    assert every == set(range(1, 121))
