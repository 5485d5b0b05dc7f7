from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.forges import Forges
from tests.contract.stores import KINDS, Stores, dynamodb_client, dynamodb_stores, memory_stores, new_table


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with dynamodb_client() as client:
        yield client


@pytest.fixture
def table(client: Any) -> Iterator[str]:
    name = new_table(client)
    yield name
    client.delete_table(TableName=name)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stores(request: pytest.FixtureRequest, kind: str) -> Stores:
    if kind == "memory":
        return memory_stores()
    return dynamodb_stores(request.getfixturevalue("client"), request.getfixturevalue("table"))


@pytest.fixture(scope="session")
def forges(tmp_path_factory: pytest.TempPathFactory) -> Forges:
    return Forges(tmp_path_factory.mktemp("forges"))
