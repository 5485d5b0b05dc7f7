"""The local cloud: the same CDK template on one machine, without an AWS account."""
