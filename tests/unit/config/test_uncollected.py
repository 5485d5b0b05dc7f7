"""Files of many directories are read without the garbage collector, and leave it nothing to do."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.builders import any_root
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.config.uncollected import uncollected


@pytest.fixture(autouse=True)
def enabled():
    gc.enable()
    yield
    gc.enable()


def test_cycles_are_not_looked_for_meanwhile_and_are_afterwards():
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_are_looked_for_after_a_failure():
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_work_inside_such_work_does_not_end_it():
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_whoever_collects_nothing_is_left_so():
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def young():
    return len(gc.get_objects(generation=0))


@pytest.mark.parametrize(("number", "is_old"), [(200_000, True), (2_000, False)])
def test_very_many_values_are_old_afterwards_and_few_are_not(number, is_old):
    before = gc.get_threshold()
    gc.set_threshold(1_000_000)
    try:
        with uncollected():
            made = [[] for _ in range(number)]
        assert (young() < number) is is_old
        assert len(made) == number
    finally:
        gc.set_threshold(*before)


def test_cycles_among_very_many_values_are_found_in_the_end():
    class Round:
        pass

    with uncollected():
        made = [[] for _ in range(200_000)]
        lost = Round()
        lost.itself = lost
        found = weakref.ref(lost)
        del lost
    gc.collect()
    assert found() is None
    assert made


@pytest.fixture
def only_new_objects():
    """Keep all that the process has made before out of the lists of objects, which are millions."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("only_new_objects")
def test_what_a_file_says_is_gone_as_soon_as_nobody_needs_it():
    def alive():
        gc.collect()
        return sum(isinstance(each, LoadedConfiguration) for each in gc.get_objects())

    before = alive()
    text = b"dirs: {'live/**': {tags: [a]}}\nstacks: {names: {a: {tag_query: a, variables: {b: c}}}}\n"
    configuration = load_configuration(text, "acme/infra")
    configured = configure(configuration, [any_root(dir="live/a")])
    assert ([each.stack for each in configured.roots], alive()) == (["a"], before + 1)
    gc.disable()
    del configuration, configured
    assert sum(isinstance(each, LoadedConfiguration) for each in gc.get_objects()) == before
