package main_test

import data.main
import rego.v1

bucket(acl) := {"resource_changes": [{
	"address": "aws_s3_bucket.logs",
	"type": "aws_s3_bucket",
	"change": {"actions": ["create"], "after": {"acl": acl, "tags": {"owner": "sre"}}},
}]}

table(address) := {"resource_changes": [{
	"address": address,
	"type": "aws_dynamodb_table",
	"change": {"actions": ["delete"], "after": null},
}]}

test_public_buckets_are_denied if count(main.deny) == 1 with input as bucket("public-read")

test_private_buckets_pass if count(main.deny) == 0 with input as bucket("private")

test_databases_are_not_deleted if count(main.violation_database) == 1 with input as table("aws_dynamodb_table.users")

test_sandboxes_are_exempt if count(main.exception) == 1 with input as table("module.sandbox.aws_dynamodb_table.users")
