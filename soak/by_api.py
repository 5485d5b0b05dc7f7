"""What people and programs do through Tidegate's HTTP API: deploy by hand, decide about plans, unlock."""

from __future__ import annotations

import json
from typing import Any

import httpx

from soak.harness import ONLOOKERS, WRITERS, Harness, root_of

#: Members of the team that may deploy by hand, and somebody who is none.
_OPERATORS = ("maintainer", "reviewer")


def deploy_by_hand(harness: Harness) -> str:
    """Ask for the default branch's head on a root or a few."""
    roots, by = harness.some_roots(), harness.chance.choice((*_OPERATORS, *ONLOOKERS))
    harness.note(by, "Deploy", roots)
    answer = post(harness, by, "deployments", {"repository": harness.repository, "roots": roots})
    return f"{by}: {', '.join(roots)}: {answer}"


def decide_by_api(harness: Harness) -> str | None:
    """Approve or reject a plan."""
    waiting = harness.with_button("Approve")
    if not waiting:
        return None
    run, by = harness.chance.choice(waiting), harness.chance.choice((*WRITERS, *ONLOOKERS))
    decision, button = harness.chance.choice((("approve", "Approve"), ("approve", "Approve"), ("reject", "Reject")))
    harness.note(by, button, [root_of(run)], str(run["external_id"]))
    deployment = f"deployments/{run['external_id']}"
    status, shown = _send(harness, by, deployment)
    seen = json.loads(shown)["plan_digest"] if status == "200" else "0" * 64  # The API may be struck by trouble, too.
    answer = post(harness, by, f"{deployment}/review", {"decision": decision, "plan_digest": seen})
    return f"{by}: {decision} {run['external_id']}: {answer}"


def unlock_by_api(harness: Harness) -> str:
    """Unlock a queue, locked or not."""
    root, by = harness.chance.choice(harness.roots), harness.chance.choice((*WRITERS, *ONLOOKERS))
    harness.free_state(root)
    harness.note(by, "Unlock", [root])
    return f"{by}: {root}: {post(harness, by, 'queue/unlock', {'repository': harness.repository, 'root': root})}"


def post(harness: Harness, by: str, path: str, body: Any) -> str:
    """Ask the API for something; return the status and, of a refusal, the start of the answer, whatever it is."""
    status, answer = _send(harness, by, path, body)
    return status if status.startswith("2") else f"{status} {answer[:120]}".rstrip()


def _send(harness: Harness, by: str, path: str, body: Any = None) -> tuple[str, str]:
    """Return the status and the answer, whatever it is: trouble may strike the API, too."""
    headers = {"Authorization": f"Bearer {by}", "Content-Type": "application/json"}
    address = f"{harness.cloud.info['api_url']}/api/v1/{path}"
    method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
    try:
        answer = httpx.request(method, address, content=content, headers=headers, timeout=60, trust_env=False)
    except httpx.HTTPError as error:
        return str(error), ""
    return str(answer.status_code), answer.text
