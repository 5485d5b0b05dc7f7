"""The example of clusters: its file is in order, each cluster can be planned, and its root module is valid."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.configuration import load
from tidegate_cli.main import app
from tidegate_local import mirror

EXAMPLE = Path(__file__).parents[2] / "examples/clusters"
CLUSTERS = ("hub", "shop", "eks")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The example as a repository of its own, in which commands run."""
    copied = Path(shutil.copytree(EXAMPLE, tmp_path / "clusters"))
    subprocess.run(["git", "init", "-q", str(copied)], check=True)
    monkeypatch.chdir(copied)
    return copied


def test_it_is_valid_without_a_warning(repository):
    result = CliRunner().invoke(app, ["validate"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.output.startswith("✔")
    assert "3 clusters" in result.output


@pytest.mark.parametrize("operation", ["create", "upgrade"])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_each_cluster_can_be_planned(repository, cluster, operation):
    result = CliRunner().invoke(app, ["cluster", "plan", cluster, "--operation", operation])
    assert result.exit_code == 0, result.output


def test_its_commands_are_programs(repository):
    declarations = load((EXAMPLE / "tidegate.yaml").read_bytes()).declarations
    clusters = [cluster for name in CLUSTERS if (cluster := declarations[name].cluster)]
    commands = [Path(cluster.spec).parent / hook.command[0] for cluster in clusters for hook in cluster.hooks]
    assert commands
    assert all(os.access(command, os.X_OK) for command in commands)


def test_its_manifests_have_what_every_object_needs():
    files = [each for each in EXAMPLE.rglob("components/**/*.yaml") if each.name != "kustomization.yaml"]
    objects = [one for each in files for one in yaml.safe_load_all(each.read_text())]
    assert objects
    assert all(one["apiVersion"] and one["kind"] and one["metadata"]["name"] for one in objects)


def test_its_root_module_is_valid(tmp_path):
    terraform, providers = shutil.which("terraform"), mirror.find(os.environ)
    if terraform is None or providers is None:
        pytest.skip("needs terraform, and a mirror with the AWS provider")
    module = shutil.copytree(EXAMPLE / "eks", tmp_path / "eks")
    configured = mirror.environment(tmp_path, {"TIDEGATE_PROVIDER_MIRROR": str(providers)})
    for words in (["init", "-backend=false", "-input=false"], ["validate"], ["fmt", "-check", "-diff"]):
        command = [terraform, *words, "-no-color"] if words[0] != "fmt" else [terraform, *words]
        done = subprocess.run(
            command, cwd=module, env={**os.environ, **configured}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
