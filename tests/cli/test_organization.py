"""``tidegate organization`` stores the file that holds for all repositories; ``validate`` checks files under it."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from tidegate.config.organization import ORGANIZATION
from tidegate_cli.main import app

AROUND = "forced: {plan_review: always}\noverridable: [dirs]\n"


@pytest.fixture(autouse=True)
def s3(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="artifacts")
        yield s3


@pytest.fixture
def file(tmp_path):
    def write(text, name="organization.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def organization(*arguments):
    return run("organization", *arguments, "--bucket", "artifacts")


def test_a_file_is_stored_shown_and_removed(s3, file):
    assert organization("show").exit_code == 3
    assert "applies from now on" in organization("set", file(AROUND)).output
    assert s3.get_object(Bucket="artifacts", Key=ORGANIZATION)["Body"].read().decode() == AROUND
    assert organization("show").output == AROUND
    assert organization("remove").exit_code == 0
    assert organization("show").exit_code == 3


def test_a_file_with_mistakes_is_not_stored(file):
    refused = organization("set", file("force: {}\nlimits: {engines: [a]}\n"))
    assert refused.exit_code == 1
    assert "organization.yaml:1:1: unknown key 'force'. Did you mean 'forced'?" in refused.output
    assert "organization.yaml:2:" in refused.output
    assert organization("show").exit_code == 3


def test_a_bucket_that_is_not_there_is_told(file):
    refused = run("organization", "set", file(AROUND), "--bucket", "none")
    assert refused.exit_code == 1
    assert "NoSuchBucket" in refused.stderr


def test_a_repositorys_file_is_checked_under_the_organizations(file):
    around = file(AROUND)
    mine = file("version: 1\nhooks: {}\n", "tidegate.yaml")
    refused = run("validate", mine, "--organization", around)
    assert refused.exit_code == 1
    assert "tidegate.yaml:2:1: the organization's file decides the key 'hooks'" in refused.output
    assert run("validate", file("dirs: {a: }\n", "tidegate.yaml"), "--organization", around).exit_code == 0


def test_the_organizations_file_is_checked_alone_where_there_is_no_other(file, tmp_path):
    missing = str(tmp_path / "none.yaml")
    assert "is valid" in run("validate", missing, "--organization", file(AROUND)).output
    refused = run("validate", missing, "--organization", file("forced: {plan_review: sometimes}\n"))
    assert (refused.exit_code, "organization.yaml:1:23" in refused.output) == (1, True)
