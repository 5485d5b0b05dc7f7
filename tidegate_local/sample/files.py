"""The files of the organization's repositories, by their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PLATFORM, ANALYTICS, CLUSTERS = "acme/platform", "acme/analytics", "acme/clusters"
STAGES = ("dev", "staging", "prod")
#: The drift schedule, and why a queue is locked.
SCHEDULE, REASON = "production", "The vendor moves the database on Monday."
_BACKUPS = "backup_days = 7"
#: Pull requests: one that is merged, one that passes, one that a policy blocks, and a draft with an error.
PROPOSALS: Sequence[dict[str, Any]] = (
    {
        "branch": "shop-1.5.0",
        "title": "Deploy version 1.5.0 of the shop",
        "edits": {f"{stage}/shop/main.tf": ("shop:1.4.0", "shop:1.5.0") for stage in STAGES},
    },
    {
        "branch": "backups",
        "title": "Keep backups for 30 days, enlarge the database of staging",
        "edits": {
            **{f"{stage}/database/main.tf": (_BACKUPS, "backup_days = 30") for stage in STAGES},
            "staging/database/main.tf": (f'"small"\n  {_BACKUPS}', '"large"\n  backup_days = 30'),
        },
    },
    {
        "branch": "office",
        "title": "Let the office reach the database",
        "edits": {"prod/database/main.tf": (_BACKUPS, f'{_BACKUPS}\n  open_to     = "0.0.0.0/0"')},
    },
    {
        "branch": "third-zone",
        "title": "Use a third zone",
        "edits": {"dev/network/main.tf": ('"us-east-1b"]', '"us-east-1b", var.third]')},
        "draft": True,
    },
)
_REPLICAS = {"dev": 1, "staging": 2, "prod": 3}
_SIZES = {"dev": "small", "staging": "small", "prod": "large"}
#: Everything is built into the engine: no provider is downloaded.
_BACKEND = """\
terraform {{
  backend "s3" {{
    bucket         = "{bucket}"
    key            = "{key}.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }}
}}

"""
_MODULES = {
    "modules/network/main.tf": """\
variable "name" { type = string }
variable "cidr" { type = string }
variable "zones" { type = list(string) }

resource "terraform_data" "vpc" {
  input = { name = var.name, cidr = var.cidr }
}

resource "terraform_data" "subnet" {
  for_each = toset(var.zones)
  input    = { vpc = terraform_data.vpc.id, zone = each.key }
}
""",
    "modules/database/main.tf": """\
variable "name" { type = string }
variable "size" { type = string }
variable "backup_days" { type = number }
variable "open_to" { default = "10.0.0.0/8" }

resource "terraform_data" "cluster" {
  input            = { name = var.name, backup_days = var.backup_days, open_to = var.open_to }
  triggers_replace = [var.size]
}

resource "terraform_data" "replica" {
  count = var.size == "large" ? 2 : 1
  input = { cluster = terraform_data.cluster.id, number = count.index }
}
""",
    "modules/service/main.tf": """\
variable "name" { type = string }
variable "image" { type = string }
variable "replicas" { type = number }

resource "terraform_data" "task" {
  input = { name = var.name, image = var.image }
}

resource "terraform_data" "service" {
  input = { task = terraform_data.task.id, replicas = var.replicas }
}

resource "terraform_data" "alarm" {
  for_each = toset(["latency", "errors"])
  input    = { service = var.name, about = each.key }
}
""",
}
_PLATFORM = """\
# Ten roots in four stacks: what is shared first, and then each stage after the one before.
version: 1
plan_review: always
dirs:
  shared/dns: {tags: [shared], plan_review: never}
  dev/network: {tags: [dev, network], plan_review: never}
  dev/database: {tags: [dev, database], plan_review: never}
  dev/shop: {tags: [dev, shop], plan_review: never}
  staging/network: {tags: [staging, network]}
  staging/database: {tags: [staging, database]}
  staging/shop: {tags: [staging, shop]}
  prod/network: {tags: [prod, network]}
  prod/database: {tags: [prod, database]}
  prod/shop: {tags: [prod, shop]}
stacks:
  names:
    shared: {tag_query: shared}
    dev: {tag_query: dev, rules: {apply_after: [shared]}}
    staging: {tag_query: staging, rules: {apply_after: [dev]}}
    prod: {tag_query: prod, rules: {apply_after: [staging]}}
drift:
  schedules:
    production: {tag_query: prod, schedule: daily, report: check}
policy_sets:
  exposure:
    paths: [policies]
    owners: ["user:reviewer"]
"""
_POLICY = """\
# Databases are reached from inside only.
package main

import rego.v1

deny contains message if {
	some change in input.resource_changes
	change.change.after.input.open_to == "0.0.0.0/0"
	message := sprintf("%s is open to everybody", [change.address])
}
"""
_ANALYTICS = """\
version: 1
plan_review: never
dirs:
  warehouse: {tags: [data]}
  reports: {tags: [data]}
"""
_CLUSTERS = """\
version: 1
roots: []
stacks:
  names:
    management: {tag_query: "tier:management"}
    workload: {tag_query: "tier:workload", rules: {plan_after: [management]}}
clusters:
  - {name: hub, kind: management, provider: simulated, spec: hub/cluster.yaml, tags: ["tier:management"]}
  - {name: shop, kind: workload, management: hub, provider: simulated, spec: shop/cluster.yaml, tags: ["tier:workload"]}
"""
_QUOTA = "The quota of five addresses is used up. Ask for more, or release one."


def platform(bucket: str) -> Mapping[str, str]:
    """Return the files of the platform; states are in ``bucket``."""
    roots = {f"{stage}/{name}": text for stage in STAGES for name, text in _stage(stage).items()}
    zone = 'resource "terraform_data" "zone" {\n  input = { name = "acme.example", records = 12 }\n}\n'
    files = {**_MODULES, "tidegate.yaml": _PLATFORM, "policies/exposure.rego": _POLICY, "README.md": "# Platform\n"}
    return files | {
        f"{root}/main.tf": _BACKEND.format(bucket=bucket, key=f"platform/{root}") + text
        for root, text in {"shared/dns": zone, **roots}.items()
    }


def _stage(stage: str) -> Mapping[str, str]:
    place = 10 + STAGES.index(stage)
    network = _module("network", stage, cidr=f"10.{place}.0.0/16", zones=["us-east-1a", "us-east-1b"])
    database = _module("database", stage, size=_SIZES[stage], backup_days=7)
    shop = _module("service", "shop", image="shop:1.4.0", replicas=_REPLICAS[stage])
    return {"network": network, "database": database, "shop": shop}


def _module(kind: str, name: str, **values: object) -> str:
    lines = [("source", f"../../modules/{kind}"), ("name", name), *values.items()]
    width = max(len(key) for key, _ in lines)
    told = "\n".join(f"  {key.ljust(width)} = {_literal(value)}" for key, value in lines)
    return f'module "{kind}" {{\n{told}\n}}\n'


def _literal(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def analytics(bucket: str) -> Mapping[str, str]:
    """Return the files of a team whose warehouse fails to be applied."""
    reports = (
        'resource "terraform_data" "report" {\n  for_each = toset(["orders", "revenue"])\n  input    = each.key\n}\n'
    )
    warehouse = (
        'resource "terraform_data" "address" {\n  input = "warehouse"\n\n  provisioner "local-exec" {\n'
        f'    command = "echo {_QUOTA!r} >&2; exit 1"\n  }}\n}}\n'
    )
    roots = {"reports": reports, "warehouse": warehouse}
    files = {"tidegate.yaml": _ANALYTICS, "README.md": "# Analytics\n"}
    return files | {
        f"{root}/main.tf": _BACKEND.format(bucket=bucket, key=f"analytics/{root}") + text
        for root, text in roots.items()
    }


def clusters() -> Mapping[str, str]:
    """Return the files of two simulated clusters, one of which manages the other."""
    spec = 'kubernetes: "1.33"\n'
    return {
        "tidegate.yaml": _CLUSTERS,
        "hub/cluster.yaml": spec,
        "shop/cluster.yaml": spec,
        "README.md": "# Clusters\n",
    }
