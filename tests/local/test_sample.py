"""The sample: what it pushes is in order, apart from what is to fail, and it fills a cloud."""

from __future__ import annotations

import pytest

from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import always_reviewed, examine_configuration
from tidegate_local.sample import files

BUCKET = "states"
REPOSITORIES = {
    files.PLATFORM: files.platform(BUCKET),
    files.ANALYTICS: files.analytics(BUCKET),
    files.CLUSTERS: files.clusters(),
}


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_the_configuration_of_each_repository_is_valid(repository):
    written = REPOSITORIES[repository]["tidegate.yaml"].encode()
    found = examine_configuration(written, repository, always_reviewed(), "tidegate.yaml")
    assert isinstance(found, LoadedConfiguration)
    assert not found.warnings


def test_there_are_twelve_root_modules_and_each_has_its_own_state():
    roots = [text for written in REPOSITORIES.values() for text in written.values() if "backend" in text]
    keys = {line for text in roots for line in text.splitlines() if ".tfstate" in line}
    assert len(roots) == len(keys) == 12


@pytest.mark.parametrize("proposal", files.PROPOSALS, ids=lambda proposal: proposal["branch"])
def test_each_pull_request_changes_each_of_its_files(proposal):
    for path, (before, after) in proposal["edits"].items():
        assert before in REPOSITORIES[files.PLATFORM][path]
        assert before != after
