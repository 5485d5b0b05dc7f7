"""Deployments whose records would be larger than what can be stored: they are kept without what makes them so."""

from __future__ import annotations

from dataclasses import replace

from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.workflow import RunSettings

TOO_LARGE = (
    "The record of this deployment exceeds 400 KB. It holds the resolved steps and variables, the access rules, "
    "and the roots that depends_on matches. Shorten these in the configuration and merge the change."
)


def reduced(deployment: Deployment) -> Deployment:
    """Return what can be stored of a deployment: enough to refuse it, and for others to wait for it in vain.

    It waits for itself as for something refused, so that it never goes on.
    """
    own = deployment.root.name, deployment.stack
    small = replace(
        deployment,
        settings=replace(deployment.settings, run=RunSettings(), access=None),
        change=replace(deployment.change, waits=Waits(refused=(own,)), why=""),
        within=(),
        tags=(),
    )
    return replace(small, commits=replace(small.commits, authors=(), authors_known=False))


def is_reduced(deployment: Deployment) -> bool:
    """Tell whether this is all that could be stored of a deployment."""
    return (deployment.root.name, deployment.stack) in deployment.change.waits.refused
