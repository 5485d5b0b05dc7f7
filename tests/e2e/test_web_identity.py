"""Workload identity in a whole installation: a real engine works in another account by the token of its job."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from tests.e2e.installation import Installation
from tests.e2e.modules import thing
from tests.e2e.project import Project, words
from tidegate.web.openid import DISCOVERY
from tidegate_local.client import LocalCloud

OTHER = "210987654321"
OTHERS = {"x-moto-account-id": OTHER}
ROLE = f"arn:aws:iam::{OTHER}:role"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
AWS = f"aws: {{account: '{OTHER}', plan_role: plan, apply_role: deploy, identity: web_identity}}\n"
SHOW = """
workflows:
  - tag_query: ''
    plan:
      - {type: init}
      - {type: plan}
      - {type: run, cmd: [sh, -c, "cp $AWS_WEB_IDENTITY_TOKEN_FILE %s"]}
"""


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    """An installation with two keys, which may plan and apply in another account."""
    roles = {"plan": ("plan", "pull_request"), "deploy": ("apply",)}
    context = {
        "identity_keys": ["2026-11", "2026-05"],
        **{
            f"{phase}_target_roles": [{"role": f"{ROLE}/{name}", "repositories": ["acme/*"]}]
            for name, phases in roles.items()
            for phase in phases
        },
    }
    log = tmp_path_factory.mktemp("identity") / "cloud.log"
    with LocalCloud(context=context, clock=False, log=log) as cloud:
        for name in roles:
            iam(cloud).create_role(RoleName=name, AssumeRolePolicyDocument="{}")
            iam(cloud).put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=json.dumps(EVERYTHING))
            trust(cloud, name, "apply" if name == "deploy" else "plan")
        yield Installation(cloud)


def iam(cloud: LocalCloud) -> Any:
    """Return a client that works in the other account."""
    client = cloud.client("iam")
    client.meta.events.register("before-send.iam", lambda request, **_: request.headers.update(OTHERS))
    return client


def trust(cloud: LocalCloud, name: str, phase: str) -> None:
    """Let a role in the other account trust tokens of one phase."""
    issuer = cloud.info["api_url"].partition("://")[2]
    provider = f"arn:aws:iam::{OTHER}:oidc-provider/{issuer}"
    condition = {
        "StringEquals": {f"{issuer}:aud": "sts.amazonaws.com"},
        "StringLike": {f"{issuer}:sub": f"repo:acme/*:stack:*:root:*:phase:{phase}"},
    }
    actions = ["sts:AssumeRoleWithWebIdentity", "sts:TagSession", "sts:SetSourceIdentity"]
    statement = {"Effect": "Allow", "Principal": {"Federated": provider}, "Action": actions, "Condition": condition}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam(cloud).update_assume_role_policy(RoleName=name, PolicyDocument=policy)


def get(url: str) -> Any:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
        return json.loads(answer.read())


def test_a_merge_is_planned_and_applied_in_another_account_with_tokens_that_the_issuer_vouches_for(
    installation, tmp_path
):
    project = Project(installation, "acme/by-token")
    kept = tmp_path / "token"
    sha = project.push({"live/app": thing()}, **{"tidegate.yaml": AWS + SHOW % kept})
    project.click(project.reviewed(sha, "live/app"), "Approve")
    assert project.ended(sha, "live/app")["conclusion"] == "success"
    assert project.value("live/app") == "one"

    token, issuer = kept.read_text(), installation.cloud.info["api_url"]
    found = get(f"{issuer}{DISCOVERY}")
    keys = jwt.PyJWKSet.from_dict(get(found["jwks_uri"]))
    assert len(keys.keys) == 2
    key = keys[jwt.get_unverified_header(token)["kid"]]
    said = jwt.decode(token, key.key, ["RS256"], audience="sts.amazonaws.com", issuer=found["issuer"])
    assert said["sub"] == "repo:acme/by-token:stack:default:root:live/app:phase:plan"
    assert (said["sha"], said["ref"], said["phase"]) == (sha, "refs/heads/main", "plan")
    with pytest.raises(jwt.InvalidTokenError):
        jwt.decode(token, key.key, ["RS256"], audience="another")


def test_a_role_that_does_not_trust_the_phase_refuses_and_the_check_run_says_what_the_token_says(installation):
    project = Project(installation, "acme/refused")
    trust(installation.cloud, "plan", "pull_request")
    try:
        sha = project.push({"live/app": thing()}, **{"tidegate.yaml": AWS})
        told = words(project.ended(sha, "live/app"))
    finally:
        trust(installation.cloud, "plan", "plan")
    assert "AssumeRoleWithWebIdentity" in told
    assert "phase:plan" in told
