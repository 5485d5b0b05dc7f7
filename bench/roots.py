"""The root modules that are deployed: one with the AWS provider, one of terraform_data only."""

from __future__ import annotations

REPOSITORY = "bench/roots"
_CONFIGURATION = "version: 1\nroots:\n  - name: {name}\n    dir: {name}\n"
_BACKEND = """
  backend "s3" {{
    bucket         = "{bucket}"
    key            = "bench/{key}.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }}
"""
_AWS = """
terraform {{
  required_providers {{
    aws = {{
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }}
  }}
{backend}
}}

provider "aws" {{
  region = "us-east-1"
}}

resource "aws_vpc" "main" {{
  cidr_block = "10.20.0.0/16"
}}

resource "aws_security_group" "web" {{
  name        = "{key}"
  description = "HTTPS from inside the network"
  vpc_id      = aws_vpc.main.id
}}

resource "aws_sns_topic" "orders" {{
  name = "{key}"
}}

resource "aws_cloudwatch_log_group" "orders" {{
  name              = "/bench/{key}"
  retention_in_days = 30
}}

resource "aws_ssm_parameter" "topic" {{
  name  = "/bench/{key}/topic"
  type  = "String"
  value = aws_sns_topic.orders.arn
}}
"""
_DATA = """
terraform {{
{backend}
}}

resource "terraform_data" "run" {{
  count = 5
  input = "{key} ${{count.index}}"
}}
"""
_MODULES = {"aws": _AWS, "data": _DATA}


def files(kind: str, key: str, bucket: str) -> dict[str, str | None]:
    """Return the repository's files: one root of this kind, whose state and resources are named ``key``."""
    return {"tidegate.yaml": _CONFIGURATION.format(name=kind), f"{kind}/main.tf": module(kind, key, bucket)}


def module(kind: str, key: str, bucket: str) -> str:
    """Return a root module of this kind, whose state and resources are named ``key``."""
    return _MODULES[kind].format(key=key, backend=_BACKEND.format(bucket=bucket, key=key))
