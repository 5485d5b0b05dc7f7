"""Tokens of jobs: no two jobs have one subject, no name imitates a phase, and trust policies tell them apart."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import any_job
from tidegate.deploys.rules.aws_target import AwsTarget, Phase
from tidegate.deploys.rules.claims import (
    AZURE_AUDIENCE,
    LONGEST_SUBJECT,
    SOURCE_IDENTITY,
    TAGS,
    TRANSITIVE,
    audiences,
    claims,
    subject,
    subject_problem,
)
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.runner_size import RunnerSize
from tidegate.deploys.rules.targets import (
    AzureTarget,
    Cloud,
    GoogleTarget,
    IncompleteTarget,
    account_problem,
    azure_target,
    google_target,
    id_problem,
    provider_problem,
)
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.roots.rules.root import Root
from tidegate_local.aws.iam import matches

ISSUER = "https://tidegate.example"
PROVIDER = "projects/1234/locations/global/workloadIdentityPools/tidegate/providers/tidegate"
GOOGLE = GoogleTarget(
    PROVIDER, "plan-infra@acme-prod.iam.gserviceaccount.com", "apply-infra@acme-prod.iam.gserviceaccount.com"
)
ID = "01234567-89ab-cdef-0123-456789abcde"
AZURE = AzureTarget(f"{ID}0", f"{ID}1", f"{ID}2", f"{ID}3")
#: What decides a subject. Names are any text here: what validates them may allow more one day.
NAMES = st.text(st.sampled_from("ab:/%*?3A.é"), max_size=6)
PHASES = [(JobKind.PLAN, False), (JobKind.APPLY, False), (JobKind.SPECULATE, False), (JobKind.SPECULATE, True)]
PARTS = st.tuples(NAMES, NAMES, NAMES, st.sampled_from(PHASES))


def job_of(parts):
    repository, stack, root, (kind, drift) = parts
    return replace(any_job(kind=kind, drift=drift), repository=repository, stack=stack, root=Root(root, "."))


def test_a_subject_names_repository_stack_root_and_phase():
    job = any_job(kind=JobKind.APPLY, repository="acme/infra", stack="prod", root=Root("live/app", "live/app"))
    assert subject(job) == "repo:acme/infra:stack:prod:root:live/app:phase:apply"


@given(PARTS, PARTS)
@example(("a", "b", "c:phase:apply", PHASES[2]), ("a", "b", "c", PHASES[1]))
@example(("a:stack:b", "c", "d", PHASES[0]), ("a", "b:stack:c", "d", PHASES[0]))
@example(("a", "%3A", "c", PHASES[0]), ("a", ":", "c", PHASES[0]))
def test_no_two_jobs_have_one_subject(one, other):
    assert (subject(job_of(one)) == subject(job_of(other))) is (one == other)


@given(PARTS)
@example(("a", "b", "c:phase:apply", PHASES[2]))
def test_no_name_imitates_another_phase_or_part(parts):
    said = subject(job_of(parts)).split(":")
    assert said[::2] == ["repo", "stack", "root", "phase"]
    assert len(said) == 8
    assert said[7] == dict(zip(PHASES, ("plan", "apply", "pull_request", "drift"), strict=True))[parts[3]]


@given(PARTS, NAMES, NAMES)
def test_only_applies_match_a_pattern_that_ends_in_their_phase(parts, stack, root):
    pattern = f"repo:*:stack:{stack.replace(':', '*')}*:root:{root.replace(':', '*')}*:phase:apply"
    if matches(pattern, subject(job_of(parts))):
        assert parts[3][0] is JobKind.APPLY


def test_a_token_says_the_same_as_its_subject_in_tags_and_plain_claims():
    job = any_job(kind=JobKind.SPECULATE, repository="acme/infra", stack="prod", ref="refs/pull/5/head")
    said = claims(job, ISSUER, "aud", 1_800_000_000)
    tags = {name: value for name, (value,) in said[TAGS]["principal_tags"].items()}
    for name in ("repository", "stack", "root", "phase", "deployment"):
        assert tags[f"tidegate:{name}"] == said[name]
    assert (said["iss"], said["aud"], said["jti"], said["sha"]) == (ISSUER, "aud", job.id, job.sha)
    assert (said["ref"], said[SOURCE_IDENTITY]) == ("refs/pull/5/head", job.deployment)
    assert set(said[TAGS]["transitive_tag_keys"]) == set(TRANSITIVE) <= set(tags)


def test_a_token_is_valid_from_a_minute_ago_until_its_job_must_have_ended():
    said = claims(any_job(), ISSUER, "aud", 1_800_000_000)
    assert said["iat"] == said["nbf"] == 1_800_000_000 - 60
    assert said["exp"] == 1_800_000_000 + 3600 + 300


def test_a_token_of_an_apply_that_may_take_hours_lives_as_long():
    long = any_job(kind=JobKind.APPLY, size=RunnerSize(apply_seconds=8 * 3600))
    assert claims(long, ISSUER, "aud", 1_800_000_000)["exp"] == 1_800_000_000 + 8 * 3600 + 300


def test_a_subject_that_aws_does_not_take_is_told():
    job = any_job(repository=f"acme/{'r' * 95}", stack="s" * 80)
    room = LONGEST_SUBJECT - len(subject(replace(job, root=Root("", "."))))
    assert not subject_problem(subject(replace(job, root=Root("r" * room, "."))))
    said = subject_problem(subject(replace(job, root=Root("r" * (room + 1), "."))))
    assert "255" in said
    assert "shorter name" in said


def test_a_job_needs_a_token_for_each_cloud_that_it_works_in():
    role = "arn:aws:iam::210987654321:role/"
    chained = AwsTarget(f"{role}plan", f"{role}apply")
    assert audiences(RunSettings(), "sts") == {}
    assert audiences(RunSettings(aws=chained), "sts") == {}
    every = RunSettings(aws=replace(chained, web_identity=True), google=GOOGLE, azure=AZURE)
    assert audiences(every, "sts") == {
        Cloud.AWS: "sts",
        Cloud.GOOGLE: f"https://iam.googleapis.com/{PROVIDER}",
        Cloud.AZURE: AZURE_AUDIENCE,
    }


def test_only_an_apply_becomes_what_applies():
    for phase in Phase:
        kind = "apply" if phase is Phase.APPLY else "plan"
        assert GOOGLE.role(phase).startswith(kind)
        assert AZURE.role(phase) == getattr(AZURE, f"{kind}_client_id")


def as_said(target):
    return {name: getattr(target, name) for name in target.__slots__}


def test_a_target_is_what_is_said_of_it():
    assert google_target(as_said(GOOGLE)) == GOOGLE
    assert azure_target(as_said(AZURE)) == AZURE
    assert azure_target({**as_said(AZURE), "subscription_id": ""}) == replace(AZURE, subscription_id="")
    assert google_target(dict.fromkeys(as_said(GOOGLE), "")) is None
    assert azure_target({}) is None


@pytest.mark.parametrize(
    ("make", "said", "problem"),
    [
        (google_target, {"provider": PROVIDER}, "google has no plan_service_account and no apply_service_account"),
        (azure_target, {"plan_client_id": ID}, "azure has no tenant_id and no apply_client_id"),
        (google_target, {**as_said(GOOGLE), "apply_service_account": GOOGLE.plan_service_account}, "are both"),
        (azure_target, {**as_said(AZURE), "apply_client_id": AZURE.plan_client_id}, "are both"),
    ],
)
def test_a_target_without_what_it_needs_is_refused(make, said, problem):
    with pytest.raises(IncompleteTarget, match=re.escape(problem)):
        make(said)


@pytest.mark.parametrize("judge", [provider_problem, account_problem, id_problem])
def test_names_have_the_clouds_forms(judge):
    good = {provider_problem: PROVIDER, account_problem: GOOGLE.plan_service_account, id_problem: f"{ID}0"}[judge]
    assert not judge(good)
    for bad in (f"{good}\n", good.upper(), f"//{good}", "", "x"):
        assert judge(bad)
