"""What a session in a target role is told of its job, within what STS takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_job, any_replay_job
from tidegate.deploys.rules.aws_session import phase_of, phases_of, session_name, session_tags, source_identity
from tidegate.deploys.rules.aws_target import Phase
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.roots.rules.root import Root, deployment_id, repository_name, root_name
from tidegate.rules.errors import InvalidName

#: Of the API reference of STS: data type Tag, and AssumeRole.
VALUE = re.compile(r"[^\W_]*[\w .:/=+@-]*")
NAME = re.compile(r"[A-Za-z0-9_+=,.@-]{2,64}")
#: The kinds of jobs that run an engine.
ENGINES = tuple(kind for kind in JobKind if kind is not JobKind.REPLAY)


@pytest.mark.parametrize(
    ("kind", "drift", "phase", "told"),
    [
        (JobKind.PLAN, False, Phase.PLAN, "plan"),
        (JobKind.APPLY, False, Phase.APPLY, "apply"),
        (JobKind.TASK, False, Phase.APPLY, "apply"),
        (JobKind.SPECULATE, False, Phase.PULL_REQUEST, "pull_request"),
        (JobKind.SPECULATE, True, Phase.PULL_REQUEST, "drift"),
    ],
)
def test_a_session_tells_what_it_is_for(kind, drift, phase, told):
    job = any_job(kind=kind, drift=drift, repository="acme/infra", stack="prod", root=Root("live/app", "live/app"))
    assert phase_of(job) is phase
    assert session_tags(job) == {
        "tidegate:repository": "acme/infra",
        "tidegate:root": "live/app",
        "tidegate:stack": "prod",
        "tidegate:phase": told,
        "tidegate:deployment": job.deployment,
    }


@pytest.mark.parametrize("kind", ENGINES)
def test_a_job_asks_for_its_own_phase_and_a_plan_for_the_apply_that_follows(kind):
    job = any_job(kind=kind)
    assert phases_of(job)[0] is phase_of(job)
    assert Phase.APPLY in phases_of(job)


def test_a_replay_has_no_phase_and_so_no_session():
    with pytest.raises(KeyError):
        phases_of(any_replay_job())


def test_an_apply_needs_no_role_of_pull_requests_and_no_plan_of_a_merge_does():
    assert all(Phase.PULL_REQUEST not in phases_of(any_job(kind=kind)) for kind in (JobKind.PLAN, JobKind.APPLY))


def test_a_session_is_found_by_its_deployment_and_its_job():
    job = any_job()
    assert source_identity(job) == job.deployment
    assert job.id.endswith(session_name(job))


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=120), st.sampled_from(ENGINES))
def test_whatever_is_a_name_here_is_taken_by_sts(repository, root, kind):
    _check(f"acme/{repository}", root, kind)


@given(
    st.from_regex(r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,3}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}", fullmatch=True),
    st.sampled_from(ENGINES),
)
def test_all_repositories_and_roots_are_taken_by_sts(repository, root, kind):
    _check(repository, root, kind)


def _check(repository: str, root: str, kind: JobKind) -> None:
    try:
        named = Root(root_name(root), "app")
        repository_name(repository)
    except InvalidName:
        return
    deployment = deployment_id(repository, root, "0" * 40, "merge", "prod")
    job = replace(
        any_job(kind=kind, root=named), id=job_id(deployment, kind, 1), deployment=deployment, repository=repository
    )
    assert all(len(value) <= 256 and VALUE.fullmatch(value) for value in session_tags(job).values())
    assert NAME.fullmatch(session_name(job))
    assert NAME.fullmatch(source_identity(job))
