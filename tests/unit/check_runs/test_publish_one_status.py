"""Deployments on a forge that has one status for each, whatever was completed on it before."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.builders import any_deployment
from tests.fakes.forge import MemoryForge
from tests.unit.check_runs.shown_check_runs import move, publish, titles
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.state import State


@dataclass(slots=True)
class StatusForge(MemoryForge):
    """Shows what was created last, under the same number for the same external id."""

    def create_check_run(self, repository, check_run):
        for number, shown in self.check_runs.items():
            if shown.external_id == check_run.external_id:
                self.check_runs[number] = check_run
                return number
        return MemoryForge.create_check_run(self, repository, check_run)


@pytest.fixture
def scenario():
    return Scenario(forge=StatusForge())


def test_what_goes_on_after_a_review_is_shown_in_its_place(scenario):
    deployment = scenario.put(any_deployment())
    for state, told in ((State.AWAITING_REVIEW, "Review the plan"), (State.APPLYING, "Applying")):
        move(scenario, deployment, state)
        publish(scenario, deployment)
        assert titles(scenario) == {1: told}
