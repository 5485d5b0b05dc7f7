"""``tidegate setup`` prints a code that the deployed page takes, and stores no more than its digest."""

from __future__ import annotations

import json

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from tests.contract.stores import new_table
from tidegate.setup.adapters.setup_codes import DynamoSetupCodes
from tidegate.setup.rules.setup_code import is_code
from tidegate_cli.main import app as cli

REGION = "eu-west-1"


@pytest.fixture
def account(monkeypatch):
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield boto3.client("dynamodb", REGION)


def deployed(client, stack="Tidegate", webhook="github"):
    """Deploy a stack with the outputs of an installation, and return the name of its table."""
    table = new_table(client)
    values = {
        "ApiUrl": "https://api.example",
        "WebhookUrl": f"https://api.example/webhooks/{webhook}",
        "TableName": table,
        "AppSecretName": "tidegate/github-app",
        "WebhookSecretName": "tidegate/webhook-secret",
    }
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in values.items()},
    }
    boto3.client("cloudformation", REGION).create_stack(StackName=stack, TemplateBody=json.dumps(template))
    return table


def setup(*arguments):
    return CliRunner().invoke(cli, ["setup", "--json", "--configuration", "none.json", *arguments])


def test_the_code_is_valid_and_only_its_digest_is_stored(account):
    table = deployed(account)
    answer = json.loads(setup().stdout)
    assert answer["url"] == "https://api.example/setup"
    stored = DynamoSetupCodes(account, table).read()
    assert is_code(stored, answer["code"], 0)
    assert answer["code"] not in str(account.scan(TableName=table)["Items"])


def test_another_installation_is_named_by_its_prefix(account):
    deployed(account, "Acme")
    assert json.loads(setup("--prefix", "acme").stdout)["code"]


def test_nothing_is_printed_where_the_app_exists(account):
    deployed(account)
    boto3.client("secretsmanager", REGION).create_secret(Name="tidegate/github-app", SecretString="{}")
    answer = json.loads(setup().stdout)
    assert (answer["code"], answer["existing"]) == (None, ["tidegate/github-app"])


def test_gitlab_has_no_app(account):
    deployed(account, webhook="gitlab")
    assert json.loads(setup().stdout)["code"] is None


def test_without_an_installation_it_says_what_to_do(account):
    refused = setup()
    assert (refused.exit_code, "make deploy" in refused.output) == (1, True)
