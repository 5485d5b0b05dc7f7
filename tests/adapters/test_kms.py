"""Keys of workload identity in KMS: moto's signatures, and what is done with a key that cannot be used."""

from __future__ import annotations

import boto3
import jwt
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from tidegate.deploys.adapters.kms import KEPT_SECONDS, NONE_KEPT_SECONDS, KmsPublicKeys, KmsSigner, key_name
from tidegate.deploys.rules.tokens import signing_input, token
from tidegate.rules.errors import CloudUnavailable, SigningRefused
from tidegate.web.key_set import key_set

ARN = "arn:aws:kms:eu-west-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"


class Kms:
    """Answers as KMS does; ``errors`` are raised by ARN."""

    def __init__(self, **errors):
        self.errors, self.calls = errors, 0

    def answer(self, KeyId, **_):
        self.calls += 1
        error = self.errors.get(KeyId)
        if isinstance(error, str):
            raise ClientError({"Error": {"Code": error}}, "Sign")
        if error is not None:
            raise error
        return {"PublicKey": b"key of " + KeyId.encode(), "Signature": b"signed"}

    sign = get_public_key = answer


@mock_aws
def test_what_kms_signs_is_verified_with_the_key_that_it_publishes():
    kms = boto3.client("kms", region_name="eu-west-1")
    arn = kms.create_key(KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    signer = KmsSigner(kms, arn)
    content = signing_input({"sub": "x"}, signer.key)
    (key,) = key_set(KmsPublicKeys(kms, [arn]).usable())["keys"]
    text = token(content, signer.sign(content.encode()))
    assert jwt.decode(text, jwt.PyJWK(key).key, ["RS256"]) == {"sub": "x"}
    assert key["kid"] == key_name(arn) == arn.rpartition("/")[2]


@pytest.mark.parametrize("code", ["DisabledException", "KMSInvalidStateException", "NotFoundException"])
def test_a_key_that_a_person_must_mend_is_named(code):
    with pytest.raises(SigningRefused, match=f"{ARN}.*{code}.*identity_keys"):
        KmsSigner(Kms(**{ARN: code}), ARN).sign(b"")


@pytest.mark.parametrize("error", ["ThrottlingException", EndpointConnectionError(endpoint_url="https://kms")])
def test_what_may_pass_may_be_tried_again(error):
    with pytest.raises(CloudUnavailable):
        KmsSigner(Kms(**{ARN: error}), ARN).sign(b"")
    with pytest.raises(CloudUnavailable):
        KmsPublicKeys(Kms(**{ARN: error}), [ARN]).usable()


def test_a_disabled_key_is_no_longer_published_once_keys_are_looked_at_again():
    kms, time = Kms(), [0.0]
    keys = KmsPublicKeys(kms, ["one", "two"], lambda: time[0])
    assert [each.name for each in keys.usable()] == ["one", "two"]
    kms.errors["two"] = "DisabledException"
    time[0] = KEPT_SECONDS - 1
    assert len(keys.usable()) == 2
    assert kms.calls == 2
    time[0] = KEPT_SECONDS
    assert [each.name for each in keys.usable()] == ["one"]


def test_keys_that_are_known_are_published_while_kms_does_not_answer():
    kms, time = Kms(), [0.0]
    keys = KmsPublicKeys(kms, ["one"], lambda: time[0])
    keys.usable()
    kms.errors["one"] = "ThrottlingException"
    time[0] = KEPT_SECONDS
    assert len(keys.usable()) == 1


def test_that_no_key_can_be_used_is_remembered_as_well_and_for_less_time():
    kms, time = Kms(one="DisabledException", two="NotFoundException"), [0.0]
    keys = KmsPublicKeys(kms, ["one", "two"], lambda: time[0])
    for _ in range(3):
        assert keys.usable() == []
    assert kms.calls == 2
    kms.errors.clear()
    time[0] = NONE_KEPT_SECONDS
    assert len(keys.usable()) == 2


def test_that_kms_does_not_answer_is_not_remembered():
    kms = Kms(one="ThrottlingException")
    keys = KmsPublicKeys(kms, ["one"], lambda: 0.0)
    with pytest.raises(CloudUnavailable):
        keys.usable()
    kms.errors.clear()
    assert len(keys.usable()) == 1
