"""Destinations, signatures and pauses."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.notifications.told import DESTINATIONS
from tidegate.notifications.rules.delivery import LONGEST_PAUSE, pause_after
from tidegate.notifications.rules.destination import (
    DestinationRefused,
    destination,
    from_text,
    names_from_text,
    names_to_text,
    to_text,
    url_problem,
)
from tidegate.notifications.rules.signing import signed_headers, signing_key

HOOK = {"kind": "webhook", "url": "https://hooks.example/x", "secret": "hooks"}


def test_functions_read_destinations_as_the_installation_wrote_them():
    assert from_text(to_text(DESTINATIONS.values())) == DESTINATIONS
    assert from_text("") == {}
    declared = names_from_text(names_to_text(DESTINATIONS.values()))
    assert declared.listed == {name: each.repositories for name, each in DESTINATIONS.items()}
    assert names_from_text("").listed == {}


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("Capital", HOOK, "name"),
        ("a", {**HOOK, "kind": "pager"}, "kind"),
        ("a", {}, "kind"),
        ("a", {**HOOK, "channel": "C1"}, "unknown key 'channel'"),
        ("a", {"kind": "webhook", "secret": "x"}, "url is missing"),
        ("a", {"kind": "slack", "channel": "#deploys", "secret": "x"}, "channel"),
        ("a", {"kind": "email", "email": "nobody"}, "e-mail"),
        ("a", {**HOOK, "secret": "a b"}, "secret"),
        ("a", {**HOOK, "repositories": []}, "repositories"),
        ("a", {**HOOK, "repositories": "acme/*"}, "repositories"),
        ("a", {**HOOK, "repositories": ["acme/*", "a b"]}, "'a b'"),
        ("a", {**HOOK, "repositories": [7]}, "'7'"),
        ("a", {**HOOK, "url": "http://hooks.example/x"}, "https"),
    ],
)
def test_a_destination_that_cannot_be_used_is_refused_with_the_reason(name, given, problem):
    with pytest.raises(DestinationRefused, match=problem):
        destination(name, given)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://",
        "https://user@example.com/",
        "https://example.com@evil.example/",
        "https://example.com/#x",
        "https://example.com\\@evil.example/",
        "https://example.com/ x",
        "ftp://example.com/",
        "https://example.com:port/",
        "//example.com/",
    ],
)
def test_only_plain_https_urls_are_called(url):
    assert url_problem(url, is_local=True)


def test_plain_http_is_for_the_loopback_interface_of_the_local_cloud():
    assert not url_problem("https://example.com:8443/hooks?x=1", is_local=False)
    for url in ("http://127.0.0.1:8080/x", "http://localhost/x"):
        assert (bool(url_problem(url, is_local=False)), url_problem(url, is_local=True)) == (True, "")
    for url in ("http://127.0.0.1.evil.example/", "http://127.0.0.1@evil.example/", "http://169.254.169.254/"):
        assert url_problem(url, is_local=True)


def test_webhooks_are_signed_as_the_example_of_standard_webhooks():
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_?", base64.b64encode(b"x" * 32).decode()])
def test_a_secret_in_another_form_signs_nothing(secret):
    with pytest.raises(ValueError, match="whsec_"):
        signing_key(secret)


@given(st.integers(1, 10_000), st.none() | st.integers(-5, 10**9))
def test_a_pause_is_one_that_sqs_can_keep(attempts, asked):
    assert 1 <= pause_after(attempts, asked) <= LONGEST_PAUSE


@given(st.integers(1, 1000))
def test_pauses_never_shrink(attempts):
    assert pause_after(attempts) <= pause_after(attempts + 1)
