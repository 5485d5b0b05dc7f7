"""Add the deployed sources to the wheel: a hook of hatchling. An editable installation uses the checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Where tidegate_cdk/sources.py looks.
_PLACE = "tidegate_cdk/sources"
DEPLOYED = ("functions", "layers", "runner", "stepfunctions", "tests/conformance", "examples/sample", "cdk.json")


class Sources(BuildHookInterface[Any]):
    """Adds the directories under the names that they have in the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"].update({name: f"{_PLACE}/{name}" for name in DEPLOYED})
