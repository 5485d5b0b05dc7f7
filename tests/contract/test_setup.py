"""What every store of the one-time code and of the App's secrets does."""

from __future__ import annotations

import json
from dataclasses import replace

import boto3
import pytest

from tests.contract.stores import dynamodb_client, new_table
from tests.fakes.setup import MemoryAppSecrets, MemorySetupCodes
from tidegate.rules.errors import Conflict
from tidegate.setup.adapters.app_secrets import StoredAppSecrets
from tidegate.setup.adapters.setup_codes import DynamoSetupCodes
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.setup.rules.refusals import AlreadySetUp
from tidegate.setup.rules.setup_code import SetupCode

CODE = SetupCode("digest", 1_800_000_000)
BEGUN = replace(CODE, state_digest="state", state_ends=1_700_000_000, options=("issues", "updates"))
APP = CreatedApp(7, "Tidegate", "https://forge.example/apps/tidegate", "client", "PEM", "client secret", "hook secret")


@pytest.fixture(params=["memory", "aws"])
def codes(request):
    if request.param == "memory":
        yield MemorySetupCodes()
        return
    with dynamodb_client() as client:
        yield DynamoSetupCodes(client, new_table(client))


@pytest.fixture(params=["memory", "aws"])
def app_secrets(request):
    if request.param == "memory":
        yield MemoryAppSecrets()
        return
    with dynamodb_client():
        client = boto3.client("secretsmanager", "eu-central-1")
        yield StoredAppSecrets(client, app="github-app", webhook="webhook-secret")


def test_there_is_no_code_at_first(codes):
    assert codes.read() is None


def test_a_newer_code_replaces_the_one_before_and_what_was_begun_with_it(codes):
    codes.put(CODE)
    codes.begin(BEGUN)
    newer = SetupCode("newer", 1_900_000_000)
    codes.put(newer)
    assert codes.read() == newer


def test_a_state_is_claimed_once(codes):
    codes.put(CODE)
    codes.begin(BEGUN)
    assert codes.read() == BEGUN
    codes.claim("state")
    with pytest.raises(Conflict):
        codes.claim("state")
    assert codes.read().state_digest == ""


def test_nothing_begins_with_another_code(codes):
    codes.put(CODE)
    with pytest.raises(Conflict):
        codes.begin(replace(BEGUN, digest="another"))
    assert codes.read() == CODE


def test_a_removed_code_is_gone(codes):
    codes.put(CODE)
    codes.remove()
    assert codes.read() is None


def test_the_secrets_are_created_in_the_form_that_functions_read(app_secrets):
    assert list(app_secrets.existing()) == []
    app_secrets.create(APP)
    assert sorted(app_secrets.existing()) == ["github-app", "webhook-secret"]


def test_a_secret_is_never_changed(app_secrets):
    app_secrets.create(APP)
    with pytest.raises(AlreadySetUp):
        app_secrets.create(APP)


def test_secrets_manager_holds_what_functions_read():
    with dynamodb_client():
        client = boto3.client("secretsmanager", "eu-central-1")
        StoredAppSecrets(client, app="app", webhook="webhook").create(APP)
        stored = {
            name: json.loads(client.get_secret_value(SecretId=name)["SecretString"]) for name in ("app", "webhook")
        }
    assert stored["app"] == {
        "app_id": "7",
        "private_key": "PEM",
        "client_id": "client",
        "client_secret": "client secret",
    }
    assert stored["webhook"] == {"secrets": ["hook secret"]}
