"""What is deployed beside the template: the layer of the package, and what images are built from."""

from __future__ import annotations

from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "layers/core/python/tidegate"
FAKES = PACKAGE / "adapters/memory"


@pytest.fixture(scope="session")
def packages(template_file: Path) -> list[Path]:
    """Return the directory of the package in each asset that has it."""
    return [path.parent for path in template_file.parent.glob("asset.*/**/tidegate/messages.py")]


def sources(package: Path) -> set[Path]:
    return {path.relative_to(package) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_the_package_is_in_the_layer_and_in_what_images_are_built_from(packages: list[Path], template_file: Path):
    places = {Path(*package.relative_to(template_file.parent).parts[1:]) for package in packages}
    assert places == {Path("python/tidegate"), Path("layers/core/python/tidegate")}


def test_all_of_the_package_is_deployed_but_the_fakes_for_tests(packages: list[Path]):
    wanted = sources(PACKAGE) - {FAKES.relative_to(PACKAGE) / path for path in sources(FAKES)}
    assert any(path.suffix == ".html" for path in wanted)
    for package in packages:
        assert sources(package) == wanted
