"""`tidegate doctor` on workload identity: whether the clouds can read the keys, and whether they can be used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from tidegate_cli.doctor.identity import IdentityChecks

ISSUER, NOW = "https://tidegate.example", datetime(2026, 11, 24, 12, tzinfo=UTC)
KEYS = ["one", "two"]


class Client:
    def __init__(self, outputs, states):
        self.outputs, self.states = outputs, states

    def describe_stacks(self, StackName):
        if self.outputs is None:
            raise ClientError({"Error": {"Code": "ValidationError", "Message": "no such stack"}}, "DescribeStacks")
        listed = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs.items()]
        return {"Stacks": [{"Outputs": listed}]}

    def describe_key(self, KeyId):
        return {"KeyMetadata": {"KeyState": self.states.get(KeyId.rpartition("/")[2], "Enabled")}}


def results(*, outputs=..., states=None, kids=KEYS, issuer=ISSUER, error=None, ahead=0):
    usual = {"Issuer": ISSUER, "IdentityKeys": ",".join(f"arn:aws:kms:eu-west-1:1:key/{key}" for key in KEYS)}
    client = Client(usual if outputs is ... else outputs, states or {})

    def get(address):
        if error:
            raise error
        date = (NOW + timedelta(seconds=ahead)).strftime("%a, %d %b %Y %H:%M:%S GMT")
        if address.endswith("openid-configuration"):
            return {"issuer": issuer, "jwks_uri": f"{ISSUER}/keys"}, date
        return {"keys": [{"kid": kid} for kid in kids]}, date

    return {each.check: each for each in IdentityChecks("Tidegate", lambda _: client, get, lambda: NOW).results()}


def test_keys_that_can_be_used_and_read_are_in_order():
    assert {each.verdict for each in results().values()} == {"ok"}
    assert "2 keys" in results()[f"issuer {ISSUER}"].found


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("Disabled", "`aws kms enable-key`"),
        ("PendingDeletion", "`aws kms cancel-key-deletion`"),
        ("PendingImport", "has expired"),
        ("Unavailable", "custom key store"),
        ("Updating", "KMS console"),
    ],
)
def test_what_brings_a_key_back_depends_on_what_became_of_it(state, words):
    found = results(states={"two": state})["identity key two"]
    assert (found.verdict, words in found.do, "identity_keys" in found.do) == ("fail", True, True)


@pytest.mark.parametrize(
    ("given", "check", "verdict", "told"),
    [
        ({"outputs": None}, "issuer", "warn", "no such stack"),
        ({"outputs": {}}, "issuer", "warn", "no workload identity keys"),
        ({"states": {"two": "PendingDeletion"}}, "identity key two", "fail", "PendingDeletion"),
        ({"kids": ["one"]}, f"issuer {ISSUER}", "fail", "does not publish two"),
        ({"issuer": "https://other"}, f"issuer {ISSUER}", "fail", "https://other"),
        ({"error": OSError("refused")}, f"issuer {ISSUER}", "fail", "refused"),
        ({"ahead": 90}, "clock", "warn", "90 s"),
        ({"outputs": {"Issuer": "http://x", "IdentityKeys": "a/b"}}, "issuer http://x", "fail", "https://"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(given, check, verdict, told):
    found = results(**given)[check]
    assert found.verdict == verdict
    assert told in found.found
    assert found.do
