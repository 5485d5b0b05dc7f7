"""Check runs of a world's deployments: published, moved on, and read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

from tests.builders import deployment_in
from tests.fakes.ports import changed
from tidegate.check_runs.publish_check_run import publish_check_run


def publisher_of(world, forge=None, **links):
    """Return what publishes check runs of a world, on another forge if one is given."""
    ports = changed(world.linked(**links), forge=forge or world.forge)
    return SimpleNamespace(publish=partial(publish_check_run, ports))


def publish(world, deployment, *, again=False, **links):
    publish_check_run(world.linked(**links), deployment.id, again=again)


def move(world, deployment, state):
    """Save the deployment in another state, with what belongs to it."""
    current = world.deployments.get(deployment.id)
    return world.deployments.save(replace(deployment_in(state), version=current.version))


def titles(world):
    return {identifier: check_run.title.partition(":")[0] for identifier, check_run in world.forge.check_runs.items()}
