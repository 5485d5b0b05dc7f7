"""The issuer's documents: anybody reads and keeps them, and there are none where there is no key."""

from __future__ import annotations

import pytest

from tests.api.scenario import URL, Client, WebScenario
from tests.identity_keys import public_key
from tidegate.web.openid import DISCOVERY, KEYS


class Keys:
    names = ("one", "two")

    def usable(self):
        return [public_key(name) for name in self.names]


@pytest.fixture
def wires():
    wires = WebScenario()
    wires.put(public_keys=Keys())
    return wires


def test_the_discovery_document_leads_to_the_keys(wires):
    found = Client(wires).get(DISCOVERY)
    assert found.status == 200
    assert found.json["issuer"] == URL
    listed = Client(wires).get(found.json["jwks_uri"].removeprefix(URL))
    assert [key["kid"] for key in listed.json["keys"]] == ["one", "two"]


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
def test_anybody_may_read_and_keep_them(wires, path):
    found = Client(wires).get(path)
    assert found.headers["cache-control"] == "public, max-age=300"
    assert found.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
def test_an_installation_without_keys_is_no_issuer(path):
    assert Client(WebScenario()).get(path).status == 404


def test_where_no_key_can_be_used_nothing_can_be_verified_and_the_answer_says_what_to_do(wires):
    wires.public_keys.names = ()
    found = Client(wires).get(KEYS)
    assert found.status == 503
    assert "identity_keys" in found.body
