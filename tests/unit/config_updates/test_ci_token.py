"""Which CI runs may announce images: claims, judged. Case 11 is the edge cases'."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes import MemoryForge
from tests.fakes.config_updates import MemoryCiTokens
from tests.fakes.ports import With
from tests.unit.config_updates.verbs import APP_SHA, OTHER_SHA, REPOSITORY, updates_ports
from tidegate.config_updates.rules.ci_token import CiRun, CiRunRefused, InvalidCiToken, run_of
from tidegate.config_updates.verify_announcer import verify_announcer
from tidegate.rules.errors import ForgeRefused

GITHUB = {
    "repository": "acme/shop",
    "ref": "refs/heads/main",
    "sha": APP_SHA,
    "run_number": "42",
    "actor": "developer",
}
GITLAB = {
    "project_path": "acme/shop",
    "ref": "main",
    "ref_type": "branch",
    "ref_path": "refs/heads/main",
    "sha": APP_SHA,
    "pipeline_id": "1519139981",
    "user_login": "developer",
}


def verified(claims, *, gitlab=False, image_set="shop", repository=REPOSITORY, app_sha=APP_SHA):
    ports = updates_ports(ci_tokens=MemoryCiTokens({"token": claims}, gitlab))
    return verify_announcer(ports, "token", repository, image_set, app_sha)


def test_the_run_of_each_provider_is_read_from_its_claims():
    assert verified(GITHUB) == CiRun("acme/shop", "refs/heads/main", APP_SHA, 42, "developer")
    assert verified(GITLAB, gitlab=True) == CiRun("acme/shop", "refs/heads/main", APP_SHA, 1519139981, "developer")
    without = {name: value for name, value in GITLAB.items() if name not in {"ref_path", "user_login"}}
    assert run_of(without, gitlab=True) == CiRun("acme/shop", "refs/heads/main", APP_SHA, 1519139981, "")
    assert run_of({**without, "ref_type": "tag"}, gitlab=True).branch == ""
    assert verified({**GITHUB, "repository": "Acme/Shop", "ref": "refs/heads/release/1"}).branch == "release/1"


@pytest.mark.parametrize("claim", ["repository", "ref", "sha", "run_number"])
def test_a_token_without_a_claim_that_is_needed_is_not_valid(claim):
    for value in ({}, {claim: ""}, {claim: ["x"]}):
        claims = {name: each for name, each in GITHUB.items() if name != claim} | value
        with pytest.raises(InvalidCiToken, match=claim):
            verified(claims)


def test_case_11_another_ref_or_commit_is_refused_with_what_was_expected_and_what_came():
    for ref in ("refs/heads/feature", "refs/tags/main", "refs/pull/7/merge", "main", "refs/heads/Main"):
        with pytest.raises(CiRunRefused, match=rf"for '{ref}'.*main, release/\*"):
            verified({**GITHUB, "ref": ref})
    with pytest.raises(CiRunRefused, match=f"{OTHER_SHA}.*not for {APP_SHA}"):
        verified({**GITHUB, "sha": OTHER_SHA})
    with pytest.raises(InvalidCiToken):
        verify_announcer(updates_ports(), "forged", REPOSITORY, "shop", APP_SHA)


def test_case_11_another_repository_is_not_told_what_there_is():
    refusals = []
    for repository, image_set in ((REPOSITORY, "shop"), (REPOSITORY, "none"), ("acme/none", "shop")):
        with pytest.raises(CiRunRefused) as refused:
            verified({**GITHUB, "repository": "evil/shop"}, repository=repository, image_set=image_set)
        refusals.append(str(refused.value).replace(repository, "R").replace(f"set {image_set} ", "set S "))
    assert len(set(refusals)) == 1
    assert "acme/shop" not in refusals[0]


def test_without_refs_only_the_default_branch_announces():
    claims = {**GITHUB, "repository": "acme/blog"}
    ports = updates_ports(ci_tokens=MemoryCiTokens({"token": claims}))
    assert verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA).branch == "main"
    ports.ci_tokens.tokens["token"] = {**claims, "ref": "refs/heads/other"}
    with pytest.raises(CiRunRefused, match="accepted from: main"):
        verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA)


def test_a_default_branch_that_cannot_be_read_is_refused_with_what_to_do():
    def refuses(repository):
        raise ForgeRefused(404, f"no {repository}")

    tokens = MemoryCiTokens({"token": {**GITHUB, "repository": "acme/blog"}})
    ports = updates_ports(ci_tokens=tokens, commits=With(MemoryForge(), default_branch=refuses))
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(head, replace(head, default_branch="main"))
    with pytest.raises(CiRunRefused, match=r"List its branches under app\.refs"):
        verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA)
