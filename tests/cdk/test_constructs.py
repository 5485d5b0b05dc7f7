"""The constructs and settings refuse what would only show on AWS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk
import pytest
from aws_cdk.aws_stepfunctions import CfnStateMachine

from tidegate_cdk.asl_state_machine import AslStateMachine, PlaceholderMismatch
from tidegate_cdk.settings import InvalidContext, read_settings

FILE = '{"StartAt": "End", "States": {"End": {"Type": "Succeed", "Comment": "${Name}"}}}'


class AnyContext:
    def __init__(self, **values: Any) -> None:
        self.values = values

    def try_get_context(self, key: str) -> Any:
        return self.values.get(key)


@pytest.fixture
def stack() -> aws_cdk.Stack:
    return aws_cdk.Stack(aws_cdk.App(), "Any")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "any.asl.yaml"
    path.write_text(FILE)
    (tmp_path / "shared.yaml").touch()
    return path


def test_a_placeholder_without_a_value_is_refused(stack: aws_cdk.Stack, file: Path):
    with pytest.raises(PlaceholderMismatch, match=r"no value for \['Name'\]"):
        AslStateMachine(stack, "Machine", file=file, name="any", values={})


def test_a_value_without_a_placeholder_is_refused(stack: aws_cdk.Stack, file: Path):
    with pytest.raises(PlaceholderMismatch, match=r"no placeholder for \['Other'\]"):
        AslStateMachine(stack, "Machine", file=file, name="any", values={"Name": "x", "Other": "y"})


def test_settings_have_defaults_for_github(stack: aws_cdk.Stack):
    settings = read_settings(AnyContext())
    assert settings.forge_api_url == "https://api.github.com"
    assert settings.plan_policies == ("ReadOnlyAccess",)
    assert settings.apply_policies == ()


def test_policies_may_be_given_on_the_command_line():
    assert read_settings(AnyContext(apply_policies="A, B")).apply_policies == ("A", "B")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prefix", "Has Space"),
        ("forge_url", "github.com"),
        ("default_terraform", "latest"),
        ("plan_policies", 3),
        ("alarm_email", "nobody"),
        ("plan_review", "sometimes"),
        ("rounds_per_execution", "0"),
        ("runner_slots", "0"),
        ("runner_slots", "1000"),
        ("pull_request_plans", "0"),
        ("pull_request_plans", "100"),
        ("allow_local_state", "perhaps"),
        ("state_bucket", 1),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_name(key: str, value: object):
    with pytest.raises(InvalidContext, match=key):
        read_settings(AnyContext(**{key: value}))


def test_a_map_works_on_as_many_items_at_once_as_the_installation_says(stack: aws_cdk.Stack, tmp_path: Path):
    file = tmp_path / "each.asl.yaml"
    (tmp_path / "shared.yaml").touch()
    file.write_text('{"StartAt": "All", "States": {"All": {"Type": "Map", "MaxConcurrency": 10, "End": true}}}')
    machine = AslStateMachine(stack, "Machine", file=file, name="each", values={}, at_once={"All": 3})
    resource = machine.machine.node.default_child
    assert isinstance(resource, CfnStateMachine)
    assert json.loads(str(resource.definition_string))["States"]["All"]["MaxConcurrency"] == 3
