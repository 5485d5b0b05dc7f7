"""One setting says which machines functions and runners run on, and what is built for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegate_cdk.architecture import ARCHITECTURES
from tidegate_cdk.settings import InvalidContext, read_settings
from tidegate_cli.doctor.builders import MACHINES


def test_doctor_tries_each_machine_that_can_be_set():
    assert MACHINES.keys() == ARCHITECTURES.keys()


class _Given(dict[str, object]):
    def try_get_context(self, key: str) -> object:
        return self.get(key)


def _machines(template: dict[str, Any], file: Path) -> set[str]:
    """Return all that a template and its assets say of machines."""
    properties = [each.get("Properties", {}) for each in template["Resources"].values()]
    assets = json.loads(file.with_name(file.name.replace(".template.", ".assets.")).read_text(encoding="utf-8"))
    return {
        *(name for each in properties for name in each.get("Architectures", each.get("CompatibleArchitectures", []))),
        *(each["RuntimePlatform"]["CpuArchitecture"] for each in properties if "RuntimePlatform" in each),
        *(each["source"]["platform"] for each in assets["dockerImages"].values()),
    }


def test_everything_is_for_arm_if_nobody_says_otherwise(template: dict[str, Any], template_file: Path):
    assert _machines(template, template_file) == {"arm64", "ARM64", "linux/arm64"}
    assert read_settings(_Given()).architecture == "arm64"


def test_everything_is_for_the_architecture_that_is_set(other: dict[str, Any], other_file: Path):
    assert _machines(other, other_file) == {"x86_64", "X86_64", "linux/amd64"}


def test_packages_of_the_layer_are_taken_for_the_same_machines():
    assert {name: each.wheels for name, each in ARCHITECTURES.items()} == {
        "arm64": "aarch64-manylinux2014",
        "x86_64": "x86_64-manylinux2014",
    }


def test_another_architecture_is_refused():
    with pytest.raises(InvalidContext, match="arm64 or x86_64"):
        read_settings(_Given(architecture="riscv"))
