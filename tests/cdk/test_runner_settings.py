"""What an installation sets for its runners reaches their tasks, and what cannot be used is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from tests.cdk.context import IMAGE, Given
from tidegate.deploys.rules.runner_size import RunnerOffer, RunnerSize
from tidegate_cdk.props import TidegateProps
from tidegate_cdk.runner_settings import InvalidContext, read_runner_settings
from tidegate_cdk.stack import TidegateStack
from tidegate_cdk.synthesis import file_context

ROLE = "arn:aws:iam::210987654321:role/deploy"
TARGETS = ["arn:aws:iam::210987654321:role/tidegate-*"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """The resources of a stack with all of these settings."""
    context = {
        "mask_patterns": [r"ghp_\w+"],
        "runner_variables": {"TF_VAR_region": "eu-west-1"},
        "runner_secrets": {"TF_VAR_token": "acme/token", "CLOUDFLARE_API_TOKEN": "acme/cloudflare#api_token"},
        "runner_image": IMAGE,
        "runner": {"cpu": 2, "memory": 8, "disk": 60},
        "architecture": "x86_64",
        "apply_target_roles": TARGETS,
    }
    outdir = tmp_path_factory.mktemp("own")
    app = aws_cdk.App(analytics_reporting=False, context={**file_context(), **context}, outdir=str(outdir))
    stack = TidegateStack(app, "Tidegate", TidegateProps.from_context(app.node))
    file = Path(app.synth().directory) / stack.template_file
    return json.loads(file.read_text(encoding="utf-8"))["Resources"]


def container(resources, kind: str) -> dict[str, Any]:
    found = (each["Properties"] for each in resources.values() if each["Type"] == "AWS::ECS::TaskDefinition")
    return next(each for each in found if each["Family"] == f"tidegate-{kind}")["ContainerDefinitions"][0]


def variables(resources, kind: str) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container(resources, kind)["Environment"]}


@pytest.mark.parametrize("kind", ["plan", "apply", "speculate"])
def test_every_runner_masks_what_the_installation_says_and_runs_its_image(tasks, kind):
    assert json.loads(variables(tasks, kind)["TIDEGATE_MASK_PATTERNS"]) == [r"ghp_\w+"]
    assert "tools/runner@sha256:" in json.dumps(container(tasks, kind)["Image"])


@pytest.mark.parametrize("kind", ["plan", "apply"])
def test_deploys_get_variables_and_secrets_and_the_template_has_no_secret(tasks, kind):
    given = variables(tasks, kind)
    assert given["TF_VAR_region"] == "eu-west-1"
    assert given["TIDEGATE_RUNNER_VARIABLES"] == "TF_VAR_region,TF_VAR_token,CLOUDFLARE_API_TOKEN"
    assert given["TIDEGATE_RUNNER_SECRETS"] == "TF_VAR_token,CLOUDFLARE_API_TOKEN"
    places = {each["Name"]: json.dumps(each["ValueFrom"]) for each in container(tasks, kind)["Secrets"]}
    assert "secret:acme/token" in places["TF_VAR_token"]
    assert "secret:acme/cloudflare:api_token::" in places["CLOUDFLARE_API_TOKEN"]


@pytest.mark.parametrize("kind", ["plan", "apply", "speculate"])
def test_tasks_are_as_large_as_the_installation_says(tasks, kind):
    (definition,) = (
        each["Properties"]
        for each in tasks.values()
        if each["Type"] == "AWS::ECS::TaskDefinition" and each["Properties"]["Family"].endswith(kind)
    )
    assert (definition["Cpu"], definition["Memory"]) == ("2048", "8192")
    assert definition["EphemeralStorage"] == {"SizeInGiB": 60}


def test_only_what_begins_jobs_knows_which_runners_there_are(tasks):
    knowing = {
        name: each["Properties"]["Environment"]["Variables"]["TIDEGATE_RUNNERS"]
        for name, each in tasks.items()
        if "TIDEGATE_RUNNERS" in each.get("Properties", {}).get("Environment", {}).get("Variables", {})
    }
    assert len(knowing) == 2
    for text in knowing.values():
        offer = json.loads(text)
        assert (offer["usual"]["memory"], offer["architecture"]) == (8192, "x86_64")


def test_plans_of_pull_requests_get_neither(tasks):
    assert "TF_VAR_region" not in variables(tasks, "speculate")
    assert "Secrets" not in container(tasks, "speculate")


def test_an_engine_may_assume_the_target_roles_of_its_kind_only(tasks):
    policies = {name: json.dumps(each) for name, each in tasks.items() if each["Type"] == "AWS::IAM::Policy"}
    allowed = [name for name, policy in policies.items() if TARGETS[0] in policy]
    assert len(allowed) == 2
    assert all("ApplyEngineRole" in name or "TaskEngineRole" in name for name in allowed)


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("mask_patterns", ["ghp_x", "(a+)+$"], r"mask_patterns\[1\].*at the end"),
        ("mask_patterns", "no json", "mask_patterns"),
        ("mask_patterns", [1], "mask_patterns"),
        ("runner_variables", {"PATH": "/bin"}, "PATH"),
        ("runner_variables", {"TF_VAR_x": 3}, "runner_variables"),
        ("runner_variables", {"TF_VAR_x": "x" * 3000}, "TF_VAR_x"),
        ("runner_secrets", {"AWS_ACCESS_KEY_ID": "acme/key"}, "AWS_ACCESS_KEY_ID"),
        ("runner_secrets", {"TF_VAR_x": "not a name"}, r"runner_secrets\.TF_VAR_x"),
        ("runner", {"cpu": 1, "memory": 16}, "not a Fargate size for 1 vCPU"),
        ("runner", {"cpu": 8}, "within runner_limits"),
        ("runner", {"ram": 8}, "cpu, memory, disk, apply_timeout"),
        ("runner", {"cpu": True}, "sizes such as"),
        ("runner", {"apply_timeout": "13h"}, "sizes such as"),
        ("runner", "large", "JSON"),
        ("runner_limits", {"disk": 500}, "21 to 200"),
        ("runner_limits", {"memory": 1, "cpu": 0.25}, "within runner_limits"),
        ("runner_image", "tidegate:latest", "digest"),
        ("runner_image", 3, "digest"),
        ("plan_target_roles", ["admin"], r"plan_target_roles\[0\]"),
        ("plan_target_roles", "admin", "plan_target_roles"),
        ("apply_target_roles", {"role": ROLE, "repositories": ["acme/*"]}, "apply_target_roles"),
        ("apply_target_roles", [ROLE, {"role": ROLE}], r"apply_target_roles\[1\]"),
        ("apply_target_roles", [{"role": ROLE, "repositories": []}], r"apply_target_roles\[0\]"),
        ("apply_target_roles", [{"role": ROLE, "repositories": "acme/*"}], r"apply_target_roles\[0\]"),
        ("apply_target_roles", [{"role": ROLE, "repositories": ["acme/*"], "phases": []}], r"apply_target_roles\[0\]"),
        ("apply_target_roles", [{"role": ROLE, "repositories": ["acme infra"]}], r"\[0\]\.repositories"),
        ("apply_target_roles", [{"role": "admin", "repositories": ["acme/*"]}], r"\[0\]\.role"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(key, value, where):
    with pytest.raises(InvalidContext, match=where):
        read_runner_settings(Given({key: value}))


def test_runners_are_usual_unless_somebody_says_otherwise():
    assert read_runner_settings(Given()).offer == RunnerOffer()


def test_an_installation_says_how_large_runners_are_and_may_be():
    given = Given(runner={"cpu": 2, "memory": 8, "apply_timeout": "90m"}, runner_limits='{"memory": 30}')
    offer = read_runner_settings(given).offer
    assert offer.usual == RunnerSize(2048, 8192, 30, 5400)
    assert offer.most == RunnerSize(4096, 30 * 1024, 100, 12 * 3600)


def test_a_variable_is_either_plain_or_a_secret():
    with pytest.raises(InvalidContext, match="TF_VAR_x"):
        read_runner_settings(Given(runner_variables={"TF_VAR_x": "1"}, runner_secrets={"TF_VAR_x": "acme/x"}))


def test_settings_may_be_given_on_the_command_line_as_json():
    assert read_runner_settings(Given(mask_patterns='["ghp_x"]')).mask_patterns == ("ghp_x",)
