"""Check runs of a scenario's deployments: published, moved on, and read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

from tests.builders import deployment_in
from tests.fakes.ports import changed
from tidegate.check_runs.publish_check_run import publish_check_run


def publisher_of(scenario, forge=None, **links):
    """Return what publishes check runs of a scenario, on another forge if one is given."""
    ports = changed(scenario.linked(**links), forge=forge or scenario.forge)
    return SimpleNamespace(publish=partial(publish_check_run, ports))


def publish(scenario, deployment, *, again=False, **links):
    publish_check_run(scenario.linked(**links), deployment.id, again=again)


def move(scenario, deployment, state):
    """Save the deployment in another state, with what belongs to it."""
    current = scenario.deployments.get(deployment.id)
    return scenario.deployments.save(replace(deployment_in(state), version=current.version))


def titles(scenario):
    return {
        identifier: check_run.title.partition(":")[0] for identifier, check_run in scenario.forge.check_runs.items()
    }
