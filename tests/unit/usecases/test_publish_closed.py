"""A pull request that closes as its comments are written: they have its end all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.fakes import MemoryForge
from tests.unit.usecases.publishing_world import World, planned
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.rules.errors import ForgeUnavailable


class Forge(MemoryForge):
    """One whose methods can be replaced."""


@pytest.fixture
def world():
    return World(planned(), forge=Forge())


def closes(world):
    """Let the pull request close, and its end be told."""
    world.records.save(replace(world.record, layers=(), closed_at=NOW))
    notify_closed(world.ports, world.record, merged=False)


def closes_before(world, method):
    """Let the pull request close when the forge is asked to write for the first time."""
    write = getattr(world.forge, method)

    def closing(*about):
        setattr(world.forge, method, write)
        closes(world)
        return write(*about)

    setattr(world.forge, method, closing)


def has_its_end(world):
    (text,) = world.texts
    return "### Closed" in text and "### What to do now" not in text


def test_a_comment_that_nobody_remembered_as_it_closed_has_its_end(world):
    closes_before(world, "comment")
    assert world.publish() == "overtaken"
    assert has_its_end(world)


def test_a_comment_that_is_written_once_more_as_it_closes_has_its_end(world):
    world.publish()
    number, text = world.forge.comments[0]
    world.forge.comments[0] = number, f"{text} Old."
    closes_before(world, "update_comment")
    world.show_again()
    assert has_its_end(world)


def test_when_the_forge_does_not_answer_any_more_the_next_try_tells_the_end(world):
    write = world.forge.comment

    def closing(*about):
        comment = write(*about)
        world.records.save(replace(world.record, closed_at=NOW))
        world.forge.failures = [ForgeUnavailable("down")]
        return comment

    world.forge.comment = closing
    with pytest.raises(ForgeUnavailable):
        world.publish()
    assert world.publish() == "overtaken"
    assert has_its_end(world)
