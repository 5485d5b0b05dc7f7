"""The roles that roots name: whose credentials the engine gets, what the session is told, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runner.accounts import ALLOWED, RUN, TARGET, installed, session
from tests.runner.conftest import Bench
from tests.runner.engine_keys import COMMAND
from tests.runner.engines import provisioned
from tests.runner.fake_aws import ENGINE_ROLE, Refusal
from tests.runner.speculation import planned, refused, resource
from tidegate.deploys.rules.aws_target import AllowedRole, AllowedRoles, AwsTarget, Phase, to_text
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep

__all__ = ["installed"]
Commit = Callable[..., str]


def tags(bench: Bench) -> dict[str, str]:
    asked = session(bench)
    names = [name for name in asked if name.endswith(".Key")]
    return {asked[name]: asked[name.replace(".Key", ".Value")] for name in names}


def test_a_deploy_is_planned_and_applied_in_the_roles_of_its_phases(installed: Bench, commit: Commit) -> None:
    sha = commit(provisioned(f"env | sort > {installed.directory}/environment"))
    plan = installed.plan(sha, run=RUN, stack="prod")
    assert session(installed)["RoleArn"] == TARGET.plan_role
    installed.run(installed.job(JobKind.APPLY, sha, plan, run=RUN, stack="prod"))
    asked = session(installed)
    assert (asked["RoleArn"], asked["SourceIdentity"]) == (TARGET.apply_role, f"network-{sha[:7]}")
    assert tags(installed) == {
        "tidegate:repository": "acme/infra",
        "tidegate:root": "network",
        "tidegate:stack": "prod",
        "tidegate:phase": "apply",
        "tidegate:deployment": f"network-{sha[:7]}",
    }
    environment = (installed.directory / "environment").read_text().splitlines()
    assert {"AWS_REGION=eu-central-1", "AWS_DEFAULT_REGION=eu-central-1"} <= set(environment)
    assert not [each for each in environment if each.startswith("AWS_ACCESS_KEY_ID=")]
    assert len(installed.aws.assumed) == 2


def test_a_pull_request_is_planned_in_the_role_for_plans(installed: Bench, commit: Commit) -> None:
    planned(installed, commit(resource("network")), run=RUN)
    assert session(installed)["RoleArn"] == TARGET.plan_role
    assert tags(installed)["tidegate:phase"] == "pull_request"


def test_programs_of_steps_have_the_same_region_and_keys(installed: Bench, commit: Commit) -> None:
    show = WorkflowStep(StepKind.RUN, ("sh", "-c", f'echo "in $AWS_REGION"; {COMMAND}'))
    run = RunSettings(plan=(*RUN.plan, show), aws=TARGET)
    plan = installed.plan(commit(resource("network")), run=run)
    assert "in eu-central-1\ngiven: ASIAENGINE\n" in installed.stored_log(plan["job"])


def test_a_region_alone_leaves_the_engine_its_own_role(bench: Bench, commit: Commit) -> None:
    bench.plan(commit(resource("network")), run=RunSettings(aws=AwsTarget(region="eu-central-1")))
    assert session(bench)["RoleArn"] == ENGINE_ROLE


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        (Phase.PLAN, JobKind.PLAN),
        (Phase.APPLY, JobKind.PLAN),
        (Phase.PULL_REQUEST, JobKind.SPECULATE),
        (Phase.APPLY, JobKind.SPECULATE),
    ],
)
def test_a_role_that_is_not_listed_for_the_repository_is_never_asked_for(
    bench: Bench, commit: Commit, missing: Phase, kind: JobKind
) -> None:
    elsewhere = {missing: (AllowedRole(TARGET.role(missing), ("other/*",)),)}
    listed = to_text(AllowedRoles({**ALLOWED, **elsewhere}))
    bench.run(bench.job(kind, commit(resource("network")), run=RUN), TIDEGATE_TARGET_ROLES=listed)
    assert bench.result()["error"] == "TerraformClientError"
    assert f"{missing}_target_roles" in bench.result()["message"]
    assert not bench.aws.assumed


def test_without_a_list_no_role_is_allowed(bench: Bench, commit: Commit) -> None:
    message = refused(bench, commit(resource("network")), run=RUN)
    assert "not allowed" in message
    assert not bench.aws.assumed


def test_a_role_of_tidegates_own_account_is_refused_whatever_is_listed(bench: Bench, commit: Commit) -> None:
    own = ENGINE_ROLE.rpartition("/")[0]
    target = AwsTarget(f"{own}/plan", f"{own}/deploy")
    every = {phase: (AllowedRole(f"{own}/*", ("*",)),) for phase in Phase}
    run = RunSettings(aws=target)
    bench.run(
        bench.job(JobKind.PLAN, commit(resource("network")), run=run),
        TIDEGATE_TARGET_ROLES=to_text(AllowedRoles(every)),
    )
    assert "Tidegate's own" in bench.result()["message"]
    assert not bench.aws.assumed


def test_a_role_that_refuses_the_session_says_what_its_trust_policy_needs(installed: Bench, commit: Commit) -> None:
    installed.aws.refuse = lambda service, _: Refusal(403, "AccessDenied") if service == "sts" else None
    message = refused(installed, commit(resource("network")), run=RUN)
    for said in (TARGET.plan_role, "sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity", "tidegate:phase="):
        assert said in message


def test_a_role_or_an_account_that_is_not_there_is_told_as_well(installed: Bench, commit: Commit) -> None:
    installed.aws.refuse = lambda service, _: Refusal(403, "AccessDenied") if service == "sts" else None
    assert "if the role or account does not exist" in refused(installed, commit(resource("network")), run=RUN)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("RegionDisabledException", "STS is not active in Tidegate's region"),
        ("PackedPolicyTooLarge", "shorten the name"),
    ],
)
def test_what_a_person_mends_for_sts_is_told(installed: Bench, commit: Commit, code: str, advice: str) -> None:
    installed.aws.refuse = lambda service, _: Refusal(400, code) if service == "sts" else None
    message = refused(installed, commit(resource("network")), run=RUN)
    assert f"Tidegate cannot assume the role {TARGET.plan_role}: {code}" in message
    assert advice in message


def test_an_apply_in_a_role_that_refuses_the_session_has_applied_nothing(installed: Bench, commit: Commit) -> None:
    sha = commit(resource("network"))
    plan = installed.plan(sha, run=RUN)
    job = installed.job(JobKind.APPLY, sha, plan, run=RUN)
    installed.aws.refuse = lambda service, _: Refusal(403, "AccessDenied") if service == "sts" else None
    installed.run(job)
    assert installed.result()["error"] == "ApplyNotStarted"
    assert "sts:TagSession" in installed.result()["message"]
    assert not installed.state().exists()


def test_a_failure_of_sts_itself_is_no_mistake_of_people(installed: Bench, commit: Commit) -> None:
    job = installed.job(JobKind.PLAN, commit(resource("network")), run=RUN)
    installed.aws.refuse = lambda service, _: Refusal(400, "InternalFailure") if service == "sts" else None
    installed.run(job)
    assert installed.result()["error"] == "RunnerFault"


def test_a_list_that_cannot_be_read_starts_nothing(bench: Bench, commit: Commit) -> None:
    ended = bench.run(bench.job(JobKind.PLAN, commit(resource("network"))), TIDEGATE_TARGET_ROLES="[1]")
    assert ended.code == 2
    assert "TIDEGATE_TARGET_ROLES" in ended.output
