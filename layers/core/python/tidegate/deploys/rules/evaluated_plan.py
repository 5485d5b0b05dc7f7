"""Plans of a pull request that policies evaluated: a merge with the same plan keeps its approvals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.speculative_plan import SpeculativePlan


@dataclass(frozen=True, slots=True)
class EvaluatedPlan:
    """The plan of a root in a stack at a head, by its digest."""

    root: str
    stack: str
    head: str
    digest: str


def evaluated_plans(layers: Iterable[SpeculativePlan]) -> tuple[EvaluatedPlan, ...]:
    """Return the plans of layers that all of their policy sets evaluated, as a merge would deploy them."""
    return tuple(
        EvaluatedPlan(each.root.name, each.stack, each.sha, each.digest)
        for each in layers
        if each.digest
        and not (each.options or each.is_extra)
        and {held.name for held in each.policy_sets} <= {verdict.policy_set for verdict in each.verdicts}
    )


def says_the_same(deployment: Deployment, head: str, plans: Iterable[EvaluatedPlan]) -> bool:
    """Tell whether a deployment's plan equals one that a pull request showed at its ``head``."""
    wanted = EvaluatedPlan(deployment.root.name, deployment.stack, head, deployment.planned.digest)
    return bool(deployment.planned.digest) and wanted in plans
