"""Plan and apply jobs from the start token to the report, with the real engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from tests.runner.conftest import Bench
from tidegate.domain.job import JobKind

ONE_RESOURCE = """
resource "terraform_data" "network" { input = "10.0.0.0/16" }
output "network" { value = terraform_data.network.output }
"""


def test_a_reviewed_plan_is_applied(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit(ONE_RESOURCE)

    plan = bench.plan(sha)

    assert plan["changes"]["add"] == 1
    assert plan["changes"]["outputs"] == 1
    assert plan["job"] == f"network-{sha[:7]}-plan-1"
    for part in ("file", "json", "text"):
        stored = bench.aws.objects[plan[part]["key"]]
        assert hashlib.sha256(stored).hexdigest() == plan[part]["sha256"]
    text = bench.aws.objects[plan["text"]["key"]].decode()
    assert text.startswith("Terraform used the selected providers")
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in text
    assert "Saved the plan" not in text
    assert not bench.state().exists()

    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))

    assert ended.code == 0, ended.output
    assert bench.result()["job"] == f"network-{sha[:7]}-apply-1"
    assert "Apply complete! Resources: 1 added" in bench.result()["last_lines"]
    assert json.loads(bench.state().read_text())["resources"][0]["name"] == "network"
    assert bench.left_behind() == []
