# Nobody opens a port to the whole internet.
package main

import rego.v1

deny contains {"msg": msg, "address": each.address} if {
	some each in input.resource_changes
	each.type == "aws_vpc_security_group_ingress_rule"
	each.change.after.cidr_ipv4 == "0.0.0.0/0"
	msg := sprintf("Port %d would be open to everybody: name the network that may come in", [each.change.after.from_port])
}
