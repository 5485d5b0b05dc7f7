"""What runners clone besides the repository: other repositories of the same owner."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.config.resolution import configure
from tidegate.deploys.rules.workflow import CloneSettings
from tidegate.roots.rules.root import Root


def test_the_listed_repositories_reach_every_job():
    loaded = load("clone: {repositories: [modules, network.git, modules]}\n")
    assert loaded.clone == CloneSettings(("modules", "network"))
    (root,) = configure(loaded, [Root("app", "app")]).roots
    assert root.run.clone == loaded.clone
    assert load("clone:\n").clone == CloneSettings()
    assert load("clone: {submodules: true, lfs: true}\n").clone == CloneSettings((), submodules=True, lfs=True)


@pytest.mark.parametrize("name", ["other/modules", "../modules", "..", "a b", "x" * 101, "https://github.com/acme/x"])
def test_only_names_of_repositories_are_taken_as_all_are_of_the_same_owner(name):
    told = str(refusal(f"clone:\n  repositories: ['{name}']\n"))
    assert ":2:" in told
    assert "same owner" in told
