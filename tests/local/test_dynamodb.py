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


def found(answer):
    return [(each["pk"]["S"], each["sk"]["S"]) for each in answer["Items"]]


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


@pytest.mark.parametrize("key", ["1", "2"])
def test_a_transaction_that_fails_leaves_what_was_there(table, key):
    put(table, "a", "1", n={"N": "1"})
    changes = [
        {"Update": {**where, "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "2"}}}}
        for where in ({"TableName": "t", "Key": {"pk": {"S": "a"}, "sk": {"S": key}}},)
    ]
    check = {"TableName": "t", "Key": {"pk": {"S": "b"}, "sk": {"S": "1"}}}
    with pytest.raises(ClientError) as refused:
        table.transact_write_items(
            TransactItems=[*changes, {"ConditionCheck": {**check, "ConditionExpression": "attribute_exists(pk)"}}]
        )
    assert [reason["Code"] for reason in refused.value.response["CancellationReasons"]] == [
        "None",
        "ConditionalCheckFailed",
    ]
    assert found(table.scan(TableName="t")) == [("a", "1")]
    assert table.get_item(TableName="t", Key={"pk": {"S": "a"}, "sk": {"S": "1"}})["Item"]["n"] == {"N": "1"}


def test_a_scan_goes_through_pages_without_missing_any(table):
    names = [str(number) for number in range(12)]
    for name in names:
        put(table, name, "1")
    pages = table.get_paginator("scan").paginate(TableName="t", PaginationConfig={"PageSize": 5})
    assert [pk for page in pages for pk, _ in found(page)] == sorted(names)
