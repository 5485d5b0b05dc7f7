"""Commands for people to copy into comments."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment

#: Characters of a plan's SHA-256 in an answer: enough that no other plan matches.
SHOWN_DIGEST = 16


def approve_command(deployment: Deployment, prefix: str = "tidegate") -> str:
    """Return the comment that approves the plan of a deployment."""
    digest = f" {deployment.planned.plan.file.sha256[:SHOWN_DIGEST]}" if deployment.planned.plan else ""
    return f"{prefix} approve -p {deployment.root.name}{digest}"
