"""Artifacts in S3."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.adapters.aws import REGION
from tidegate.aws.artifacts import S3Artifacts
from tidegate.aws.boto import client
from tidegate.ports import ObjectStart
from tidegate.rules.errors import CloudUnavailable, NotFound


@pytest.fixture
def bucket(cloud):
    client("s3").create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": REGION})
    return S3Artifacts(client("s3"), "artifacts")


def test_an_artifact_is_read_whole_or_from_its_start(bucket):
    bucket.put("plans/job/plan.txt", b"0123456789")
    digest = sha256(b"0123456789").hexdigest()
    assert bucket.get("plans/job/plan.txt") == b"0123456789"
    assert bucket.get_start("plans/job/plan.txt", 4) == ObjectStart(b"0123", 10, digest)
    assert bucket.get_start("plans/job/plan.txt", 100) == ObjectStart(b"0123456789", 10, digest)


def test_artifacts_are_removed_however_many_and_again(bucket):
    names = [f"plans/job-{number}/plan.txt" for number in range(1001)]
    for name in (names[0], names[-1], "plans/kept/plan.txt"):
        bucket.put(name, b"plan")
    for _ in range(2):
        bucket.remove(names)
    bucket.remove(())
    assert bucket.get("plans/kept/plan.txt") == b"plan"
    for name in (names[0], names[-1]):
        with pytest.raises(NotFound):
            bucket.get(name)


def test_an_artifact_that_cannot_be_removed_is_told():
    class Keeps:
        def delete_objects(self, **_call):
            return {"Errors": [{"Key": "a", "Code": "InternalError"}]}

    with pytest.raises(CloudUnavailable, match="InternalError: 1 objects were not deleted"):
        S3Artifacts(Keeps(), "bucket").remove(["a"])


def test_an_artifact_that_is_not_there_is_not_found(bucket):
    with pytest.raises(NotFound):
        bucket.get("plans/job/plan.txt")
    with pytest.raises(NotFound):
        bucket.get_start("plans/job/plan.txt", 4)


def test_the_start_of_an_empty_artifact_is_empty(bucket):
    bucket.put("plans/job/plan.txt", b"")
    assert bucket.get_start("plans/job/plan.txt", 4) == ObjectStart(b"", 0, sha256(b"").hexdigest())
