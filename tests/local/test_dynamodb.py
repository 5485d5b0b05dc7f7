"""The local cloud's DynamoDB copies, measures and finds items as the real one, however it does so."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tidegate_local.moto import dynamodb_shims

DEEP = {"L": [{"M": {"deep": {"SS": ["a", "b"]}}}, {"N": "1"}, {"NULL": True}]}
NESTED = {"M": {"list": DEEP, "yes": {"BOOL": True}}}


@pytest.fixture
def table():
    dynamodb_shims.install()
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any")
        client.create_table(
            TableName="t",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "owner")],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "owners",
                    "KeySchema": [
                        {"AttributeName": "owner", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client


def put(table, pk, sk, **attributes):
    table.put_item(TableName="t", Item={"pk": {"S": pk}, "sk": {"S": sk}, **attributes})


def item(table, pk, sk):
    return table.get_item(TableName="t", Key={"pk": {"S": pk}, "sk": {"S": sk}}).get("Item")


def update(table, expression, values):
    return table.update_item(
        TableName="t",
        Key={"pk": {"S": "a"}, "sk": {"S": "1"}},
        UpdateExpression=expression,
        ExpressionAttributeValues=values,
        ReturnValues="ALL_OLD",
    )


def found(answer):
    return [(each["pk"]["S"], each["sk"]["S"]) for each in answer["Items"]]


def test_nested_and_binary_values_come_back_as_they_were_put(table):
    more = {"raw": {"B": b"\x00\xff"}, "several": {"BS": [b"\x01"]}, "twice": {"L": [{"B": b"\x02"}]}}
    put(table, "a", "1", nested=NESTED, **more)
    assert item(table, "a", "1") == {"pk": {"S": "a"}, "sk": {"S": "1"}, "nested": NESTED, **more}


def test_what_an_update_returns_of_before_is_not_changed_by_it(table):
    put(table, "a", "1", nested=NESTED, steps={"L": [{"N": "1"}]})
    before = update(
        table,
        "SET steps = list_append(steps, :more), nested.yes = :no",
        {":more": {"L": [{"N": "2"}]}, ":no": {"BOOL": False}},
    )["Attributes"]
    assert (before["nested"], before["steps"]) == (NESTED, {"L": [{"N": "1"}]})
    after = item(table, "a", "1")
    assert (after["nested"]["M"]["yes"], after["steps"]) == ({"BOOL": False}, {"L": [{"N": "1"}, {"N": "2"}]})


def test_the_same_expression_has_each_time_its_own_values(table):
    for value in ("x", "y"):
        update(table, "SET word = :word", {":word": {"S": value}})
        assert item(table, "a", "1")["word"] == {"S": value}


@pytest.mark.parametrize("expression", ["SET a = :v SET b = :v", "SET a = :v, a = :v", "SET m.a = :v, m.a = :v"])
def test_an_update_that_says_something_twice_is_refused(table, expression):
    put(table, "a", "1", m={"M": {}})
    with pytest.raises(ClientError) as refused:
        update(table, expression, {":v": {"S": "x"}})
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize("big", [{"S": "x" * 410_000}, {"L": [{"S": "x" * 100_000}] * 5}, {"SS": ["x" * 410_000]}])
def test_an_item_that_is_too_large_is_refused(table, big):
    put(table, "a", "1", small={"S": "x" * 1000})
    with pytest.raises(ClientError, match="size"):
        put(table, "a", "2", big=big)
    with pytest.raises(ClientError, match="size"):
        update(table, "SET big = :big", {":big": big})
    assert item(table, "a", "2") is None


def test_a_query_finds_the_items_of_its_key_in_their_order(table):
    for pk, sk in (("a", "2"), ("b", "1"), ("a", "10"), ("a", "1")):
        put(table, pk, sk)
    of_a = {"TableName": "t", "KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}
    assert found(table.query(**of_a)) == [("a", "1"), ("a", "10"), ("a", "2")]
    assert found(table.query(**of_a, ScanIndexForward=False, Limit=1)) == [("a", "2")]
    assert found(table.query(**of_a | {"ExpressionAttributeValues": {":a": {"S": "none"}}})) == []


def test_an_index_has_the_items_with_its_key(table):
    put(table, "a", "1", owner={"S": "x"})
    put(table, "b", "1", owner={"S": "y"})
    put(table, "c", "0", owner={"S": "x"})
    put(table, "d", "1")
    asked = {
        "TableName": "t",
        "IndexName": "owners",
        "KeyConditionExpression": "#o = :x",
        "ExpressionAttributeNames": {"#o": "owner"},
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    }
    first = table.query(**asked, Limit=1)
    assert found(first) == [("c", "0")]
    assert found(table.query(**asked, ExclusiveStartKey=first["LastEvaluatedKey"])) == [("a", "1")]


def test_a_scan_goes_through_pages_without_missing_any(table):
    names = [str(number) for number in range(12)]
    for name in names:
        put(table, name, "1")
    pages = table.get_paginator("scan").paginate(TableName="t", PaginationConfig={"PageSize": 5})
    assert [pk for page in pages for pk, _ in found(page)] == sorted(names)
