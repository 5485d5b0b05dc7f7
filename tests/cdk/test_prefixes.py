"""Installations side by side in one account and region: each prefix has its own stack, names and secrets."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tidegate_cdk.settings import read_settings
from tidegate_cdk.sources import ROOT
from tidegate_local.stack.template import Addresses, adapt

#: Names that live inside of something else that has a name of its own, or are of AWS.
WITHIN = {
    "AWS::ApiGatewayV2::Stage StageName": "in its API",
    "AWS::CloudWatch::Alarm MetricName": "in its namespace",
    "AWS::CloudWatch::Alarm Namespace": "of AWS",
    "AWS::DynamoDB::Table AttributeName": "in its table",
    "AWS::DynamoDB::Table IndexName": "in its table",
    "AWS::ECS::TaskDefinition Name": "of a container or a volume",
    "AWS::ECS::TaskDefinition SourceVolume": "in its task definition",
    "AWS::IAM::Policy PolicyName": "in its role",
    "AWS::Logs::MetricFilter MetricName": "in its namespace",
}


def test_the_stack_is_named_like_the_prefix(template_file: Path, other_file: Path):
    assert (template_file.name, other_file.name) == ("Tidegate.template.json", "Acme-prod.template.json")


def _commands(target: str, *variables: str, **environ: str) -> str:
    """Return what ``make`` would run."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PREFIX", "TIDEGATE_PREFIX"}}
    words = ["make", "--dry-run", target, *variables]
    return subprocess.run(words, cwd=ROOT, env=environment | environ, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("target", ["synth", "doctor", "deploy"])
def test_make_takes_the_prefix_as_the_command_line_does(target: str):
    assert "prefix" not in _commands(target)
    assert "acme" in _commands(target, "PREFIX=acme")
    assert "acme" in _commands(target, TIDEGATE_PREFIX="acme")
    assert "other" not in _commands(target, "PREFIX=acme", TIDEGATE_PREFIX="other")


def _names(template: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every name that a resource gets in clear, by its type and key."""
    for resource in template["Resources"].values():
        for key, value in resource.get("Properties", {}).items():
            if isinstance(value, str) and (key.endswith("Name") or key == "Family"):
                yield f"{resource['Type']} {key}", value


def test_two_installations_share_no_name(template: dict[str, Any], other: dict[str, Any]):
    shared = {each for each in set(_names(template)) & set(_names(other)) if each[0] not in WITHIN}
    assert not shared
    assert {value for key, value in _names(template) if key not in WITHIN}, "there are names to compare"


def test_all_that_has_a_name_of_its_own_begins_with_the_prefix(other: dict[str, Any]):
    for key, name in _names(other):
        own = name.rpartition("/")[2] if key.endswith("LogGroupName") else name
        assert key in WITHIN or own.startswith("acme-prod"), f"{key}: {name}"


def test_what_an_installation_counts_and_knows_is_its_own(other: dict[str, Any]):
    text = json.dumps(other)
    for of_the_first in ("tidegate/webhook-secret", "tidegate/github-app", ":tidegate-", '"tidegate-', "/tidegate-"):
        assert of_the_first not in text
    counted = [each["Properties"] for each in other["Resources"].values() if each["Type"] == "AWS::Logs::MetricFilter"]
    assert {each["MetricTransformations"][0]["MetricNamespace"] for each in counted} == {"acme-prod"}


def test_no_stack_is_deleted_by_mistake(template_file: Path):
    manifest = json.loads((template_file.parent / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["artifacts"]["Tidegate"]["properties"]["terminationProtection"] is True


class _Given(dict[str, object]):
    def try_get_context(self, key: str) -> object:
        return self.get(key)


@pytest.mark.parametrize(("prefix", "stack"), [("tidegate", "Tidegate"), ("a", "A"), ("acme-prod", "Acme-prod")])
def test_each_prefix_has_a_stack_and_secrets_of_its_own(prefix: str, stack: str):
    settings = read_settings(_Given(prefix=prefix))
    assert settings.stack == stack
    assert settings.webhook_secret_name == f"{prefix}/webhook-secret"
    assert settings.app_secret_name == f"{prefix}/github-app"
    assert read_settings(_Given(prefix=prefix, app_secret_name="mine")).app_secret_name == "mine"


def test_two_installations_are_made_side_by_side_in_one_account(template: dict[str, Any], other: dict[str, Any]):
    """As far as moto makes resources: what has a name that is taken is refused there, too."""
    made: dict[str, set[str]] = {}
    with mock_aws():
        cloud = boto3.client("cloudformation", region_name="us-east-1")
        for stack, document in (("Tidegate", template), ("Acme-prod", other)):
            addresses = Addresses("http://127.0.0.1", prefix=stack.lower())
            adapted = adapt(document, addresses, "123456789012", "us-east-1", {}).template
            text = json.dumps(adapted)
            cloud.create_stack(StackName=stack, TemplateBody=text, Capabilities=["CAPABILITY_NAMED_IAM"])
            assert cloud.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
            resources = cloud.describe_stack_resources(StackName=stack)["StackResources"]
            # Inline policies have their names within their roles.
            named = [each for each in resources if each["ResourceType"] != "AWS::IAM::Policy"]
            made[stack] = {each["PhysicalResourceId"] for each in named if "PhysicalResourceId" in each}
    assert len(made["Tidegate"]) > 80
    assert not made["Tidegate"] & made["Acme-prod"]
