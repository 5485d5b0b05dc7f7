"""Which CI runs may announce images: claims, judged. Case 11 is the edge cases'."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cachetools import TTLCache

from tests.fakes import MemoryForge
from tests.fakes.config_updates import MemoryCiTokens
from tests.fakes.ports import With
from tests.unit.config_updates.verbs import APP_SHA, OTHER_SHA, REPOSITORY, updates_ports
from tidegate.config_updates.rules.ci_token import CiRun, CiRunRefused, InvalidCiToken, run_of
from tidegate.config_updates.verify_announcer import verify_announcer
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable

GITHUB = {
    "repository": "acme/shop",
    "ref": "refs/heads/main",
    "sha": APP_SHA,
    "run_number": "42",
    "event_name": "push",
    "actor": "developer",
}
GITLAB = {
    "project_path": "acme/shop",
    "ref": "main",
    "ref_type": "branch",
    "ref_path": "refs/heads/main",
    "sha": APP_SHA,
    "pipeline_id": "1519139981",
    "pipeline_source": "push",
    "user_login": "developer",
}


def verified(claims, *, gitlab=False, image_set="shop", repository=REPOSITORY, app_sha=APP_SHA):
    ports = updates_ports(ci_tokens=MemoryCiTokens({"token": claims}, gitlab))
    return verify_announcer(ports, "token", repository, image_set, app_sha, {})


def test_the_run_of_each_provider_is_read_from_its_claims():
    assert verified(GITHUB) == CiRun("acme/shop", "refs/heads/main", APP_SHA, 42, "push", "developer")
    run = CiRun("acme/shop", "refs/heads/main", APP_SHA, 1519139981, "push", "developer")
    assert verified(GITLAB, gitlab=True) == run
    without = {name: value for name, value in GITLAB.items() if name not in {"ref_path", "user_login"}}
    assert run_of(without, gitlab=True) == replace(run, by="")
    assert run_of({**without, "ref_type": "tag"}, gitlab=True).branch == ""
    assert verified({**GITHUB, "repository": "Acme/Shop", "ref": "refs/heads/release/1"}).branch == "release/1"


@pytest.mark.parametrize("claim", ["repository", "ref", "sha", "run_number", "event_name"])
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
        verify_announcer(updates_ports(), "forged", REPOSITORY, "shop", APP_SHA, {})


def test_case_11_another_repository_is_not_told_what_there_is():
    refusals = []
    for repository, image_set in ((REPOSITORY, "shop"), (REPOSITORY, "none"), ("acme/none", "shop"), ("x/y", "shop")):
        with pytest.raises(CiRunRefused) as refused:
            verified({**GITHUB, "repository": "evil/shop"}, repository=repository, image_set=image_set)
        refusals.append(str(refused.value).replace(repository, "R").replace(f"set {image_set} ", "set S "))
    assert len(set(refusals)) == 1
    assert "acme/shop" not in refusals[0]


def test_who_announces_another_set_is_told_its_name():
    with pytest.raises(CiRunRefused, match=r"acme/shop announces no image set shp. It announces: shop "):
        verified(GITHUB, image_set="shp")


@pytest.mark.parametrize("configuration", [None, "config_updates: {secret: 1}", "{}"])
def test_a_stranger_is_not_told_what_is_wrong_with_a_repository(configuration):
    told = []
    for given in ({"configuration": configuration}, {}, {"commits": With(MemoryForge(), default_branch=_refuses)}):
        ports = updates_ports(ci_tokens=MemoryCiTokens({"token": {**GITHUB, "repository": "evil/shop"}}), **given)
        with pytest.raises(CiRunRefused) as refused:
            verify_announcer(ports, "token", REPOSITORY, "shop", APP_SHA, {})
        told.append(str(refused.value))
    assert len(set(told)) == 1


def test_strangers_that_ask_again_from_many_repositories_cost_no_calls_of_the_app():
    ports, known = updates_ports(), {}
    for stranger, image_set in (("evil/shop", "shop"), ("evil/shop", "none"), ("evil/another", "shop")):
        ports.ci_tokens.tokens["token"] = {**GITHUB, "repository": stranger}
        with pytest.raises(CiRunRefused):
            verify_announcer(ports, "token", REPOSITORY, image_set, APP_SHA, known)
        ports.config_branches.heads.clear()
    ports.ci_tokens.tokens["token"] = GITHUB
    with pytest.raises(ForgeUnavailable):
        verify_announcer(ports, "token", REPOSITORY, "shop", APP_SHA, known)


def test_who_corrects_the_file_can_announce_a_minute_later_although_ci_asks_again_before():
    now = [0.0]
    strangers = TTLCache(9, 60, lambda: now[0])
    wrong = updates_ports(configuration="config_updates: {", ci_tokens=MemoryCiTokens({"token": GITHUB}))
    corrected = updates_ports(ci_tokens=MemoryCiTokens({"token": GITHUB}))
    for ports, seconds in ((wrong, 0), (corrected, 40), (corrected, 59)):
        now[0] = seconds
        with pytest.raises(CiRunRefused, match="a minute later"):
            verify_announcer(ports, "token", REPOSITORY, "shop", APP_SHA, strangers)
    now[0] = 61
    assert verify_announcer(corrected, "token", REPOSITORY, "shop", APP_SHA, strangers).sha == APP_SHA


def test_a_repository_is_announced_to_by_the_name_that_the_provider_uses():
    """GitHub answers to a name in other letters as well, which would have a queue of its own, without holds."""
    for repository in (REPOSITORY.upper(), REPOSITORY.title()):
        with pytest.raises(CiRunRefused):
            verified(GITHUB, repository=repository)


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "pull_request_review"])
def test_a_run_for_a_pull_request_announces_nothing_although_it_names_its_base(event):
    with pytest.raises(CiRunRefused, match=event):
        verified({**GITHUB, "event_name": event})


@pytest.mark.parametrize("event", ["merge_request_event", "external_pull_request_event", "parent_pipeline"])
def test_a_merge_requests_pipeline_announces_nothing_although_its_source_branch_is_called_main(event):
    with pytest.raises(CiRunRefused, match=event):
        verified({**GITLAB, "pipeline_source": event}, gitlab=True)


def _refuses(repository):
    raise ForgeRefused(404, f"no {repository}")


def test_without_refs_only_the_default_branch_announces():
    claims = {**GITHUB, "repository": "acme/blog"}
    ports = updates_ports(ci_tokens=MemoryCiTokens({"token": claims}))
    assert verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA, {}).branch == "main"
    ports.ci_tokens.tokens["token"] = {**claims, "ref": "refs/heads/other"}
    with pytest.raises(CiRunRefused, match="accepted from: main"):
        verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA, {})


def test_a_default_branch_that_cannot_be_read_is_refused_with_what_to_do():
    tokens = MemoryCiTokens({"token": {**GITHUB, "repository": "acme/blog"}})
    ports = updates_ports(ci_tokens=tokens, commits=With(MemoryForge(), default_branch=_refuses))
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(head, replace(head, default_branch="main"))
    with pytest.raises(CiRunRefused, match=r"List its branches under app\.refs"):
        verify_announcer(ports, "token", REPOSITORY, "blog", APP_SHA, {})
