"""A job gets a token for each cloud it works in, for what was begun and nothing else, or a reason why it gets none."""

from __future__ import annotations

from dataclasses import replace

import jwt
import pytest

from tests.builders import any_job
from tests.fakes import MemoryClock
from tests.fakes.ports import memory_ports
from tests.identity_keys import Signer, private_key
from tests.instants import utc
from tidegate.deploys.rules.aws_target import AwsTarget
from tidegate.deploys.rules.issued import NOTHING
from tidegate.deploys.rules.job import JobKind, job_digest
from tidegate.deploys.rules.targets import AzureTarget, Cloud
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.jobs.issue_tokens import issue_tokens
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import CloudUnavailable, SigningRefused

ISSUER = "https://tidegate.example"
ROLE = "arn:aws:iam::210987654321:role/"
RUN = RunSettings(
    aws=AwsTarget(f"{ROLE}plan", f"{ROLE}apply", web_identity=True), azure=AzureTarget("tenant", "plan", "apply")
)


SETTINGS = {"TIDEGATE_ISSUER": ISSUER, "TIDEGATE_IDENTITY_AUDIENCE": "sts.amazonaws.com"}
NOON = utc("2027-01-15T12:00")


def issued(job, signer=None, digest=None):
    ports = memory_ports(SETTINGS, token_signer=signer or Signer(), clock=MemoryClock(NOON))
    return issue_tokens(ports, job, job_digest(job) if digest is None else digest)


def test_each_cloud_gets_a_token_of_its_own_audience():
    job = any_job(kind=JobKind.APPLY, run=RUN)
    tokens = issued(job).tokens
    audiences = {Cloud.AWS: "sts.amazonaws.com", Cloud.AZURE: "api://AzureADTokenExchange"}
    assert tokens.keys() == audiences.keys()
    for cloud, audience in audiences.items():
        options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        key = private_key("one").public_key()
        said = jwt.decode(tokens[cloud], key, ["RS256"], audience=audience, issuer=ISSUER, options=options)
        assert said["sub"].endswith(":phase:apply")
        assert said["iat"] == 1800014400 - 60


def test_a_job_that_works_by_role_chaining_gets_none():
    assert issue_tokens(memory_ports(SETTINGS), any_job(), "") == NOTHING


def test_without_a_key_the_reason_says_which_setting_gives_one():
    refused = issue_tokens(memory_ports(SETTINGS), any_job(run=RUN), job_digest(any_job(run=RUN)))
    assert "identity_keys" in refused.problem
    assert not refused.passes


@pytest.mark.parametrize("change", [{"kind": JobKind.APPLY}, {"repository": "acme/other"}, {"stack": "prod"}])
def test_what_was_altered_in_the_table_after_it_was_begun_gets_none(change):
    begun = any_job(kind=JobKind.SPECULATE, run=RUN)
    refused = issued(replace(begun, **change), digest=job_digest(begun))
    assert "modified" in refused.problem
    assert not refused.tokens


def test_a_job_whose_digest_nobody_knows_gets_none():
    assert "modified" in issued(any_job(run=RUN), digest="").problem


def test_a_subject_that_is_too_long_is_told():
    job = any_job(run=RUN, repository=f"acme/{'r' * 95}", stack="s" * 90, root=Root("r" * 90, "."))
    assert "shorter name" in issued(job).problem


def test_a_key_that_a_person_must_mend_is_told_and_one_that_may_answer_later_may_be_tried_again():
    refused = issued(any_job(run=RUN), Signer(failures=[SigningRefused("arn:key", "DisabledException")]))
    assert "DisabledException" in refused.problem
    assert not refused.passes
    later = issued(any_job(run=RUN), Signer(failures=[CloudUnavailable("KMS", "ThrottlingException")]))
    assert "ThrottlingException" in later.problem
    assert later.passes
