"""The example of a config repository: its file is in order, its commands run, and its generated YAML is current."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.configuration import load
from tidegate.config.rules.config_updates import ConfigUpdates, filled
from tidegate.config_updates.rules.image_set import identity_of, read_image_set

EXAMPLE = Path(__file__).parents[3] / "examples/config-repository"
ENVIRONMENTS = ["staging", "internal", "production"]
SHA = "7d1043473d55bfa90e8530d35801d4e381bc69f0"
ANNOUNCED = {
    service: {
        "Tag": f"registry.example.com/{service}:{SHA}",
        "Digest": f"registry.example.com/{service}@sha256:{digit * 64}",
    }
    for service, digit in (("web", "1"), ("worker", "2"))
}


def updates() -> ConfigUpdates:
    loaded = load((EXAMPLE / "tidegate.yaml").read_bytes())
    assert loaded.warnings == ()
    assert loaded.config_updates is not None
    return loaded.config_updates


@pytest.fixture
def repository(tmp_path):
    return Path(shutil.copytree(EXAMPLE, tmp_path / "config"))


def run(repository: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True, check=False, timeout=60)


def succeeds(repository: Path, *command: str) -> None:
    done = run(repository, *command)
    assert done.returncode == 0, done.stderr


def contents(repository: Path) -> dict[str, bytes]:
    return {str(path.relative_to(repository)): path.read_bytes() for path in repository.rglob("*") if path.is_file()}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def of(environment: str) -> set[str]:
    return {f"images/{environment}.json"} | {
        f"generated/{environment}/{name}.yaml" for name in ("web", "worker", "image-set")
    }


def test_its_environments_have_the_files_that_it_names():
    (shop,) = updates().sets
    assert [each.name for each in shop.environments] == ENVIRONMENTS
    assert all((EXAMPLE / each.file).is_file() for each in shop.environments)


def test_what_is_generated_is_current_and_generating_again_changes_nothing(repository):
    succeeds(repository, "make", "check")
    succeeds(repository, *updates().commands.generate)
    assert contents(repository) == contents(EXAMPLE)


def test_announced_images_get_into_the_first_environment_only(repository, tmp_path):
    image_file = tmp_path / "images.json"
    image_file.write_text(read_image_set(SHA, ANNOUNCED).text, encoding="utf-8")
    succeeds(repository, *filled(updates().commands.introduce, {"image_file": str(image_file)}))
    assert changed(contents(EXAMPLE), contents(repository)) == of("staging")
    succeeds(repository, "make", "check")
    deployment = yaml.safe_load((repository / "generated/staging/web.yaml").read_text(encoding="utf-8"))
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == ANNOUNCED["web"]["Digest"]
    told = yaml.safe_load((repository / "generated/staging/image-set.yaml").read_text(encoding="utf-8"))
    assert told["data"]["sha256"] == identity_of(image_file.read_bytes())


def test_a_promotion_copies_the_file_and_generates(repository):
    shutil.copy(repository / "images/staging.json", repository / "images/internal.json")
    assert "generated/internal/web.yaml" in run(repository, "make", "check").stderr
    succeeds(repository, *updates().commands.generate)
    assert changed(contents(EXAMPLE), contents(repository)) == of("internal")
    succeeds(repository, "make", "check")


def test_a_file_that_nothing_generates_is_told_and_removed(repository):
    stale = repository / "generated/staging/old.yaml"
    stale.write_text("{}", encoding="utf-8")
    assert "Not current: generated/staging/old.yaml" in run(repository, "make", "check").stderr
    succeeds(repository, "make", "generate")
    assert not stale.exists()


def test_images_without_a_template_are_refused_and_nothing_is_generated(repository):
    (repository / "images/staging.json").write_text('{"api": {"Tag": "a:1", "Digest": "a@sha256:1"}}', encoding="utf-8")
    before = contents(repository)
    refused = run(repository, "make", "generate")
    assert refused.returncode != 0
    assert "staging.json has images of api" in refused.stderr
    assert contents(repository) == before
