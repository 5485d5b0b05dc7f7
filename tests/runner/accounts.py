"""A target that an installation allows, and what its role was asked with."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from tests.runner.conftest import Bench
from tidegate.deploys.rules.aws_target import AllowedRole, AllowedRoles, AwsTarget, Phase, to_text
from tidegate.deploys.rules.workflow import RunSettings

ACCOUNT = "arn:aws:iam::210987654321:role"
TARGET = AwsTarget(f"{ACCOUNT}/plan", f"{ACCOUNT}/deploy", "eu-central-1")
MINE = ("acme/*",)
ALLOWED = {
    Phase.PLAN: (AllowedRole(TARGET.plan_role, MINE),),
    Phase.APPLY: (AllowedRole(TARGET.apply_role, MINE),),
    Phase.PULL_REQUEST: (AllowedRole(TARGET.plan_role, MINE),),
}
RUN = RunSettings(aws=TARGET)


@pytest.fixture
def installed(bench: Bench) -> Bench:
    """A runner of an installation that allows the target."""
    bench.environ["TIDEGATE_TARGET_ROLES"] = to_text(AllowedRoles(ALLOWED))
    return bench


def session(bench: Bench) -> dict[str, str]:
    """Return what the only role that was assumed last was asked with."""
    return {name: values[0] for name, values in parse_qs(bench.aws.assumed[-1]).items()}
