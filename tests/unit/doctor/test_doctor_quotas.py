"""The doctor compares quotas with what deploys need, and sees what an account or a region has not got."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from tidegate_cli.doctor.ecs_role import check_role
from tidegate_cli.doctor.quotas import QuotaChecks
from tidegate_cli.doctor.result import Result
from tidegate_local.moto import quota_shims

REGION = "eu-west-1"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    quota_shims.install()
    with mock_aws():
        yield


@cache
def _client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)


def _quota_answers(applied: Any, default: Any = "NoSuchResourceException") -> Any:
    """Return clients of an account whose quotas have these values, or are answered with these codes of errors."""

    def answer(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            raise ClientError({"Error": {"Code": value, "Message": "no"}}, "GetServiceQuota")
        return {"Quota": {"Value": value}}

    class Quotas:
        def get_service_quota(self, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:  # As AWS has it.
            assert (ServiceCode, QuotaCode) in quota_shims.DEFAULTS
            return answer(applied)

        def get_aws_default_service_quota(self, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:
            assert (ServiceCode, QuotaCode) in quota_shims.DEFAULTS
            return answer(default)

    return lambda _: Quotas()


def _quotas(clients: Any, region: str = REGION, **context: Any) -> dict[str, Result]:
    return {finding.check: finding for finding in QuotaChecks(context, clients, region).results()}


def test_quotas_that_nobody_changed_are_awss_defaults(aws: None):
    found = _quotas(_client)
    assert (found["Fargate vCPUs"].verdict, found["Fargate vCPUs"].found) == ("ok", "The quota is 6.")
    assert found["Lambda concurrency"].found == "The quota is 1000."
    assert "the quota allows 6 runners" in found["runner slots"].found


def test_what_is_applied_goes_before_the_default():
    assert _quotas(_quota_answers(10.0, 1000.0))["Lambda concurrency"].verdict == "warn"


@pytest.mark.parametrize("answers", [("AccessDeniedException",), ("NoSuchResourceException", "AccessDeniedException")])
def test_quotas_that_cannot_be_read_are_a_warning(answers: tuple[str, ...]):
    found = _quotas(_quota_answers(*answers))
    assert (found["Fargate vCPUs"].verdict, "AccessDenied" in found["Fargate vCPUs"].found) == ("warn", True)
    assert "runner slots" not in found


def test_a_region_without_fargate_is_refused_plainly():
    found = _quotas(_quota_answers("NoSuchResourceException"), "ap-southeast-6")["Fargate vCPUs"]
    assert found.verdict == "fail"
    assert "There is no AWS Fargate in ap-southeast-6" in found.found
    assert "No plan and no apply could run" in found.found
    assert "set AWS_REGION" in found.do


def test_what_aws_answers_in_a_region_goes_before_its_list():
    assert _quotas(_quota_answers(6), "ap-southeast-6")["Fargate vCPUs"].verdict == "ok"
    listed = _quotas(_quota_answers("NoSuchResourceException"))["Fargate vCPUs"]
    assert (listed.verdict, "no L-3032A538 for fargate in eu-west-1" in listed.found) == ("warn", True)


def test_where_neither_the_list_nor_aws_tells_one_is_told_whom_to_ask():
    found = _quotas(_quota_answers("AccessDeniedException"), "ap-southeast-6")["Fargate vCPUs"]
    assert found.verdict == "warn"
    assert "does not name ap-southeast-6 as having Fargate" in found.found
    assert "services/fargate/regions/ap-southeast-6`" in found.do


def test_an_account_without_ecss_own_role_is_told_how_to_get_it(aws: None):
    found = check_role(_client("iam"))
    assert found.verdict == "warn"
    assert "AWSServiceRoleForECS" in found.found
    assert "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com" in found.do
    _client("iam").create_role(RoleName="AWSServiceRoleForECS", AssumeRolePolicyDocument="{}")
    assert check_role(_client("iam")).verdict == "ok"


@pytest.mark.parametrize(
    "error", [ClientError({"Error": {"Code": "AccessDenied"}}, "GetRole"), EndpointConnectionError(endpoint_url="x")]
)
def test_a_role_that_cannot_be_looked_for_is_a_warning(error: Exception):
    class Iam:
        def get_role(self, **_: str) -> None:
            raise error

    assert check_role(Iam()).verdict == "warn"


@pytest.mark.parametrize(("value", "verdict"), [(0, "fail"), (2, "warn"), (6, "ok")])
def test_a_quota_is_compared_with_what_two_deploys_need(value: float, verdict: str):
    found = _quotas(_quota_answers(value))
    assert found["Fargate vCPUs"].verdict == verdict


@pytest.mark.parametrize(
    ("context", "quota", "verdict", "words"),
    [
        ({}, 6, "ok", "runner_slots is 6; the quota allows 6 runners of 1 vCPU"),
        ({}, 5, "warn", "Set runner_slots to 5 at most, or ask for at least 6"),
        ({"runner_slots": "40"}, 6, "warn", "runner_slots is 40, and the quota allows 6 runners of 1 vCPU"),
        ({"runner_slots": "40"}, 4000, "ok", "the quota allows 4000 runners"),
        (
            {"runner_slots": "3", "runner": {"cpu": 4}},
            8,
            "warn",
            "ask for at least 12 in the Service Quotas console",
        ),
        ({"runner_slots": "3", "runner": {"memory": 16}}, 6, "ok", "the quota allows 3 runners of 2 vCPU"),
        ({"runner_limits": {"cpu": 2}}, 6, "warn", "Set runner_slots to 3 at most, or ask for at least 12"),
        ({"runner_limits": {"cpu": "large"}}, 6, "ok", "the quota allows 6 runners of 1 vCPU"),
        ({"runner": {"cpu": 8}}, 48, "ok", "the quota allows 6 runners of 8 vCPU"),
        ({"runner": {"cpu": 3}}, 6, "ok", "the quota allows 6 runners of 1 vCPU"),
        ({"runner": {"cpu": "large"}}, 6, "ok", "the quota allows 6 runners of 1 vCPU"),
        ({"runner": "large"}, 0.5, "warn", "Set runner_slots to 1 at most"),
    ],
)
def test_the_slots_of_runners_are_compared_with_the_quota(
    context: dict[str, Any], quota: float, verdict: str, words: str
):
    found = _quotas(_quota_answers(quota), **context)["runner slots"]
    assert found.verdict == verdict
    assert words in f"{found.found} {found.do}"
