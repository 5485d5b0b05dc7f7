"""What waits goes on with the code that it began with: definitions name versions and revisions, which stay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidegate_cdk.permissions import resource_name
from tidegate_cdk.sources import ROOT
from tidegate_local.stack.synth import synthesize


def _named(template: dict[str, Any], ending: str) -> Iterator[dict[str, Any]]:
    """Yield what the values of placeholders refer to, by the placeholders' ending."""
    for machine in template["Resources"].values():
        for name, value in machine.get("Properties", {}).get("DefinitionSubstitutions", {}).items():
            if name.endswith(ending):
                yield template["Resources"][value["Ref"]]


@pytest.mark.parametrize(
    ("ending", "kind"), [("Function", "AWS::Lambda::Version"), ("TaskDefinition", "AWS::ECS::TaskDefinition")]
)
def test_what_a_definition_names_stays_when_a_newer_one_takes_its_place(
    template: dict[str, Any], ending: str, kind: str
):
    named = list(_named(template, ending))
    assert {each["Type"] for each in named} == {kind}
    for each in named:
        assert each["UpdateReplacePolicy"] == "Retain"
        # Retained as well, but for one whose own deployment is rolled back.
        assert each["DeletionPolicy"] == "RetainExceptOnCreate"


def test_what_queues_events_and_the_api_call_is_the_latest(template: dict[str, Any], resources):
    versions = set(resources("AWS::Lambda::Version"))
    calling = ("AWS::Lambda::EventSourceMapping", "AWS::Events::Rule", "AWS::ApiGatewayV2::Integration")
    for kind in calling:
        assert not [name for name in versions if f'"{name}"' in json.dumps(resources(kind))]


def _versions(template: dict[str, Any]) -> dict[str, str]:
    """Return the logical ids of versions by their functions' names."""
    return {
        resource_name(each["Properties"]["FunctionName"]["Ref"]).removeprefix("Functions"): logical_id
        for logical_id, each in template["Resources"].items()
        if each["Type"] == "AWS::Lambda::Version"
    }


def _changed(tmp_path: Path, file: str, context: dict[str, Any]) -> dict[str, str]:
    """Return the versions of the project with a line more in one file."""
    for name in ("tidegate_cdk", "stepfunctions", "functions", "layers", "runner", "tests/conformance"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("cdk.json", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / file).open("a") as code:
        code.write("# changed\n")
    return _versions(json.loads((synthesize(tmp_path, context) / "Tidegate.template.json").read_text()))


def test_a_changed_function_or_variable_makes_a_new_version_of_that_function_alone(
    template: dict[str, Any], tmp_path: Path
):
    before = _versions(template)
    after = _changed(tmp_path, "functions/workers/handler.py", {"rounds_per_execution": "7"})
    assert set(after) == set(before)
    assert {name for name in after if after[name] != before[name]} == {
        "StepsFunction",
        "ForgeStepsFunction",
        "WorkersFunction",
    }


def test_a_changed_layer_makes_a_new_version_of_every_function(template: dict[str, Any], tmp_path: Path):
    after = _changed(tmp_path, "layers/core/python/tidegate/settings.py", {})
    assert after
    assert not set(after.values()) & set(_versions(template).values())
