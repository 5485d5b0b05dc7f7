"""The construct as somebody else gets it: a wheel in an environment that has no repository, and an app that uses it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from tidegate.deploys.rules.aws_target import Phase
from tidegate_cdk.construct import Tidegate
from tidegate_cdk.node import path_with_node
from tidegate_cdk.props import TargetRole, TidegateProps
from tidegate_cdk.settings import InvalidContext, read_settings
from tidegate_cdk.sources import ROOT
from tidegate_local.stack.deploy import Assembly

PAGE = ROOT / "docs/construct.md"
#: Packages of the functions that the construct must do without: it would load them at every synth for nothing.
OF_FUNCTIONS = {"aws_lambda_powertools", "boto3", "github", "jinja2", "pathspec", "pydantic"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment with the wheel, and the locked packages to import from."""
    place = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    venv.create(place / "venv")
    python = place / "venv/bin/python"
    # A path in a .pth file brings packages, but not the .pth files beside them: so not this repository.
    (installed,) = (place / "venv/lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:  # What its installation does is told by tests/cli/test_wheel.py.
        archive.extractall(installed)
    (installed / "locked.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture(scope="module")
def assembly(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the app of the page becomes."""
    place = tmp_path_factory.mktemp("app")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    loaded = "import sys; print(*(name.partition('.')[0] for name in sys.modules), tidegate_cdk.__file__)"
    (place / "app.py").write_text(f"{code}\nimport tidegate_cdk; {loaded}\n", encoding="utf-8")
    environment = {
        "PATH": path_with_node(),
        "HOME": os.environ["HOME"],
        "CDK_OUTDIR": str(place / "out"),
        "CDK_CONTEXT_JSON": json.dumps({"aws:cdk:bundling-stacks": []}),
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }
    done = subprocess.run([python, "app.py"], cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    *modules, file = done.stdout.split()
    assert not OF_FUNCTIONS & set(modules)
    assert Path(file).is_relative_to(python.parents[1]), "the construct is the installed one"
    return place / "out"


def _template(assembly: Path, stack: str) -> dict[str, Any]:
    return json.loads((assembly / f"{stack}.template.json").read_text(encoding="utf-8"))


def _types(template: dict[str, Any]) -> list[str]:
    """Return the types of all resources but inline policies, which engines have only where settings give rights."""
    types = (each["Type"] for each in template["Resources"].values())
    return sorted(each for each in types if each != "AWS::IAM::Policy")


def test_an_app_of_somebody_else_has_two_installations(assembly: Path, template: dict[str, Any]):
    platform, data = _template(assembly, "Platform-deploys"), _template(assembly, "Data-deploys")
    buses = [
        each["Properties"]["Name"]
        for found in (platform, data)
        for each in found["Resources"].values()
        if each["Type"] == "AWS::Events::EventBus"
    ]
    assert buses == ["platform", "data"]
    assert _types(platform) == _types(data) == _types(template), "each has what the repository's own stack has"


def test_the_flags_of_the_app_change_nothing(assembly: Path, template: dict[str, Any]):
    """The app of the page sets none. Besides its machines and one managed policy it says what the defaults say."""

    def shapes(found: dict[str, Any]) -> dict[str, list[str]]:
        by_type: dict[str, list[str]] = {}
        for each in found["Resources"].values():
            by_type.setdefault(each["Type"], []).append(
                ",".join(sorted({*each.get("Properties", {})} - {"ManagedPolicyArns"}))
            )
        return {kind: sorted(keys) for kind, keys in by_type.items()}

    expected, found = shapes(template), shapes(dict(Assembly.read(assembly, "Data-deploys").template))
    assert found == expected


def test_all_that_is_deployed_comes_from_the_package(assembly: Path, template_file: Path):
    def handlers(place: Path) -> set[str]:
        return {path.parent.name for path in place.glob("asset.*/functions/*/handler.py")}

    assert handlers(assembly) == handlers(template_file.parent)
    assert len(list(assembly.glob("asset.*/python/tidegate/settings.py"))) == 1
    assert list(assembly.glob("asset.*/runner/Dockerfile"))
    assert list(assembly.glob("asset.*/tests/conformance/run.py"))


def test_the_package_needs_what_the_repository_has_locked():
    """A version that nobody tried is no lower bound."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cdk"]
    lock = {each["name"]: each["version"] for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    for requirement in wanted:
        name, lowest = re.fullmatch(r"([a-z-]+)>=([0-9.]+)(?:,<\d+)?", requirement).groups()
        assert name == "uv" or lock[name].startswith(lowest), requirement


class _Recorded:
    """A context without values, which remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def try_get_context(self, key: str) -> None:
        self.asked.add(key)


def test_every_setting_is_a_typed_field():
    context = _Recorded()
    read_settings(context)
    assert {field.name for field in fields(TidegateProps)} == context.asked


def test_typed_settings_are_read_as_those_of_cdk_json():
    plan = "arn:aws:iam::210987654321:role/plan"
    props = TidegateProps(
        prefix="platform",
        allow_local_state=True,
        pull_request_plans=3,
        runner_slots=40,
        apply_policies=("PowerUserAccess",),
        plan_target_roles=[plan, TargetRole(role=f"{plan}-*", repositories=["acme/*"])],
        runner_variables={"TF_VAR_region": "eu-west-1"},
    )
    settings = read_settings(props)
    assert (settings.prefix, settings.allow_local_state, settings.pull_request_plans) == ("platform", "true", "3")
    assert settings.runner_slots == "40"
    assert settings.apply_policies == ("PowerUserAccess",)
    assert settings.runners.target_roles["plan"] == (plan,)
    assert [each.role for each in settings.runners.allowed_roles.phases[Phase.PLAN]] == [f"{plan}-*"]
    assert settings.runners.variables == {"TF_VAR_region": "eu-west-1"}


def test_a_prop_that_cannot_be_used_is_refused_by_name():
    stack = aws_cdk.Stack(aws_cdk.App(), "Any")
    with pytest.raises(InvalidContext, match=r"prefix.*TidegateProps"):
        Tidegate(stack, "Tidegate", TidegateProps(prefix="Has Space"))


def test_the_page_uses_no_more_than_ten_lines():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(ast.parse(code).body) <= 10


def test_the_readme_has_a_row_for_each_setting():
    rows = re.findall(
        r"^\| (`[a-z_`, ]+`) \|", (ROOT / "tidegate_cdk/README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = [name for row in rows for name in re.findall(r"`([a-z_]+)`", row)]
    assert sorted(named) == sorted(field.name for field in fields(TidegateProps))
