"""A pull request that closes as its comments are written: they have its end all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.fakes import MemoryForge
from tests.unit.pull_requests.publishing_scenario import Scenario, planned
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.rules.errors import ForgeUnavailable


class Forge(MemoryForge):
    """One whose methods can be replaced."""


@pytest.fixture
def scenario():
    return Scenario(planned(), forge=Forge())


def closes(scenario):
    """Let the pull request close, and its end be told."""
    scenario.records.save(replace(scenario.record, layers=(), closed_at=NOW))
    notify_closed(scenario.ports, scenario.record, merged=False)


def closes_before(scenario, method):
    """Let the pull request close when the forge is asked to write for the first time."""
    write = getattr(scenario.forge, method)

    def closing(*about):
        setattr(scenario.forge, method, write)
        closes(scenario)
        return write(*about)

    setattr(scenario.forge, method, closing)


def has_its_end(scenario):
    (text,) = scenario.texts
    return "### Closed" in text and "### What to do now" not in text


def test_a_comment_that_nobody_remembered_as_it_closed_has_its_end(scenario):
    closes_before(scenario, "comment")
    assert scenario.publish() == "overtaken"
    assert has_its_end(scenario)


def test_a_comment_that_is_written_once_more_as_it_closes_has_its_end(scenario):
    scenario.publish()
    number, text = scenario.forge.comments[0]
    scenario.forge.comments[0] = number, f"{text} Old."
    closes_before(scenario, "update_comment")
    scenario.show_again()
    assert has_its_end(scenario)


def test_when_the_forge_does_not_answer_any_more_the_next_try_tells_the_end(scenario):
    write = scenario.forge.comment

    def closing(*about):
        comment = write(*about)
        scenario.records.save(replace(scenario.record, closed_at=NOW))
        scenario.forge.failures = [ForgeUnavailable("down")]
        return comment

    scenario.forge.comment = closing
    with pytest.raises(ForgeUnavailable):
        scenario.publish()
    assert scenario.publish() == "overtaken"
    assert has_its_end(scenario)
