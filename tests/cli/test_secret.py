"""``tidegate secret`` stores the App's secrets in the form that functions read."""

from __future__ import annotations

import json

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moto import mock_aws
from typer.testing import CliRunner

from tidegate_cli.main import app


@pytest.fixture(autouse=True)
def account(monkeypatch):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


def run(*arguments):
    return CliRunner().invoke(app, ["secret", *map(str, arguments)])


def stored(name):
    client = boto3.client("secretsmanager")
    return json.loads(client.get_secret_value(SecretId=name)["SecretString"])


def any_key(tmp_path):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = tmp_path / "app.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    return path


def test_a_new_webhook_secret_is_stored_and_printed_once():
    result = run("webhook")
    assert result.exit_code == 0
    assert stored("tidegate/webhook-secret") == {"secrets": [result.stdout.strip()]}


def test_each_installation_has_secrets_of_its_own(monkeypatch):
    first = run("webhook").stdout.strip()
    second = run("webhook", "--prefix", "acme").stdout.strip()
    monkeypatch.setenv("TIDEGATE_PREFIX", "other")
    third = run("webhook").stdout.strip()
    assert stored("tidegate/webhook-secret") == {"secrets": [first]}
    assert stored("acme/webhook-secret") == {"secrets": [second]}
    assert stored("other/webhook-secret") == {"secrets": [third]}
    assert run("webhook", "--name", "mine").exit_code == 0
    assert stored("mine")["secrets"]


def test_a_prefix_that_no_installation_can_have_is_refused():
    refused = run("webhook", "--prefix", "A_")
    assert refused.exit_code == 2
    assert "'A_' is not up to 20 small letters" in " ".join(refused.output.replace("│", "").split())


def test_secrets_are_stored_in_the_region_that_awss_other_tools_take(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert run("webhook").exit_code == 0
    names = [each["Name"] for each in boto3.client("secretsmanager", "eu-north-1").list_secrets()["SecretList"]]
    assert names == ["tidegate/webhook-secret"]


def test_a_stored_webhook_secret_is_not_replaced_by_accident():
    first = run("webhook").stdout.strip()
    again = run("webhook")
    assert again.exit_code == 1
    assert "--rotate" in again.stderr
    assert stored("tidegate/webhook-secret") == {"secrets": [first]}


def test_a_rotated_secret_leaves_the_one_before_valid_until_it_is_retired():
    first = run("webhook").stdout.strip()
    second = run("webhook", "--rotate").stdout.strip()
    assert stored("tidegate/webhook-secret") == {"secrets": [second, first]}
    assert run("webhook", "--retire").exit_code == 0
    assert stored("tidegate/webhook-secret") == {"secrets": [second]}


def test_nothing_is_retired_where_nothing_is_stored():
    result = run("webhook", "--retire")
    assert result.exit_code == 1
    assert "nothing to retire" in result.stderr


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"secrets": "one"}'])
def test_a_webhook_secret_of_another_form_is_left_alone(text):
    boto3.client("secretsmanager").create_secret(Name="tidegate/webhook-secret", SecretString=text)
    result = run("webhook", "--rotate")
    assert result.exit_code == 1
    assert "Delete it and try again" in result.stderr


def test_the_apps_id_and_key_are_stored_together_and_can_be_replaced(tmp_path):
    key = any_key(tmp_path)
    assert run("app", "--id", "1", "--key", key).exit_code == 0
    assert run("app", "--id", "123456", "--key", key).exit_code == 0
    assert stored("tidegate/github-app") == {"app_id": "123456", "private_key": key.read_text()}


@pytest.mark.parametrize("content", [b"", b"-----BEGIN RSA PRIVATE KEY-----\nno\n-----END RSA PRIVATE KEY-----\n"])
def test_a_file_that_holds_no_private_key_is_refused(tmp_path, content):
    path = tmp_path / "app.pem"
    path.write_bytes(content)
    result = run("app", "--id", "123456", "--key", path)
    assert result.exit_code == 1
    assert "not a private key" in result.stderr


def test_a_key_that_is_not_there_and_an_id_that_is_no_number_are_refused(tmp_path):
    assert "cannot be read" in run("app", "--id", "1", "--key", tmp_path / "missing.pem").stderr
    assert "it is a number" in run("app", "--id", "tidegate", "--key", any_key(tmp_path)).stderr


def test_what_people_sign_in_with_is_added_to_what_is_stored(tmp_path):
    key, secret = any_key(tmp_path), tmp_path / "secret"
    secret.write_text("a-client-secret\n")
    run("app", "--id", "1", "--key", key)
    result = run("app", "--client-id", "Iv1.0123", "--client-secret-file", secret)
    assert result.exit_code == 0
    assert "a-client-secret" not in result.output
    assert stored("tidegate/github-app") == {
        "app_id": "1",
        "private_key": key.read_text(),
        "client_id": "Iv1.0123",
        "client_secret": "a-client-secret",
    }


@pytest.mark.parametrize("words", [["--id", "1"], ["--client-id", "x"], []])
def test_half_of_what_belongs_together_is_a_mistake_in_the_usage(words):
    assert run("app", *words).exit_code == 2


@pytest.mark.parametrize("text", ["", "two words", "two\nlines"])
def test_a_file_that_holds_no_client_secret_is_refused(tmp_path, text):
    path = tmp_path / "secret"
    path.write_text(text)
    result = run("app", "--client-id", "x", "--client-secret-file", path)
    assert result.exit_code == 1
    assert "must contain one client secret" in result.stderr


def test_secrets_as_json_are_one_document(tmp_path):
    made = json.loads(run("webhook", "--json").stdout)
    assert stored("tidegate/webhook-secret") == {"secrets": [made["secret"]]}
    assert json.loads(run("webhook", "--retire", "--json").stdout) == {"name": "tidegate/webhook-secret", "valid": 1}
    kept = json.loads(run("app", "--id", "1", "--key", any_key(tmp_path), "--json").stdout)
    assert kept == {"name": "tidegate/github-app", "stored": ["app_id", "private_key"]}


def test_without_credentials_the_refusal_says_what_to_do(monkeypatch):
    def refuse(*_, **__):
        raise NoCredentialsError

    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", refuse)
    result = run("webhook")
    assert result.exit_code == 1
    assert "AWS_PROFILE" in result.stderr


def token_file(directory, text):
    path = directory / f"file-{text}"
    path.write_text(f"{text}\n")
    return path


def test_gitlabs_tokens_are_stored_one_after_the_other(tmp_path):
    first = run("gitlab", "--token-file", token_file(tmp_path, "glpat-api"))
    assert "It still lacks clone_token." in first.stdout
    second = run("gitlab", "--clone-token-file", token_file(tmp_path, "glpat-read"), "--json")
    assert json.loads(second.stdout) == {"name": "tidegate/gitlab", "stored": ["clone_token"], "missing": []}
    assert stored("tidegate/gitlab") == {"token": "glpat-api", "clone_token": "glpat-read"}


def test_gitlabs_token_may_come_by_the_name_of_the_design(tmp_path, monkeypatch):
    monkeypatch.setenv("BURRITO_CONTROLLER_GITLABCONFIG_APITOKEN", "glpat-api")
    result = run("gitlab", "--clone-token-file", token_file(tmp_path, "glpat-read"))
    assert result.exit_code == 0
    assert "glpat" not in result.output
    assert stored("tidegate/gitlab") == {"token": "glpat-api", "clone_token": "glpat-read"}


def test_runners_never_get_the_token_for_the_api(tmp_path):
    same = token_file(tmp_path, "glpat-api")
    result = run("gitlab", "--token-file", same, "--clone-token-file", same)
    assert result.exit_code == 1
    assert "give it the scope read_repository only" in result.stderr


def test_nothing_for_gitlab_is_a_mistake_in_the_usage():
    assert run("gitlab").exit_code == 2


def test_the_token_of_who_comments_is_taken_by_the_name_that_the_design_has(monkeypatch, tmp_path):
    assert run("app", "--id", 123, "--key", any_key(tmp_path)).exit_code == 0
    monkeypatch.setenv("BURRITO_CONTROLLER_GITHUBCONFIG_APITOKEN", "ghp_somebody")
    assert run("app").exit_code == 0
    assert (stored("tidegate/github-app")["app_id"], stored("tidegate/github-app")["comment_token"]) == (
        "123",
        "ghp_somebody",
    )
    (tmp_path / "token").write_text("ghp_other\n")
    assert run("app", "--comment-token-file", tmp_path / "token").exit_code == 0
    assert stored("tidegate/github-app")["comment_token"] == "ghp_other"
