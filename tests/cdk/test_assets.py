"""What is deployed beside the template: the layer of the package, and what images are built from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tidegate_cdk.images import FUNCTION_CONTEXT

PACKAGE = Path(__file__).parents[2] / "layers/core/python/tidegate"
CHECK_POLICIES = Path(__file__).parents[2] / "functions/check_policies"


@pytest.fixture(scope="session")
def packages(template_file: Path) -> list[Path]:
    """Return the directory of the package in each asset that has it."""
    return [path.parent for path in template_file.parent.glob("asset.*/**/tidegate/settings.py")]


def sources(package: Path) -> set[Path]:
    return {path.relative_to(package) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_the_package_is_in_the_layer_and_in_what_images_are_built_from(packages: list[Path], template_file: Path):
    places = {Path(*package.relative_to(template_file.parent).parts[1:]) for package in packages}
    assert places == {Path("python/tidegate"), Path("layers/core/python/tidegate")}


def test_all_of_the_package_is_deployed(packages: list[Path]):
    wanted = sources(PACKAGE)
    assert any(path.suffix == ".html" for path in wanted)
    for package in packages:
        assert sources(package) == wanted


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_the_image_that_evaluates_policies_has_the_engine_for_its_architecture(machine: str):
    requirements = (CHECK_POLICIES / "requirements.txt").read_text()
    lock = tomllib.loads((CHECK_POLICIES.parents[1] / "uv.lock").read_text())
    (engine,) = (each for each in lock["package"] if each["name"] == "gordon-to-regorus")
    wheels = [each for each in engine["wheels"] if re.search(rf"-manylinux_2_34_{machine}\.whl$", each["url"])]
    assert [each["hash"] in requirements for each in wheels] == [True]


def test_the_image_that_evaluates_policies_is_built_only_with_an_engine_that_judges_as_opa_does():
    dockerfile = (CHECK_POLICIES / "Dockerfile").read_text()
    assert "tests/conformance" in FUNCTION_CONTEXT.included
    assert re.search(r"^COPY tests/conformance /tmp/conformance$", dockerfile, re.MULTILINE)
    assert re.search(r"^RUN .*python -B /tmp/conformance/run.py && ", dockerfile, re.MULTILINE)
