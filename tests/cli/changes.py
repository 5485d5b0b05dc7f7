"""A change as the API tells it: three stacks, one after the other."""

from __future__ import annotations

from tests.cli.conftest import SHA, brief

WAITS = {
    "deployment": "staging-network",
    "root": "network",
    "stack": "staging",
    "state": "awaiting_review",
    "before": "apply",
    "url": "",
}


def stack(name, tier, state, members, **after):
    done = sum(member["state"] == "applied" for member in members)
    rules = {"plan_after": [], "apply_after": []} | after
    counts = {"done": done, "running": 0, "waiting": len(members) - done, "failed": 0, "wave": None}
    return {"name": name, "tier": tier, "state": state, "members": members} | counts | rules


def member(stack_, state, **fields):
    return brief(id=f"{stack_}-network", root="network", stack=stack_, state=state, change_set="c-1") | {
        "why": "",
        "gated_by": [],
        "gated_by_left_out": 0,
        **fields,
    }


CHANGE = {
    "id": "c-1",
    "repository": "acme/live",
    "revision": SHA,
    "branch": "main",
    "pull_request": None,
    "layers": 1,
    "left_out": 0,
    "url": "https://tidegate.example.com/changes/c-1",
    "stacks": [
        stack("dev", 1, "applied", [member("dev", "applied")]),
        stack("staging", 2, "awaiting_review", [member("staging", "awaiting_review")], apply_after=["dev"]),
        stack("prod", 3, "gated", [member("prod", "gated", gated_by=[WAITS])], apply_after=["staging"]),
    ],
}
