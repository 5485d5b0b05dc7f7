"""The form of tokens: what PyJWT verifies with the key set that is published, and nothing else."""

from __future__ import annotations

import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.identity_keys import Signer, public_key
from tidegate.deploys.rules.issued import NOTHING, Issued, from_text, said_in, times_problem, to_text
from tidegate.deploys.rules.targets import Cloud
from tidegate.deploys.rules.tokens import NotARsaKey, PublicKey, discovery, key_set, signing_input, token

NOW = 1_800_000_000
WHOLE = public_key("one").der
CLAIMS = {"sub": "é", "nbf": NOW, "exp": NOW + 60}


def signed(claims=CLAIMS, key="one"):
    content = signing_input(claims, key)
    return token(content, Signer(key).sign(content.encode()))


def test_a_token_is_verified_with_the_key_that_it_names():
    keys = jwt.PyJWKSet.from_dict(json.loads(json.dumps(key_set([public_key("one"), public_key("two")]))))
    text = signed(key="two")
    assert jwt.get_unverified_header(text) == {"alg": "RS256", "typ": "JWT", "kid": "two"}
    assert jwt.decode(text, keys["two"].key, ["RS256"], options={"verify_exp": False, "verify_nbf": False}) == CLAIMS
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(text, keys["one"].key, ["RS256"])


def test_a_key_set_has_public_numbers_alone():
    (key,) = key_set([public_key("one")])["keys"]
    assert set(key) == {"kty", "use", "alg", "kid", "n", "e"}


@pytest.mark.parametrize(
    "broken",
    [b"", WHOLE[:1], WHOLE[:2], WHOLE[:40], WHOLE[:-1], b"\0" + WHOLE, WHOLE + b"\0", b"\x30\x02\x05\x00"],
    # The key is another one in each process, and the names of tests must not be.
    ids=["nothing", "a byte", "two bytes", "a part", "all but the end", "more before", "more after", "another value"],
)
def test_what_is_no_whole_key_is_none_that_is_published(broken):
    with pytest.raises(NotARsaKey, match="identity_keys"):
        key_set([PublicKey("broken", broken)])


@given(st.binary(max_size=300))
def test_whatever_bytes_are_read_they_are_a_key_or_refused(content):
    with pytest.raises(NotARsaKey):
        key_set([PublicKey("broken", content)])


def test_a_key_of_another_kind_is_none():
    der = (
        ec.generate_private_key(ec.SECP256R1())
        .public_key()
        .public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(NotARsaKey):
        key_set([PublicKey("curve", der)])


def test_the_discovery_document_has_what_iam_asks_for():
    """IAM: issuer, jwks_uri, claims_supported, response_types_supported, subject_types_supported and algorithms."""
    found = discovery("https://tidegate.example", "/keys")
    assert (found["issuer"], found["jwks_uri"]) == ("https://tidegate.example", "https://tidegate.example/keys")
    assert found["id_token_signing_alg_values_supported"] == ["RS256"]
    assert {"claims_supported", "response_types_supported", "subject_types_supported"} <= set(found)


@pytest.mark.parametrize(
    "issued", [NOTHING, Issued({Cloud.AWS: "a.b.c", Cloud.AZURE: "d.e.f"}), Issued(problem="why", passes=True)]
)
def test_what_was_issued_is_read_as_it_was_written(issued):
    assert from_text(to_text(issued)) == issued


def test_a_token_is_not_shown_where_what_holds_it_is():
    assert "a.b.c" not in repr(Issued({Cloud.AWS: "a.b.c"}))


@pytest.mark.parametrize(
    ("now", "told"), [(NOW - 30, "30 s early"), (NOW, ""), (NOW + 59, ""), (NOW + 90, "30 s late")]
)
def test_clocks_that_differ_are_told(now, told):
    assert said_in(signed()) == CLAIMS
    problem = times_problem(signed(), now)
    assert told in problem
    assert bool(problem) is bool(told)
