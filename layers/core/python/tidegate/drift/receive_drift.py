"""Process a drift detection run's request: enqueue deployments of its commit that undo the drift.

A repeated request is harmless.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidegate.config.resolution import configure
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.discovery.discover_roots import all_roots
from tidegate.discovery.new_deployments import (
    Request,
    enqueue_change,
    holding,
    new_deployments,
    required_of,
    requiring,
)
from tidegate.discovery.repository_source import fetch_commit, reading_of
from tidegate.discovery.root_index import Selection
from tidegate.drift.conclude_drift import drift_request
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.roots.rules.root import Revision
from tidegate.rules.access import EVERYBODY
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.errors import CyclicChange, InvalidConfiguration, NotFound
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.authors import UNKNOWN


def receive_drift(ports: Ports, delivery: Delivery) -> str:
    """Return the result of the request, and store it with the delivery. Raise as for pushes."""
    return conclude(ports.deliveries, delivery.id, lambda: _outcome(ports, delivery))


def _outcome(ports: Ports, delivery: Delivery) -> DeliveryOutcome:
    try:
        deployments = _deployments(ports, delivery)
    except (NotFound, InvalidConfiguration, CyclicChange) as error:
        return DeliveryOutcome(f"{error} No deployment was queued.")
    enqueue_change(ports, deployments)
    names = ", ".join(each.root.name for each in deployments)
    return DeliveryOutcome(f"Queued deployments to undo drift: {names}.", tuple(each.id for each in deployments))


def _deployments(ports: Ports, delivery: Delivery) -> list[Deployment]:
    given = delivery.fields
    repository, wanted = given["repository"], {(root, stack) for root, stack in given["roots"]}
    configuring = partial(configure, branch=given["branch"], dest_branch=given["branch"])
    with fetch_commit(ports, repository, given["sha"]) as trees:
        known = all_roots(trees, reading_of(ports, given["repository"], configuring))
    configured = known.configured
    chosen = [each for each in configured.roots if each.key in wanted]
    members = Selection(configured, chosen).deployables([each.key for each in chosen])
    request = Request(
        given["repository"],
        Revision(given["sha"], given["branch"]),
        Trigger.DRIFT,
        drift_request(delivery.id.removeprefix("drift-")),
        TIDEGATE,
        delivery.received_at,
        UNKNOWN,  # They are found when it is its turn: what is deployed then is what it changes.
    )
    why = f"The schedule {given['schedule']} found drift."
    deployments = requiring(new_deployments(request, members), required_of(known.configuration, members))
    held = holding(ports, request, known.configuration, members, deployments)
    return [_judged(replace(each, change=replace(each.change, why=why))) for each in held]


def _judged(deployment: Deployment) -> Deployment:
    """Require a review of the plan if not everybody may deploy: no person requested it."""
    if deployment.settings.access is None or EVERYBODY in deployment.settings.access.apply:
        return deployment
    return replace(
        deployment,
        settings=replace(
            deployment.settings, review_rule=replace(deployment.settings.review_rule, when=PlanReview.ALWAYS)
        ),
    )
