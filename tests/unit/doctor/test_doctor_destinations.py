"""What the doctor finds of destinations of notifications: which secret is missing, and what of it."""

from __future__ import annotations

import base64
import json

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tidegate_cli.doctor.destinations import check_destinations

HOOK = {"kind": "webhook", "url": "https://hooks.example/x", "secret": "hooks"}
SLACK = {"kind": "slack", "channel": "C0DEPLOYS", "secret": "slack"}
TEAMS = {"kind": "teams", "secret": "teams"}
EMAIL = {"kind": "email", "email": "owners@example.com"}
SIGNING = "whsec_" + base64.b64encode(b"x" * 32).decode()


class Secrets:
    """Secrets Manager, with what is stored, or what it fails with."""

    def __init__(self, stored):
        self.stored = stored

    def get_secret_value(self, SecretId):  # As boto3 calls it.
        found = self.stored.get(SecretId, _error("ResourceNotFoundException"))
        if isinstance(found, Exception):
            raise found
        return {} if found is None else {"SecretString": found if isinstance(found, str) else json.dumps(found)}


def _error(code):
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetSecretValue")


def found(destinations, **stored):
    results = check_destinations({"destinations": destinations}, Secrets(stored))
    return {each.check.removeprefix("destination "): each for each in results}


def test_each_destination_is_checked_by_itself_and_the_missing_secret_is_named():
    stored = {"hooks": {"signing_secret": SIGNING}, "teams": {"url": "https://x"}}
    results = found({"deploys": SLACK, "hooks": HOOK, "office": TEAMS, "owners": EMAIL}, **stored)
    assert {name: each.verdict for name, each in results.items()} == {"deploys": "warn", "hooks": "ok", "office": "ok"}
    assert "The secret slack does not exist" in results["deploys"].found
    assert "bot_token" in results["deploys"].do


def test_slack_without_a_signing_secret_has_no_buttons_and_nothing_that_fails():
    plain, full = (
        found({"deploys": SLACK}, slack={"bot_token": "xoxb-1", **more})["deploys"]
        for more in ({}, {"signing_secret": "s"})
    )
    assert (plain.verdict, full.verdict) == ("ok", "ok")
    assert "no buttons" in plain.found
    assert "no buttons" not in full.found


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ({}, "has no signing_secret"),
        ([], "has no signing_secret"),
        (None, "has no signing_secret"),
        ("text", "has no signing_secret"),
        ({"signing_secret": "short"}, "not valid"),
        (_error("AccessDeniedException"), "AccessDenied"),
        (EndpointConnectionError(endpoint_url="https://x"), "EndpointConnection"),
    ],
)
def test_what_is_wrong_with_a_secret_is_a_warning_that_does_not_show_it(stored, problem):
    result = found({"hooks": HOOK}, hooks=stored)["hooks"]
    assert result.verdict == "warn"
    assert problem in result.found
    assert "short" not in result.found


def test_a_destination_that_cannot_be_used_fails_and_none_are_no_finding():
    assert found({"hooks": {"kind": "pager"}})["hooks"].verdict == "fail"
    assert found(None) == {}
