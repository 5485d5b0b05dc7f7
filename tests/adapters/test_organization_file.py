"""The organization-wide file in S3: read again when it changed, and only then."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tidegate.aws.boto import client
from tidegate.config.adapters.organization_file import S3OrganizationFile
from tidegate.rules.errors import CloudUnavailable

KEY = "configuration/organization.yaml"


@pytest.fixture
def s3(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        s3 = client("s3")
        s3.create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield s3


class Counting:
    """An S3 client that counts the bodies which it sends."""

    def __init__(self, s3):
        self.s3, self.bodies = s3, 0

    def get_object(self, **asked):
        answer = self.s3.get_object(**asked)
        self.bodies += 1
        return answer


def test_it_is_sent_once_for_each_change(s3):
    counting = Counting(s3)
    file = S3OrganizationFile(counting, "artifacts", KEY, 100)
    assert file.read() is None
    s3.put_object(Bucket="artifacts", Key=KEY, Body=b"version: 1")
    assert [file.read(), file.read(), file.read()] == [b"version: 1"] * 3
    assert counting.bodies == 1
    s3.put_object(Bucket="artifacts", Key=KEY, Body=b"forced: {}")
    assert [file.read(), file.read()] == [b"forced: {}"] * 2
    assert counting.bodies == 2
    s3.delete_object(Bucket="artifacts", Key=KEY)
    assert file.read() is None
    s3.put_object(Bucket="artifacts", Key=KEY, Body=b"version: 1")
    assert file.read() == b"version: 1"


def test_of_a_file_that_is_too_large_just_enough_is_read_to_see_that(s3):
    s3.put_object(Bucket="artifacts", Key=KEY, Body=b"x" * 1000)
    assert len(S3OrganizationFile(s3, "artifacts", KEY, 100).read()) == 101


def test_what_may_not_be_read_is_not_taken_for_missing():
    class Refuses:
        def get_object(self, **_):
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject")

    with pytest.raises(CloudUnavailable, match="AccessDenied"):
        S3OrganizationFile(Refuses(), "artifacts", KEY, 100).read()
