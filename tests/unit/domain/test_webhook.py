"""Signatures, payloads, and which events are acted on."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.domain.errors import InvalidWebhook, OversizedWebhook, UnverifiedWebhook
from tidegate.domain.webhook import (
    MAXIMUM_BODY,
    Accepted,
    Ignored,
    Refused,
    check_signature,
    check_size,
    delivery_id,
    parse_payload,
    read_event,
)

BODY = b'{"zen": "Keep it logically awesome."}'
BEFORE, AFTER = "a" * 40, "b" * 40
PUSH = {
    "ref": "refs/heads/main",
    "before": BEFORE,
    "after": AFTER,
    "created": False,
    "deleted": False,
    "forced": False,
    "repository": {"full_name": "acme/infra", "default_branch": "main", "clone_url": "https://elsewhere.example/x"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
    "commits": [{"id": AFTER, "message": "not used"}],
}
PRESS = {
    "action": "requested_action",
    "requested_action": {"identifier": "Confirm"},
    "check_run": {
        "id": 128620228,
        "external_id": "network-bbbbbbb-0123456789ab",
        "name": "tidegate/deploy: network",
        "head_sha": AFTER,
    },
    "repository": {"full_name": "acme/infra"},
    "sender": {"login": "octocat"},
    "installation": {"id": 42},
}


def signature(body: bytes, secret: str, algorithm: str = "sha256") -> str:
    return f"{algorithm}={hmac.new(secret.encode(), body, algorithm).hexdigest()}"


def changed(event: dict, path: str, value: object) -> dict:
    """Return the event with the value at a dotted path replaced; ``...`` removes it."""
    result = copy.deepcopy(event)
    *outer, last = path.split(".")
    place = result
    for key in outer:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return result


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


@given(st.binary(max_size=200))
def test_whatever_the_body_is_it_is_parsed_or_refused(body):
    with contextlib.suppress(InvalidWebhook):
        assert isinstance(parse_payload(body), dict)


def test_a_push_to_the_default_branch_is_accepted_with_the_few_fields_that_are_used():
    fields = {
        "repository": "acme/infra",
        "before": BEFORE,
        "after": AFTER,
        "branch": "main",
        "installation": 42,
        "sender": "octocat",
        "forced": False,
    }
    assert read_event("push", PUSH) == Accepted("push", fields)


def test_a_forced_push_and_a_new_branch_are_accepted():
    assert read_event("push", changed(PUSH, "forced", True)).fields["forced"] is True
    assert read_event("push", changed(PUSH, "before", "0" * 40)).fields["before"] == "0" * 40


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("ping", {}),
        ("", {}),
        ("pull_request", {"action": "opened"}),
        ("push", changed(PUSH, "ref", "refs/heads/feature")),
        ("push", changed(PUSH, "ref", "refs/heads/$(x)\nmain")),
        ("push", changed(PUSH, "ref", "refs/tags/main")),
        ("push", changed(PUSH, "ref", "main")),
        ("push", changed(PUSH, "deleted", True)),
        ("push", changed(PUSH, "after", "0" * 40)),
        ("check_run", changed(PRESS, "action", "created")),
        ("check_run", changed(PRESS, "action", "rerequested")),
        ("check_run", changed(PRESS, "check_run.name", "build")),
    ],
)
def test_what_nothing_follows_from_is_ignored_with_a_reason(event, payload):
    decision = read_event(event, payload)
    assert isinstance(decision, Ignored)
    assert decision.reason


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        *(
            ("push", changed(PUSH, "repository.full_name", name))
            for name in (
                "infra",
                "../..",
                "acme/a&&id",
                "acme/$(x)",
                "acme/in fra",
                "acme/\n",
                "acme/🚀",
                "a/" + "b" * 300,
            )
        ),
        *(
            ("push", changed(PUSH, key, text))
            for key in ("before", "after")
            for text in ("main", "-chdir=x", "b" * 39, "B" * 40, "$(x)", "b" * 40 + "\n")
        ),
        *(("push", changed(PUSH, "sender.login", text)) for text in ("a b", "@here", "x\ny", "é")),
        ("check_run", changed(PRESS, "check_run.external_id", "../..")),
        ("check_run", changed(PRESS, "check_run.head_sha", "HEAD")),
        ("check_run", changed(PRESS, "check_run.name", "tidegate/deploy: a\nb")),
        ("check_run", changed(PRESS, "check_run.name", "tidegate/deploy: " + "a" * 300)),
        ("check_run", changed(PRESS, "requested_action.identifier", "x" * 300)),
    ],
)
def test_a_hostile_name_is_refused_with_a_reason_in_plain_ascii(event, payload):
    decision = read_event(event, payload)
    assert isinstance(decision, Refused)
    assert "\n" not in decision.reason


def on_default_branch(name: str) -> dict:
    return changed(changed(PUSH, "ref", f"refs/heads/{name}"), "repository.default_branch", name)


@pytest.mark.parametrize("name", ["a&&id", "$(x)", "-chdir=x", "release/🚀", "b" * 300, "ma;in", "a'b\"c"])
def test_a_strange_branch_that_git_allows_is_data_like_any_other(name):
    assert read_event("push", on_default_branch(name)).fields["branch"] == name


@pytest.mark.parametrize(
    "name", ["../..", "a\nb", "a b", "a..b", "a~1", "a^", "a:b", "a?", "[a", "a\\b", "\ud800", "b" * 2000]
)
def test_a_branch_that_git_does_not_allow_is_refused(name):
    assert isinstance(read_event("push", on_default_branch(name)), Refused)


@pytest.mark.parametrize(
    "path", ["ref", "before", "after", "repository", "repository.full_name", "sender", "installation"]
)
@pytest.mark.parametrize("value", [..., None, 7, [], {}])
def test_a_push_without_what_pushes_have_is_refused_as_invalid(path, value):
    with pytest.raises(InvalidWebhook):
        read_event("push", changed(PUSH, path, value))


@pytest.mark.parametrize("value", [True, 0, -1, 1 << 70, "42", None])
def test_an_id_that_is_no_positive_number_is_refused_as_invalid(value):
    with pytest.raises(InvalidWebhook):
        read_event("push", changed(PUSH, "installation.id", value))
    with pytest.raises(InvalidWebhook):
        read_event("check_run", changed(PRESS, "check_run.id", value))


def test_a_press_of_our_button_is_accepted_with_the_few_fields_that_are_used():
    fields = {
        "repository": "acme/infra",
        "id": 128620228,
        "external_id": "network-bbbbbbb-0123456789ab",
        "name": "tidegate/deploy: network",
        "head_sha": AFTER,
        "identifier": "Confirm",
        "installation": 42,
        "sender": "octocat",
    }
    assert read_event("check_run", PRESS) == Accepted("check_run", fields)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
leaves = st.sampled_from(
    [f"push:{path}" for path in ("ref", "before", "after", "deleted", "forced", "repository.full_name", "sender.login")]
    + [f"check_run:{path}" for path in ("action", "check_run", "check_run.name", "requested_action", "check_run.id")]
)


@given(leaves, json_values)
def test_whatever_stands_in_an_event_it_is_decided_about(leaf, value):
    event, _, path = leaf.partition(":")
    payload = changed(PUSH if event == "push" else PRESS, path, value)
    try:
        decision = read_event(event, payload)
    except InvalidWebhook:
        return
    assert json.dumps(decision.fields if isinstance(decision, Accepted) else decision.reason)
