"""Signing in with a GitLab: a code becomes a token, once, and the token somebody."""

from __future__ import annotations

import urllib.parse
import urllib.request

import pytest

from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.adapters.accounts import GitLabAccounts, OAuthClient
from tidegate_local.gitlab.client import GitLabClient


@pytest.fixture
def server(tmp_path, forges):
    with forges.tried("gitlab", tmp_path) as scenario:
        yield scenario.server


@pytest.fixture
def accounts(server):
    client = OAuthClient(server.settings.client_id, server.settings.client_secret)
    return GitLabAccounts(lambda: client, url=server.url, api_url=server.api_url)


def test_a_code_that_is_none_is_no_token(accounts):
    assert accounts.exchange("none", "http://127.0.0.1:9/login/callback") is None


def test_a_persons_token_is_that_person(accounts):
    assert accounts.login_of("developer") == "developer"
    assert accounts.login_of("nobodys-token") is None


def test_the_address_of_the_sign_in_is_a_page(server, accounts):
    address = accounts.authorize_url("a-state", "http://127.0.0.1:9/login/callback")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)
    assert (query["state"], query["scope"]) == (["a-state"], ["read_user"])
    with urllib.request.urlopen(address, timeout=60) as page:
        assert page.status == 200


def test_while_gitlab_does_not_answer_nobody_is_turned_away(accounts, server):
    server.stop()
    with pytest.raises(ForgeUnavailable):
        accounts.exchange("code", "http://127.0.0.1:9/login/callback")


def test_a_code_is_a_token_once(accounts, server):
    state, redirect = "a-state", "http://127.0.0.1:9/login/callback"
    page = accounts.authorize_url(state, redirect)
    known = {"client_id": server.settings.client_id, "redirect_uri": redirect, "state": state, "scope": "read_user"}
    person = GitLabClient(server.url, "developer")
    back = person.submit_and_stay(page.removeprefix(server.url), "/oauth/authorize", {**known, "user": "developer"})
    (code,) = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"]
    token = accounts.exchange(code, redirect)
    assert token is not None
    assert accounts.login_of(token) == "developer"
    assert accounts.exchange(code, redirect) is None
