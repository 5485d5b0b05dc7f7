"""The settings of an installation with a network, a domain and keys of its own."""

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/1234abcd-12ab-34cd-56ef-1234567890ab"
BOUNDARY = "arn:aws:iam::123456789012:policy/platform/boundary"
#: All that an installation may have of its own.
OWN = {
    "prefix": "site",
    "vpc": "vpc-0123456789abcdef0",
    "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    "domain": "tidegate.example.com",
    "certificate": CERTIFICATE,
    "hosted_zone": "Z0123456789ABC",
    "execute_api_endpoint": "false",
    "kms_key": "create",
    "state_bucket": "acme-states",
    "state_kms_key": KEY,
    "permissions_boundary": BOUNDARY,
    "log_retention_days": "400",
    "webhook_concurrency": "20",
    "plan_runner": "lambda",
    "release": "2026.11",
}
