package main

import rego.v1

plan(network) := {"resource_changes": [{
	"address": "aws_vpc_security_group_ingress_rule.ssh",
	"type": "aws_vpc_security_group_ingress_rule",
	"change": {"after": {"cidr_ipv4": network, "from_port": 22}},
}]}

test_a_port_that_is_open_to_everybody_is_denied if {
	count(deny) == 1 with input as plan("0.0.0.0/0")
}

test_a_port_that_is_open_to_one_network_passes if {
	count(deny) == 0 with input as plan("10.20.0.0/16")
}
