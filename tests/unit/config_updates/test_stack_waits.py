"""Environments that wait for stacks of Terraform roots in other repositories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployed, any_deployment, deployment_in
from tests.unit.config_updates.promotion_scenario import REPOSITORY, THREE, Promotions
from tidegate.config_updates.promotions.follow_stacks import follow_stacks
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.deploys.rules.state import State
from tidegate.messages.queues import FollowStacks
from tidegate.ports import KnownRepository

INFRA = "acme/infra"
AFTER = THREE.replace(
    "targets: [{name: i1}]", f"targets: [{{name: i1}}], after: [{{repository: {INFRA}, stack: network}}]"
)
LISTED = {"TIDEGATE_UPDATE_REPOSITORIES": f"acme/other, {INFRA}"}


def _shop(settings=LISTED):
    shop = Promotions(AFTER, settings=settings)
    at = any_deployment().request.at
    shop.ports.repository_index.remember(KnownRepository(INFRA, "main", "c" * 40, at))
    return shop


def _deployment(state=State.QUEUED, stack="network", **fields):
    return deployment_in(state, repository=INFRA, stack=stack, **fields)


def test_a_stack_without_open_or_failed_deployments_lets_the_image_set_pass():
    shop = _shop()
    shop.complete()
    assert len(shop.waiting("internal")) == 1


def test_a_stack_with_a_queued_deployment_is_waited_for():
    shop = _shop()
    queued = _deployment()
    shop.ports.queues.enqueue(queued)
    promotion = shop.promotion(shop.complete())
    assert promotion.reason == (
        f"It waits for the stack network of acme/infra: the deployment of {queued.root.name} at "
        f"{queued.revision.sha[:12]} is not finished."
    )
    assert shop.waiting("internal") == []


def test_a_deployment_of_another_stack_is_not_waited_for():
    shop = _shop()
    shop.ports.queues.enqueue(_deployment(stack="monitoring"))
    shop.complete()
    assert len(shop.waiting("internal")) == 1


def test_a_deployment_of_a_later_push_is_not_waited_for():
    shop = _shop()
    later = any_deployment().request.at - timedelta(hours=1)
    shop.ports.repository_index._repositories[INFRA] = KnownRepository(INFRA, "main", "c" * 40, later)
    shop.ports.queues.enqueue(_deployment())
    shop.complete()
    assert len(shop.waiting("internal")) == 1


def test_a_failed_deployment_is_waited_for_until_a_later_one_is_done():
    shop = _shop()
    queued = _deployment()
    shop.ports.queues.enqueue(queued)
    head, first = shop.ports.queues.read(queued.queue)
    failed = replace(_deployment(State.APPLY_FAILED), version=shop.ports.deployments.get(queued.id).version)
    undone = replace(head, undone=replace(any_deployed(), deployment=failed.id))
    head = shop.ports.queues.commit(head, undone, take=first, deployment=failed)
    promotion = shop.promotion(shop.complete())
    assert promotion.reason.endswith("failed.")
    shop.ports.queues.commit(head, replace(head, undone=None))
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    assert len(shop.waiting("internal")) == 1


@pytest.mark.parametrize(("repository", "is_told"), [(INFRA, True), ("acme/other", False)])
def test_the_end_of_a_deployment_lets_the_image_set_go_on_that_waits_for_its_repository(repository, is_told):
    shop = _shop()
    queued = _deployment()
    shop.ports.queues.enqueue(queued)
    shop.complete()
    head, first = shop.ports.queues.read(queued.queue)
    shop.ports.queues.commit(head, replace(head), take=first, deployment=deployment_in(State.APPLIED, repository=INFRA))
    follow_stacks(shop.ports, FollowStacks(repository=repository))
    shop.go_on()
    assert bool(shop.waiting("internal")) is is_told


def test_an_image_set_that_still_waits_for_its_targets_is_left_alone():
    shop = _shop()
    entry = shop.announce("one")
    shop.land(entry, "one")
    before = shop.promotion(entry)
    follow_stacks(shop.ports, FollowStacks(repository=INFRA))
    assert shop.promotion(entry) == before


@pytest.mark.parametrize("settings", [{}, {"TIDEGATE_UPDATE_REPOSITORIES": "acme/other"}])
def test_a_repository_that_the_installation_does_not_list_is_waited_for_for_ever(settings):
    shop = _shop(settings)
    promotion = shop.promotion(shop.complete())
    assert promotion.reason == (
        "The installation does not allow to wait for the stack network of acme/infra: an operator can list the "
        "repository."
    )
    assert shop.waiting("internal") == []
