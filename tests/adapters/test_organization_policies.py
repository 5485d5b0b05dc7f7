"""The organization's policy sets in S3, and notes on lines as GitHub takes them."""

from __future__ import annotations

import pytest
from moto import mock_aws

from tidegate.aws.boto import client
from tidegate.policies.adapters.organization_policies import S3OrganizationPolicies
from tidegate.vcs.github.checks import notes_of
from tidegate.vcs.rules.check_run import Annotation, CheckRun, Level


@pytest.fixture
def s3(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        s3 = client("s3")
        s3.create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield s3


def test_the_files_of_a_set_are_those_below_its_name(s3):
    for key, body in {
        "costs/a.rego": b"package main",
        "costs/data/limits.json": b"{}",
        "costs/readme.md": b"",
        "costs/large.json": b" " * ((1 << 20) + 1),
        "costs2/b.rego": b"",
    }.items():
        s3.put_object(Bucket="artifacts", Key=f"configuration/policies/{key}", Body=body)
    policies = S3OrganizationPolicies(s3, "artifacts")
    assert policies.read("costs") == {"a.rego": b"package main", "data/limits.json": b"{}", "large.json": None}
    assert policies.read("nothing") == {}


def test_github_is_given_as_many_notes_as_it_takes_at_once():
    given_notes = tuple(Annotation("main.tf", line, Level.FAILURE, "title", "message") for line in range(1, 60))
    check = CheckRun("name", "sha", "id", "completed", "title", "summary", annotations=given_notes)
    given = notes_of(check)
    assert len(given) == 50
    assert given[1] == {
        "path": "main.tf",
        "start_line": 2,
        "end_line": 2,
        "annotation_level": "failure",
        "title": "title",
        "message": "message",
    }
