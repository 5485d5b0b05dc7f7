"""The form of tokens: what PyJWT verifies with the key set that is published, and nothing else."""

from __future__ import annotations

import json

import jwt
import pytest

from tests.identity_keys import Signer, public_key
from tidegate.deploys.rules.issued import NOTHING, Issued, from_text, said_in, times_problem, to_text
from tidegate.deploys.rules.targets import Cloud
from tidegate.deploys.rules.tokens import discovery, signing_input, token
from tidegate.web.key_set import key_set

NOW = 1_800_000_000
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
