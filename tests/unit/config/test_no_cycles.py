"""What a file says is no part of a cycle: it is freed as soon as nobody needs it."""

from __future__ import annotations

import gc

import pytest

from tests.builders import any_root
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure


@pytest.fixture
def only_new_objects():
    """Keep all that the process has made before out of the lists of objects, which are millions."""
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


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
