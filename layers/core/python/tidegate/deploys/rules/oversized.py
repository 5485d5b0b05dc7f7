"""Deployments whose records exceed the table's limit: they are stored without their large fields."""

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
    """Return the part of a deployment that can be stored: enough to refuse it, and to block its dependents.

    It depends on itself as on a refused deployment, so it never continues.
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
