"""Tokens of GitLab CI's jobs (``id_tokens``)."""

from __future__ import annotations

import json
import urllib.request

import jwt
import pytest

from tests.gitlab.conftest import PROJECT
from tidegate.config_updates.rules.ci_token import run_of
from tidegate_local.gitlab.client import ForgeAnswered


def test_a_token_is_verified_by_the_issuers_keys_and_tells_of_its_run(gitlab, maintainer, sha):
    token = maintainer.job_token(PROJECT, sha, "tidegate", pipeline_id="7", ref="v1", ref_type="tag")
    with urllib.request.urlopen(f"{gitlab.url}/.well-known/openid-configuration") as answer:
        known = json.loads(answer.read())
    key = jwt.PyJWKClient(known["jwks_uri"]).get_signing_key_from_jwt(token)
    claims = jwt.decode(token, key.key, ["RS256"], audience="tidegate", issuer=gitlab.url)
    assert known["issuer"] == gitlab.url
    run = run_of(claims, gitlab=True)
    assert (run.repository, run.sha, run.number, run.ref) == (PROJECT, sha, 7, "refs/tags/v1")
    assert claims["sub"] == f"project_path:{PROJECT}:ref_type:tag:ref:v1"


def test_there_is_no_token_of_a_project_that_does_not_exist(maintainer, sha):
    with pytest.raises(ForgeAnswered, match="404"):
        maintainer.job_token("acme/none", sha, "tidegate")
