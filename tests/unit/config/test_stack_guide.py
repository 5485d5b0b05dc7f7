"""The guide to stacks shows what works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.roots.rules.root import Engine, EngineName, Root

_GUIDE = (Path(__file__).parents[3] / "docs/stacks.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", _GUIDE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_configuration_of_roots_in_stacks(example):
    loaded = load_configuration(example.encode(), "acme/infra")
    assert loaded.stacks
    assert not loaded.warnings
    assert not configure(loaded, [Root("network", "network"), Root("eu/app", "eu/app")]).refused


def test_the_example_of_stack_groups_does_what_is_told_of_it():
    (example,) = [each for each in EXAMPLES if "stacks: [eu, us]" in each]
    loaded = load_configuration(example.encode(), "acme/infra")
    found = configure(loaded, [Root("us/app", "us/app"), Root("eu/app", "eu/app")])
    assert found.stacks["us"].apply_after == {"eu", "dev"}
    us, eu = found.roots
    assert us.run.variables == (("STACK_VAR_ENVIRONMENT", "production"), ("STACK_VAR_REGION", "none"))
    assert eu.run.variables == (("STACK_VAR_ENVIRONMENT", "production"), ("STACK_VAR_REGION", "eu-central-1"))
    assert us.root.engine == eu.root.engine == Engine(EngineName.TOFU, "1.9.0")
