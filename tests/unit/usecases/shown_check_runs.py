"""Check runs of a world's deployments: published, moved on, and read."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import deployment_in
from tidegate.check_runs.publish_check_run import CheckRunPublisher
from tidegate.gates.tell_waiting import WaitingTeller


def publisher_of(world, forge=None, **links):
    waiting = WaitingTeller(world.change_sets, world.deployments, world.announcements)
    forge = forge or world.forge
    return CheckRunPublisher(
        world.deployments, world.check_runs, forge, world.announcements, world.painter(**links), waiting
    )


def publish(world, deployment, *, again=False, **links):
    publisher_of(world, **links).publish(deployment.id, again=again)


def move(world, deployment, state):
    """Save the deployment in another state, with what belongs to it."""
    current = world.deployments.get(deployment.id)
    return world.deployments.save(replace(deployment_in(state), version=current.version))


def titles(world):
    return {identifier: check_run.title.partition(":")[0] for identifier, check_run in world.forge.check_runs.items()}
