"""Workload identity's keys: opt-in, signed with by one function, kept from engines, and read by what publishes them."""

from __future__ import annotations

import json

import pytest

from tidegate_cdk.identity import read_identity_settings
from tidegate_cdk.permissions import permissions, readable
from tidegate_cdk.runner_settings import InvalidContext

KEYS = ("<Identity202611>", "<Identity202605>")


class Given(dict):
    def try_get_context(self, key):
        return self.get(key)


def keys(template):
    return {name: each for name, each in template["Resources"].items() if each["Type"] == "AWS::KMS::Key"}


def granted(template, action):
    every = [each for each in permissions(template) if each.effect == "Allow" and action in each.actions]
    return {(each.role, on, each.condition) for each in every for on in each.resources}


def test_no_key_is_made_unless_somebody_asks_for_one(template):
    """A key costs a dollar a month (the price page of KMS), a third of what an idle installation may cost in all."""
    assert not keys(template)
    assert not [action for action in ("kms:Sign", "kms:GetPublicKey") if action in json.dumps(template)]


def test_exactly_one_role_may_sign_and_with_the_first_key_alone(other):
    condition = "kms:SigningAlgorithm StringEquals RSASSA_PKCS1_V1_5_SHA_256"
    ((role, key, so),) = granted(other, "kms:Sign")
    assert (role.startswith("Functions"), key, so) == (True, KEYS[0], condition)


def test_the_policy_of_each_key_denies_signing_to_everybody_else(other):
    ((signer, _, _),) = granted(other, "kms:Sign")
    assert len(keys(other)) == len(KEYS)
    for key in keys(other).values():
        properties = key["Properties"]
        assert (properties["KeySpec"], properties["KeyUsage"]) == ("RSA_2048", "SIGN_VERIFY")
        (denied,) = [each for each in properties["KeyPolicy"]["Statement"] if each["Effect"] == "Deny"]
        assert (denied["Action"], denied["Principal"]) == ("kms:Sign", {"AWS": "*"})
        assert readable(denied["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]) == f"<{signer}>"


def test_only_what_serves_the_key_set_reads_public_keys(other):
    read = granted(other, "kms:GetPublicKey")
    assert {on for _, on, _ in read} == set(KEYS)
    assert len({role for role, _, _ in read}) == 1
    assert not any("Runner" in role for role, _, _ in read | granted(other, "kms:Sign"))


def test_no_engine_touches_a_key_whatever_its_role_is_allowed(other):
    denied = {
        on
        for each in permissions(other)
        if each.effect == "Deny" and each.role.endswith("EngineRole") and each.actions == ("*",)
        for on in each.resources
    }
    assert set(KEYS) <= denied


def test_people_find_issuer_and_keys_among_the_outputs(other, template):
    assert {"Issuer", "IdentityKeys"} <= set(other["Outputs"])
    assert not {"Issuer", "IdentityKeys"} & set(template["Outputs"])


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"identity_keys": ["A"]}, r"identity_keys\[0\]"),
        ({"identity_keys": ["a", "b", "c", "d"]}, "identity_keys"),
        ({"identity_keys": ["a", "a"]}, "identity_keys"),
        ({"identity_audience": "two words"}, "identity_audience"),
    ],
)
def test_what_cannot_be_used_is_named(given, key):
    with pytest.raises(InvalidContext, match=key):
        read_identity_settings(Given(given), "")


def test_no_cloud_trusts_an_issuer_without_tls():
    with pytest.raises(InvalidContext, match="https://"):
        read_identity_settings(Given(identity_keys=["a"]), "http://tidegate.example")
    assert read_identity_settings(Given(), "http://tidegate.example").keys == ()
    assert read_identity_settings(Given(identity_keys="a,b"), "https://tidegate.example").keys == ("a", "b")
