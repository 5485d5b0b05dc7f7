"""The key set that is published: whole keys of RSA, and nothing of them but their numbers."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.identity_keys import public_key
from tidegate.deploys.rules.tokens import NotARsaKey, PublicKey
from tidegate.web.key_set import key_set

WHOLE = public_key("one").der


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
