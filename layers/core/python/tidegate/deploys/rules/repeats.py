"""Deployments that were requested twice."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import moment


def already_queued(wanted: Deployment, earlier: Deployment, quoted: Callable[[str], str] = str) -> str:
    """Return that another deployment is what is asked for, without a full stop. ``quoted`` writes names."""
    root = quoted(wanted.root.name)
    what = root if wanted.stack == DEFAULT_STACK else f"{root} of stack {quoted(wanted.stack)}"
    state, asked = earlier.state.replace("_", " "), moment(earlier.request.at)
    return (
        f"{what} at {quoted(wanted.revision.short)} is already queued ({state}): {quoted(earlier.request.by)} "
        f"requested it on {asked}"
    )
