"""What every store of ended sessions does."""

from __future__ import annotations

import pytest

from tests.contract.stores import dynamodb_client, new_table
from tests.fakes.sign_outs import MemorySignOuts
from tidegate.web.adapters.sign_outs import DynamoSignOuts


@pytest.fixture(params=["memory", "dynamodb"])
def sign_outs(request):
    if request.param == "memory":
        yield MemorySignOuts()
        return
    with dynamodb_client() as client:
        yield DynamoSignOuts(client, new_table(client))


def test_a_session_that_was_ended_stays_ended_and_no_other_is(sign_outs):
    sign_outs.end("one", 1_800_000_000)
    sign_outs.end("one", 1_800_000_000)
    assert (sign_outs.is_ended("one"), sign_outs.is_ended("another")) == (True, False)
