"""The template, synthesized once and kept until an input changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cdk.own_site import KEY, OWN
from tidegate_cdk.permissions import Permission, permissions
from tidegate_local.stack.deploy import Assembly
from tidegate_local.stack.synth import synthesize

OTHER = {
    "prefix": "acme-prod",
    "architecture": "x86_64",
    "state_bucket": "acme-states",
    "apply_policies": ["PowerUserAccess"],
    "plan_target_roles": [{"role": "arn:aws:iam::210987654321:role/named-plan", "repositories": ["acme/*"]}],
    "apply_target_roles": [
        "arn:aws:iam::210987654321:role/deploy",
        {"role": "arn:aws:iam::210987654321:role/named-deploy-*", "repositories": ["acme/*"]},
    ],
    "pull_request_target_roles": [{"role": "arn:aws:iam::210987654321:role/named-plan", "repositories": ["acme/*"]}],
    "runner_secrets": {"TF_VAR_token": "acme/token"},
    "identity_keys": ["2026-11", "2026-05"],
    "cluster_registrars": ["iam-authentication", "installation", "packages"],
    "cluster_hooks": [
        {"name": "tell", "when": "always", "command": ["tell", "them"], "on_error": "warn", "seconds": "60"},
        {
            "name": "approve",
            "when": "before",
            "task": "upgrade-cluster",
            "function": "arn:aws:lambda:eu-west-1:123456789012:function:approve",
        },
        {"name": "listed", "function": "arn:aws:lambda:eu-west-1:123456789012:function:listed"},
        {"name": "once", "when": "after", "workflow": "workload-create", "command": ["once"], "about": "Once."},
    ],
    "destinations": {
        "hooks": {"kind": "webhook", "url": "https://hooks.example/x", "secret": "notify/hooks"},
        "deploys": {"kind": "slack", "channel": "C0DEPLOYS", "secret": "notify/slack", "repositories": ["acme/*"]},
        "owners": {"kind": "email", "email": "owners@example.com"},
    },
    "alarm_email": "operators@example.com",
    "dashboard": "true",
    "container_insights": "true",
    "docs_url": "https://docs.example.com/tidegate/",
}


@pytest.fixture(scope="session")
def template_file() -> Path:
    """Return the template's path; beside it lies what is deployed with it."""
    from tidegate_cdk.sources import ROOT

    return synthesize(ROOT, {}) / "Tidegate.template.json"


@pytest.fixture(scope="session")
def template(template_file: Path) -> dict[str, Any]:
    """Return the template, with the definitions of state machines that are files beside it."""
    return dict(Assembly.read(template_file.parent, "Tidegate").template)


@pytest.fixture(scope="session")
def allowed(template: dict[str, Any]) -> list[Permission]:
    """Return the statements of all roles that allow something."""
    return [permission for permission in permissions(template) if permission.effect == "Allow"]


@pytest.fixture(scope="session")
def other_file() -> Path:
    """Return the path of the template of another installation, which sets what makes more resources or rights."""
    from tidegate_cdk.sources import ROOT

    (file,) = synthesize(ROOT, OTHER).glob("*.template.json")
    return file


@pytest.fixture(scope="session")
def other(other_file: Path) -> dict[str, Any]:
    return dict(Assembly.read(other_file.parent, other_file.name.partition(".")[0]).template)


@pytest.fixture(scope="session")
def own() -> dict[str, Any]:
    """Return the template of an installation with a network, a domain and keys of its own."""
    from tidegate_cdk.sources import ROOT

    (file,) = synthesize(ROOT, OWN).glob("*.template.json")
    return dict(Assembly.read(file.parent, file.name.partition(".")[0]).template)


@pytest.fixture(scope="session")
def behind_gateways() -> dict[str, Any]:
    """Return the template of an installation whose runners are behind a NAT gateway."""
    from tidegate_cdk.sources import ROOT

    (file,) = synthesize(ROOT, {"prefix": "nat", "nat_gateways": "1", "kms_key": KEY}).glob("*.template.json")
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def resources(template: dict[str, Any]):
    """Find resources of a type: a mapping of logical ids to properties."""

    def of_type(kind: str) -> dict[str, dict[str, Any]]:
        return {
            logical_id: resource.get("Properties", {})
            for logical_id, resource in template["Resources"].items()
            if resource["Type"] == kind
        }

    return of_type
