"""Tokens of CI runs, verified with keys from a server on this machine. What is refused says what was expected."""

from __future__ import annotations

import json
import time

import jwt
import pytest

from tests.http_server import server
from tests.identity_keys import private_key, public_key
from tidegate.config_updates.adapters.ci_tokens import KEPT_SECONDS, PAUSE_SECONDS, REFETCH_SECONDS, OpenIdCiTokens
from tidegate.config_updates.rules.ci_token import InvalidCiToken
from tidegate.rules.errors import ForgeUnavailable
from tidegate.web.key_set import key_set

AUDIENCE, ISSUER = "https://tidegate.example", "https://token.example"


class Provider:
    """A provider with keys by name. ``status`` is that of its answers, ``now`` the time of the verifier."""

    def __init__(self):
        self.keys, self.status, self.now, self.more, self.headers = ["one"], 200, 0.0, b"", {}

    def answer(self, _):
        content = self.more + json.dumps(key_set([public_key(each) for each in self.keys])).encode()
        return self.status, self.headers, content

    def tokens(self, url):
        return OpenIdCiTokens(ISSUER, url, AUDIENCE, gitlab=False, monotonic=lambda: self.now)


@pytest.fixture
def provider():
    return Provider()


@pytest.fixture
def served(provider):
    with server(provider.answer) as (url, received):
        provider.url, provider.received = f"{url}/.well-known/jwks", received
        yield provider.tokens(provider.url)


def token(key="one", algorithm="RS256", headers=None, **claims):
    now = int(time.time())
    given = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 300, "sha": "c" * 40, **claims}
    given = {name: value for name, value in given.items() if value is not None}
    signing = "a secret of more than 32 characters" if algorithm == "HS256" else private_key(key)
    return jwt.encode(given, signing if algorithm != "none" else None, algorithm, {"kid": key, **(headers or {})})


def test_the_claims_of_a_signed_token_are_returned_and_keys_are_fetched_once(served, provider):
    assert [served.claims(token())["sha"] for _ in range(3)] == ["c" * 40] * 3
    assert served.claims(token(aud=["other", AUDIENCE]))["sha"] == "c" * 40
    assert len(provider.received) == 1


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "https://other.example"}, f"audience must be {AUDIENCE}, and it is 'https://other.example'"),
        ({"aud": ["x"]}, f"audience must be {AUDIENCE}"),
        ({"iss": "https://evil.example"}, f"issuer must be {ISSUER}, and it is 'https://evil.example'"),
        ({"exp": int(time.time()) - 61}, "expired"),
        ({"nbf": int(time.time()) + 86_400}, "not yet valid"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"aud": None}, "aud"),
    ],
)
def test_a_token_for_somebody_else_or_another_time_is_refused(served, claims, why):
    with pytest.raises(InvalidCiToken, match=why):
        served.claims(token(**claims))


def test_clocks_may_differ_by_a_minute(served):
    now = int(time.time())
    assert served.claims(token(exp=now - 50))
    assert served.claims(token(nbf=now + 50, iat=now + 50))


def test_case_11_what_its_key_has_not_signed_is_refused(served):
    head, body, signature = token().split(".")
    forged = [
        token("two", headers={"kid": "one"}),
        token(algorithm="HS256"),
        token(algorithm="none"),
        f"{head}.{body}.",
        f"{head}.{body[:-2]}AA.{signature}",
        f"{head}.{token(sha='d' * 40).split('.')[1]}.{signature}",
        "a.b.c",
        "nonsense",
        "",
        "x" * 20_000,
        jwt.encode({}, private_key("one"), "RS256"),
    ]
    for each in forged:
        with pytest.raises(InvalidCiToken):
            served.claims(each)


def test_a_new_key_is_looked_for_once_and_not_again_at_once(served, provider):
    served.claims(token())
    provider.keys = ["one", "two"]
    with pytest.raises(InvalidCiToken, match="has no key 'two'"):
        served.claims(token("two"))
    provider.now = REFETCH_SECONDS + 1
    assert served.claims(token("two"))
    for _ in range(5):
        with pytest.raises(InvalidCiToken, match="has no key 'three'"):
            served.claims(token("three"))
    assert len(provider.received) == 2


def test_a_withdrawn_key_is_refused_after_a_while(served, provider):
    served.claims(token())
    provider.keys = ["two"]
    assert served.claims(token())
    provider.now = KEPT_SECONDS + 1
    with pytest.raises(InvalidCiToken, match="has no key 'one'"):
        served.claims(token())


def test_keys_that_cannot_be_had_let_nobody_in(served, provider):
    for status, headers, more in (
        (500, {}, b""),
        (302, {"location": provider.url}, b""),
        (200, {}, b"no JSON"),
        (200, {}, b" " * 300_000),
    ):
        provider.status, provider.headers, provider.more = status, headers, more
        provider.now += PAUSE_SECONDS
        with pytest.raises(ForgeUnavailable):
            served.claims(token())
    provider.now += PAUSE_SECONDS
    provider.status, provider.more = 200, b""
    assert served.claims(token())
    for url in ("http://token.example/jwks", "file:///etc/passwd"):
        with pytest.raises(ForgeUnavailable, match="https"):
            provider.tokens(url).claims(token())


def test_tokens_of_strangers_do_not_keep_asking_a_provider_that_fails(served, provider):
    provider.status = 500
    for key in ("one", "two", "three"):
        with pytest.raises(ForgeUnavailable):
            served.claims(token(key))
    assert len(provider.received) == 1
    provider.status, provider.now = 200, PAUSE_SECONDS
    assert served.claims(token())


def test_an_installation_without_a_url_accepts_no_token(provider):
    with pytest.raises(InvalidCiToken, match="no web URL"):
        OpenIdCiTokens(ISSUER, "https://x", "", gitlab=False).claims(token())
