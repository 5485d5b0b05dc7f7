from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_job, any_replay_job
from tests.fakes.ports import changed
from tests.identity_keys import Signer
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.issued import NOTHING
from tidegate.deploys.rules.job import job_digest
from tidegate.deploys.rules.targets import AzureTarget, Cloud
from tidegate.deploys.rules.workflow import CloneSettings, RunSettings
from tidegate.jobs.dispatch_job import dispatch_job
from tidegate.messages import DispatchJob
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, JobGone, NotFound, RepositoriesUnreadable


@pytest.fixture
def scenario():
    scenario = Scenario()
    scenario.jobs.create(any_job())
    return scenario


MESSAGE = DispatchJob(job=any_job().id, token="task-token")


def test_the_runner_finds_both_tokens_in_the_jobs_record(scenario):
    dispatch_job(scenario.ports, MESSAGE)
    taken = scenario.jobs.take(any_job().id, "runner")
    assert (taken.token, taken.clone_token) == ("task-token", "clone-token-of-acme/infra")


def test_the_clone_token_is_also_for_the_repositories_that_the_file_lists(scenario):
    clone = CloneSettings(("modules",))
    scenario.jobs.create(any_job(id="other-plan-1", run=RunSettings(clone=clone)))
    dispatch_job(scenario.ports, DispatchJob(job="other-plan-1", token="task-token"))
    taken = scenario.jobs.take("other-plan-1", "runner")
    assert taken.clone_token == "clone-token-of-acme/infra-and-acme/modules"


def test_nothing_is_handed_over_with_a_list_of_repositories_that_the_app_cannot_read(scenario):
    refusal = ForgeRefused(422, "no such repository")
    scenario.forge.failures = [RepositoriesUnreadable(("acme/modules",), refusal)]
    with pytest.raises(ForgeRefused, match=r"acme/modules.*clone.repositories.*no such repository"):
        dispatch_job(scenario.ports, MESSAGE)
    assert scenario.jobs.token(any_job().id) is None


def test_nothing_is_handed_over_while_the_forge_gives_no_token(scenario):
    scenario.forge.failures = [ForgeUnavailable("down")]
    with pytest.raises(ForgeUnavailable):
        dispatch_job(scenario.ports, MESSAGE)
    assert scenario.jobs.token(any_job().id) is None


def test_a_job_that_a_runner_has_taken_is_not_handed_over_again(scenario):
    dispatch_job(scenario.ports, MESSAGE)
    scenario.jobs.take(any_job().id, "runner")
    with pytest.raises(JobGone):
        dispatch_job(scenario.ports, MESSAGE)


def test_a_closed_job_is_not_handed_over(scenario):
    scenario.jobs.close(any_job().id)
    with pytest.raises(JobGone):
        dispatch_job(scenario.ports, MESSAGE)


def test_a_job_that_does_not_exist_is_not_handed_over(scenario):
    with pytest.raises(NotFound):
        dispatch_job(scenario.ports, DispatchJob(job="no-such-job", token="t"))


def test_the_runner_finds_the_tokens_of_its_identity_once(scenario):
    job = any_job(id="other-plan-1", run=RunSettings(azure=AzureTarget("tenant", "plan", "apply")))
    scenario.jobs.create(job)
    ports = changed(scenario.ports, token_signer=Signer())
    dispatch_job(ports, DispatchJob(job=job.id, token="task-token", digest=job_digest(job)))
    assert scenario.jobs.take(job.id, "runner").identity.tokens.keys() == {Cloud.AZURE}
    assert scenario.jobs.take(job.id, "runner").identity == NOTHING


def test_a_replay_gets_a_token_for_its_own_repository_alone_and_no_cloud_identity(scenario):
    run = RunSettings(clone=CloneSettings(("modules",)), azure=AzureTarget("tenant", "plan", "apply"))
    job = replace(any_replay_job(), run=run)
    scenario.jobs.create(job)
    message = DispatchJob(job=job.id, token="task-token", digest=job_digest(job))
    dispatch_job(scenario.ports, message)
    taken = scenario.jobs.take(job.id, "runner")
    assert (taken.clone_token, taken.identity) == (f"clone-token-of-{job.repository}", NOTHING)
    with pytest.raises(JobGone):
        dispatch_job(scenario.ports, message)
