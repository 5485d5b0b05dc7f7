package main

import rego.v1

# Buckets are nobody else's business.
deny contains {"msg": msg, "address": each.address} if {
	some each in input.resource_changes
	each.type == "aws_s3_bucket"
	each.change.after.acl in {"public-read", "public-read-write"}
	msg := sprintf("%s can be read by everybody", [each.address])
}

# Databases are deleted by their owners only.
violation_database contains {"msg": msg, "address": each.address} if {
	some each in input.resource_changes
	each.type in data.databases
	"delete" in each.change.actions
	msg := sprintf("%s would be deleted with all that it holds", [each.address])
}

warn contains msg if {
	some each in input.resource_changes
	"create" in each.change.actions
	not each.change.after.tags.owner
	msg := sprintf("%s has no tag 'owner'", [each.address])
}

# What is only there for a test may be deleted.
exception contains ["database"] if {
	every each in input.resource_changes { startswith(each.address, "module.sandbox.") }
}
