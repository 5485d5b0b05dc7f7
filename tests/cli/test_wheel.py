"""The wheel as somebody else gets it: in an environment that has its declared dependencies, and no repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
UV = shutil.which("uv") or str(TOP / ".uv" / "bin" / "uv")
#: What the wheel may install: nobody else's names.
OURS = {"tidegate", "tidegate_cli", "tidegate_cdk", "tidegate_local"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=TOP, check=True, capture_output=True)
    (built,) = place.glob("*.whl")
    return built


def _environment(wheel: Path, place: Path, *extras: str) -> Path:
    """Return the directory of programs of a new environment: the wheel, and what it declares in the locked versions."""
    environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(place), "UV_PYTHON": sys.executable}
    options = ["--frozen", "--quiet", "--no-default-groups", "--no-install-project"]
    subprocess.run([UV, "sync", *options, *(f"--extra={each}" for each in extras)], cwd=TOP, env=environ, check=True)
    python = str(place / "bin" / "python")
    subprocess.run([UV, "pip", "install", "--quiet", "--no-deps", "--python", python, str(wheel)], check=True)
    subprocess.run([UV, "pip", "check", "--quiet", "--python", python], check=True)
    return place / "bin"


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _environment(wheel, tmp_path_factory.mktemp("command") / "venv") / "tidegate"


def run(command: Path, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([command, *words], cwd=place, env=environ, capture_output=True, text=True, check=False)


def test_the_wheel_installs_no_name_of_somebody_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == OURS


def test_the_command_needs_nothing_but_the_wheel(command: Path, tmp_path: Path):
    helped = run(command, tmp_path, "--help")
    assert (helped.returncode, "validate" in helped.stdout) == (0, True), helped.stderr
    (tmp_path / "atlantis.yaml").write_text("version: 3\nprojects:\n  - {name: network, dir: network}\n")
    converted = run(command, tmp_path, "convert", "atlantis.yaml", "--output", "tidegate.yaml")
    assert not converted.returncode, converted.stderr + converted.stdout
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "main.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    found = run(command, tmp_path, "validate", "--json")
    assert json.loads(found.stdout)["valid"], found.stdout + found.stderr


def test_without_its_extra_the_local_cloud_says_how_it_is_installed(command: Path, tmp_path: Path):
    refused = run(command, tmp_path, "local", "up")
    assert refused.returncode == 1
    assert "pip install 'tidegate[local]'" in refused.stderr


@pytest.mark.nightly
@pytest.mark.cloud
def test_with_its_extra_the_local_cloud_plays_the_demo(wheel: Path, tmp_path: Path):
    command = _environment(wheel, tmp_path / "venv", "local") / "tidegate"
    played = run(command, tmp_path, "local", "demo")
    assert not played.returncode, played.stdout + played.stderr
    assert "Everything is applied" in played.stdout
