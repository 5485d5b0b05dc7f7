"""What functions run on here: fakes in memory, and a real git on a real repository."""

from __future__ import annotations

import pytest

from tests.functions.wires import Wires
from tests.repositories import Repository
from tidegate import bootstrap
from tidegate.vcs.git.trees import GitSource


@pytest.fixture
def wires():
    """Return the wiring that all functions take during this test."""
    wires = Wires()
    bootstrap.use(wires.ports)
    yield wires
    bootstrap.use(None)


@pytest.fixture
def repository(tmp_path, wires, monkeypatch):
    """Return an empty repository, which is the one that the forge names for cloning."""
    made = Repository(tmp_path / "origin")
    wires.put(history=GitSource(protocols={"file"}))
    monkeypatch.setattr(type(wires.forge), "clone_url", lambda *_: made.url)
    return made
