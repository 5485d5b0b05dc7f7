"""Signatures, payloads, and which events are acted on."""

from __future__ import annotations

import contextlib
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.rules.errors import InvalidWebhook, OversizedWebhook, UnverifiedWebhook
from tidegate.vcs.rules.webhook import (
    MAXIMUM_BODY,
    check_signature,
    check_size,
    delivery_id,
    parse_payload,
)

BODY = b'{"zen": "Keep it logically awesome."}'


def signature(body: bytes, secret: str, algorithm: str = "sha256") -> str:
    return f"{algorithm}={hmac.new(secret.encode(), body, algorithm).hexdigest()}"


@pytest.mark.parametrize("secrets", [["current"], ["current", "previous"], ["next", "current"]])
def test_a_signature_under_any_configured_secret_holds(secrets):
    check_signature(BODY, signature(BODY, "current"), secrets)


@pytest.mark.parametrize(
    "given_signature",
    [
        None,
        "",
        "sha256=",
        signature(BODY, "another"),
        signature(BODY, ""),
        signature(BODY, "current", "sha1"),
        signature(BODY + b" ", "current"),
        signature(BODY, "current").removeprefix("sha256="),
        signature(BODY, "current").upper(),
        f" {signature(BODY, 'current')}",
        "sha256=é\udcff",
    ],
)
def test_a_missing_sha1_altered_or_foreign_signature_is_refused(given_signature):
    with pytest.raises(UnverifiedWebhook):
        check_signature(BODY, given_signature, ["current"])


def test_without_secrets_no_signature_holds():
    with pytest.raises(UnverifiedWebhook):
        check_signature(BODY, signature(BODY, ""), [])


def test_the_example_of_githubs_documentation_holds():
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    check_signature(b"Hello, World!", expected, ["It's a Secret to Everybody"])
    assert expected.endswith(hmac.new(b"It's a Secret to Everybody", b"Hello, World!", hashlib.sha256).hexdigest())


def test_a_body_of_ten_megabytes_is_refused():
    check_size(MAXIMUM_BODY)
    with pytest.raises(OversizedWebhook):
        check_size(10_000_000)


@pytest.mark.parametrize("text", [None, "", "short", "a" * 65, "a b c d e f", "x\ny-0123456789", "72d3162e/cc78"])
def test_what_cannot_be_a_delivery_id_is_refused(text):
    with pytest.raises(InvalidWebhook):
        delivery_id(text)


def test_a_guid_is_a_delivery_id():
    assert delivery_id("72d3162e-cc78-11e3-81ab-4c9367dc0958")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"payload=%7B%7D",
        b'{"a": "\xff"}',
        '{"a": 1}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_json_object_in_utf8_is_refused(body):
    with pytest.raises(InvalidWebhook):
        parse_payload(body)


def test_half_a_character_becomes_a_question_mark_and_whole_ones_stay():
    assert parse_payload(rb'{"title": "a \ud800 \ud83d\ude00"}') == {"title": "a ? \U0001f600"}


@given(st.binary(max_size=200))
def test_whatever_the_body_is_it_is_parsed_or_refused(body):
    with contextlib.suppress(InvalidWebhook):
        assert isinstance(parse_payload(body), dict)
