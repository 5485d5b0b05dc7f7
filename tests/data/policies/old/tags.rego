package main

import input as tfplan

deny[msg] {
	each := tfplan.resource_changes[_]
	each.change.actions[_] == "delete"
	msg := sprintf("%s would be deleted", [each.address])
}
