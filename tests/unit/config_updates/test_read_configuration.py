"""What a config repository's file says of config updates, read once for each commit."""

from __future__ import annotations

import pytest

from tests.unit.config_updates.verbs import HEAD, REPOSITORY, updates_ports
from tidegate.config.model.file import FILE
from tidegate.config_updates.read_configuration import configuration_problem, current_updates, load_updates
from tidegate.config_updates.rules.refusals import NoConfigUpdates, UnknownEnvironment, UnknownImageSet
from tidegate.rules.errors import ForgeUnavailable, InvalidConfiguration


def test_the_default_branch_s_file_is_read_once_for_each_commit():
    ports = updates_ports()
    assert [each.name for each in current_updates(ports, REPOSITORY).updates.sets] == ["shop", "blog"]
    del ports.config_branches.files[HEAD, FILE]
    assert current_updates(ports, REPOSITORY).commit == HEAD
    with pytest.raises(NoConfigUpdates):
        load_updates(ports, REPOSITORY, "b" * 40)


@pytest.mark.parametrize("configuration", [None, "version: 1\n"])
def test_a_repository_without_the_section_is_no_config_repository(configuration):
    with pytest.raises(NoConfigUpdates, match="acme/config is no config repository"):
        current_updates(updates_ports(configuration), REPOSITORY)


def test_an_invalid_file_is_refused_with_its_line():
    with pytest.raises(InvalidConfiguration, match=r"tidegate\.yaml:2"):
        current_updates(updates_ports("config_updates:\n  required_checks: []\n"), REPOSITORY)


def test_the_problem_of_a_file_is_its_refusal_in_words():
    assert configuration_problem(updates_ports(), REPOSITORY) == ""
    assert "acme/config is no config repository" in configuration_problem(updates_ports(None), REPOSITORY)
    invalid = updates_ports("config_updates:\n  required_checks: []\n")
    assert "tidegate.yaml:2" in configuration_problem(invalid, REPOSITORY)


def test_what_is_not_declared_is_named_with_what_is():
    current = current_updates(updates_ports(), REPOSITORY)
    assert current.environment("shop", "staging").file == "images/staging.json"
    with pytest.raises(UnknownImageSet, match="Did you mean 'shop'"):
        current.image_set("shopp")
    with pytest.raises(UnknownEnvironment, match="Declared: staging, production"):
        current.environment("shop", "x")


def test_a_missing_branch_is_refused():
    ports = updates_ports()
    ports.config_branches.heads.clear()
    with pytest.raises(ForgeUnavailable, match="no branch main"):
        current_updates(ports, REPOSITORY)
