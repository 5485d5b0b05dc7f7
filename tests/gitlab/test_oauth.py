"""Signing in: the code, the token that it stands for, and whose it is."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

from tidegate_local.gitlab.client import ForgeAnswered, GitLabClient
from tidegate_local.gitlab.settings import Settings

BACK = "http://127.0.0.1:9/back"


@pytest.fixture
def code(gitlab):
    """A code for the reviewer."""
    fields = {"client_id": Settings().client_id, "redirect_uri": BACK, "state": "s", "scope": "read_user"}
    page = f"/oauth/authorize?{urllib.parse.urlencode({**fields, 'response_type': 'code'})}"
    reviewer = GitLabClient(gitlab.url, "reviewer")
    back = urllib.parse.urlsplit(reviewer.submit_and_stay(page, "/oauth/authorize", fields))
    query = urllib.parse.parse_qs(back.query)
    assert query["state"] == ["s"]
    return query["code"][0]


def exchange(gitlab, given, **more):
    """Return status and answer of an exchange."""
    known = {"client_id": Settings().client_id, "client_secret": Settings().client_secret, "redirect_uri": BACK}
    fields = {**known, "grant_type": "authorization_code", "code": given, **more}
    request = urllib.request.Request(f"{gitlab.url}/oauth/token", urllib.parse.urlencode(fields).encode())
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def whose(gitlab, token):
    request = urllib.request.Request(f"{gitlab.api_url}/user", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["username"]


def test_a_code_stands_once_for_a_token_that_tells_who_somebody_is(gitlab, api, code, sha):
    status, answer = exchange(gitlab, code)
    assert (status, answer["token_type"], answer["scope"]) == (200, "Bearer", "read_user")
    assert whose(gitlab, answer["access_token"]) == "reviewer"
    assert exchange(gitlab, code)[1]["error"] == "invalid_grant"
    assert api.ask("GET", "/projects", token=answer["access_token"])[2]["error"] == "insufficient_scope"


@pytest.mark.parametrize(
    ("more", "status", "error"),
    [
        ({"client_secret": "guess"}, 401, "invalid_client"),
        ({"redirect_uri": "http://127.0.0.1:9/other"}, 400, "invalid_grant"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"code": "guess"}, 400, "invalid_grant"),
    ],
)
def test_an_exchange_that_is_not_right_is_refused(gitlab, code, *, more, status, error):
    came, answer = exchange(gitlab, code, **more)
    assert (came, answer["error"]) == (status, error)


@pytest.mark.parametrize(
    "fields",
    [{"client_id": "other"}, {"redirect_uri": "https://example.com/"}, {"response_type": "token"}],
    ids=["client", "address elsewhere", "kind"],
)
def test_unknown_applications_and_addresses_get_no_page(gitlab, fields):
    known = {"client_id": Settings().client_id, "redirect_uri": BACK, "response_type": "code", **fields}
    with pytest.raises(ForgeAnswered):
        GitLabClient(gitlab.url).page(f"/oauth/authorize?{urllib.parse.urlencode(known)}")


def test_a_script_signs_in_as_anybody(gitlab, person):
    assert whose(gitlab, person("developer").user_token()) == "developer"
