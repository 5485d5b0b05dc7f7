"""A repository's policies, and how its pull requests stand with them."""

from __future__ import annotations

from tests.e2e.deadlines import eventually

POLICY = """package main

import rego.v1

deny contains {"msg": msg, "address": each.address, "file": "app/main.tf", "line": 1} if {
  some each in input.resource_changes
  each.change.after.input == "forbidden"
  msg := sprintf("%s is forbidden", [each.address])
}
"""

SETS = "policy_sets:\n  words: {paths: [policies], owners: ['user:reviewer']}\n"


def standing(project, head, conclusion, name="tidegate/policy: words"):
    """Return the newest check run of a head once it ended so: another base branch opens a newer one."""

    def look():
        runs = project.check_runs(head, name)
        return runs[0] if runs and runs[0]["conclusion"] == conclusion else None

    try:
        return eventually(look, what=f"{name} {conclusion}")
    except AssertionError as late:
        late.add_note(f"{project.check_runs(head, name)}\n{project.tidegate.story()}")
        raise
