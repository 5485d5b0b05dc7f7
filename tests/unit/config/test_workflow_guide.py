from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.config.loader import load_configuration

_GUIDE = (Path(__file__).parents[3] / "docs/workflows.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", _GUIDE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_of_the_guide_to_workflows_is_a_configuration(example):
    loaded = load_configuration(example.encode(), "acme/infra")
    assert loaded.workflows or loaded.hooks.plan_before or loaded.masks or loaded.runner
