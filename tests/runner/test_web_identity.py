"""Tokens of jobs in the runner: who the engine is by them, who sees them, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from runner.masking import FORMS_OF_SESSIONS, MASK, Masker
from tests.fakes.ports import memory_ports
from tests.identity_keys import Signer
from tests.runner.conftest import Bench
from tests.runner.engines import provisioned
from tests.runner.fake_aws import JOB_TOKEN, Refusal
from tests.runner.speculation import resource
from tidegate.deploys.rules.aws_target import AllowedRole, AllowedRoles, AwsTarget, Phase, to_text
from tidegate.deploys.rules.issued import Issued
from tidegate.deploys.rules.job import Job, JobKind, job_digest
from tidegate.deploys.rules.targets import AzureTarget, GoogleTarget
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep
from tidegate.jobs.issue_tokens import issue_tokens

Commit = Callable[..., str]
ACCOUNT = "arn:aws:iam::210987654321:role"
AWS = AwsTarget(f"{ACCOUNT}/plan", f"{ACCOUNT}/deploy", web_identity=True)
PROVIDER = "projects/1234/locations/global/workloadIdentityPools/tidegate/providers/tidegate"
GOOGLE = GoogleTarget(PROVIDER, "plan@acme.iam.gserviceaccount.com", "apply@acme.iam.gserviceaccount.com")
AZURE = AzureTarget("tenant", "plan-client", "apply-client", "subscription")
RUN = RunSettings(aws=AWS)
EVERYWHERE = RunSettings(aws=AWS, google=GOOGLE, azure=AZURE)
MINE = ("acme/*",)
ALLOWED = AllowedRoles(
    {phase: tuple(AllowedRole(each.role(phase), MINE) for each in (AWS, GOOGLE, AZURE)) for phase in Phase}
)


class Clock:
    def __init__(self, ahead: float = 0) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time() + self.ahead, UTC)


def issued(job: Job, ahead: float = 0) -> Issued:
    settings = {"TIDEGATE_ISSUER": "https://tidegate.example", "TIDEGATE_IDENTITY_AUDIENCE": "sts.amazonaws.com"}
    ports = memory_ports(settings, token_signer=Signer(), clock=Clock(ahead))
    return issue_tokens(ports, job, job_digest(job))


@pytest.fixture
def installed(bench: Bench) -> Bench:
    """A runner of an installation that allows all targets."""
    bench.environ["TIDEGATE_TARGET_ROLES"] = to_text(ALLOWED)
    return bench


def run(bench: Bench, job: Job) -> None:
    bench.aws.identity = issued(job)
    bench.run(job)


def shell(command: str) -> WorkflowStep:
    return WorkflowStep(StepKind.RUN, ("sh", "-c", command))


def environment(bench: Bench, commit: Commit, settings: RunSettings, kind: JobKind = JobKind.PLAN) -> dict[str, str]:
    """Return the engine's environment in a job."""
    sha = commit(provisioned(f"env | sort > {bench.directory}/environment"))
    if kind is JobKind.APPLY:
        bench.aws.identity = issued(bench.job(JobKind.PLAN, sha, run=settings))
        run(bench, bench.job(kind, sha, bench.plan(sha, run=settings), run=settings))
    else:
        show = replace(settings, plan=(*settings.plan, shell(f"env | sort > {bench.directory}/environment")))
        run(bench, bench.job(kind, sha, run=show))
    assert bench.aws.answer(JOB_TOKEN), "it ended"
    lines = (bench.directory / "environment").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_the_engine_takes_its_keys_with_the_jobs_token_and_has_no_others(installed: Bench, commit: Commit) -> None:
    found = environment(installed, commit, RUN, JobKind.APPLY)
    assert found["AWS_ROLE_ARN"] == AWS.apply_role
    assert found["AWS_ROLE_SESSION_NAME"].endswith("-apply-1")
    assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} & set(found)
    assert not installed.aws.assumed
    asked = {name: values[0] for name, values in parse_qs(installed.aws.tokens[-1]).items()}
    assert (asked["RoleArn"], asked["WebIdentityToken"]) == (AWS.apply_role, installed.aws.identity.tokens["aws"])  # type: ignore[index]


def test_each_cloud_finds_its_own_variables(installed: Bench, commit: Commit) -> None:
    keep = f"cp $GOOGLE_APPLICATION_CREDENTIALS {installed.directory}/google.json"
    found = environment(installed, commit, replace(EVERYWHERE, plan=(*EVERYWHERE.plan, shell(keep))))
    assert found["AWS_ROLE_ARN"] == AWS.plan_role
    assert {name: found[name] for name in found if name.startswith("ARM_")} == {
        "ARM_USE_OIDC": "true",
        "ARM_OIDC_TOKEN_FILE_PATH": found["ARM_OIDC_TOKEN_FILE_PATH"],
        "ARM_TENANT_ID": "tenant",
        "ARM_CLIENT_ID": "plan-client",
        "ARM_SUBSCRIPTION_ID": "subscription",
    }
    google = json.loads((installed.directory / "google.json").read_text())
    assert (google["type"], google["audience"]) == ("external_account", f"//iam.googleapis.com/{PROVIDER}")
    assert google["service_account_impersonation_url"].endswith(f"{GOOGLE.plan_service_account}:generateAccessToken")
    files = {found["AWS_WEB_IDENTITY_TOKEN_FILE"], found["ARM_OIDC_TOKEN_FILE_PATH"]}
    assert len({*files, google["credential_source"]["file"]}) == 3


def test_without_a_role_of_aws_the_engine_keeps_the_installations_own(installed: Bench, commit: Commit) -> None:
    found = environment(installed, commit, RunSettings(azure=AZURE))
    assert found["AWS_CONTAINER_CREDENTIALS_FULL_URI"].startswith("http://127.0.0.1:")
    assert "AWS_WEB_IDENTITY_TOKEN_FILE" not in found


def test_a_token_is_a_file_of_the_job_alone_and_masked_wherever_it_is_printed(installed: Bench, commit: Commit) -> None:
    look = (
        'cat "$AWS_WEB_IDENTITY_TOKEN_FILE"; echo; stat -c "mode %a" "$AWS_WEB_IDENTITY_TOKEN_FILE"; '
        'stat -c "mode %a" "$(dirname "$AWS_WEB_IDENTITY_TOKEN_FILE")"; cat /proc/[0-9]*/cmdline | tr "\\0" " "; '
        f'echo "$AWS_WEB_IDENTITY_TOKEN_FILE" > {installed.directory}/place'
    )
    show = replace(RUN, plan=(*RUN.plan, shell(look)))
    job = installed.job(JobKind.PLAN, commit(resource("network")), run=show)
    run(installed, job)
    log = installed.stored_log(job.id)
    assert "mode 600" in log
    assert "mode 700" in log
    everything = json.dumps([installed.aws.answers, log, installed.aws.log_lines(job.id)])
    for token in installed.aws.identity.tokens.values():
        assert token not in everything
        assert token.rpartition(".")[2] not in everything
    assert not Path((installed.directory / "place").read_text().strip()).parent.exists()
    assert "identity" not in installed.aws.record(job.id)


#: As long as what clouds give, and nowhere twice the same.
LETTERS = "".join(map(str, range(100, 200)))


@pytest.mark.parametrize(
    "secret",
    [
        "IQoJb3JpZ2luX2Vj" + LETTERS + "==",
        "FwoGZXIvYXdzE" + LETTERS,
        "ya29.c." + LETTERS,
        "eyJ0eXAiOiJKV1QifQ." + LETTERS + "." + LETTERS[::-1],
    ],
)
def test_what_a_cloud_gives_for_a_token_is_masked_by_its_form(installed: Bench, commit: Commit, secret: str) -> None:
    # In two halves, as the words of a step are shown.
    said = f'a={secret[:40]} b={secret[40:]}; echo "token=$$a$$b ends"; echo "\'$$a$$b\'"'
    job = installed.job(JobKind.PLAN, commit(resource("network")), run=replace(RUN, plan=(*RUN.plan, shell(said))))
    run(installed, job)
    log = installed.stored_log(job.id)
    assert f"token={MASK} ends" in log
    assert f"'{MASK}'" in log
    assert secret[20:60] not in json.dumps([installed.aws.answers, log, installed.aws.log_lines(job.id)])


def test_the_forms_of_sessions_are_found_in_linear_time() -> None:
    masker = Masker(FORMS_OF_SESSIONS)
    for repeated in ("eyJ", "IQoJb3JpZ2lu/", "ya29.", "eyJaaaaaaaaaaa.", "FwoGZXIvYXdz"):
        begun = time.process_time()
        masker.mask(repeated * (1_000_000 // len(repeated)))
        assert time.process_time() - begun < 2


def told(bench: Bench, commit: Commit, settings: RunSettings = RUN, identity: Issued | None = None) -> tuple[str, str]:
    job = bench.job(JobKind.PLAN, commit(resource("network")), run=settings)
    bench.aws.identity = issued(job) if identity is None else identity
    bench.run(job)
    return bench.result()["error"], bench.result()["message"]


@pytest.mark.parametrize("settings", [RUN, RunSettings(google=GOOGLE), RunSettings(azure=AZURE)])
def test_what_the_installation_does_not_list_is_not_asked_for(
    bench: Bench, commit: Commit, settings: RunSettings
) -> None:
    error, message = told(bench, commit, settings)
    assert error == "TerraformClientError"
    assert "plan_target_roles" in message
    assert not bench.aws.tokens


@pytest.mark.parametrize(
    ("identity", "error", "message"),
    [
        (Issued(problem="No key."), "TerraformClientError", "No key."),
        (Issued(problem="Wait.", passes=True), "RunnerFault", "Wait."),
        (Issued(), "RunnerFault", "The job was dispatched without its token for aws."),
    ],
)
def test_why_there_is_no_token_is_told_and_what_may_pass_is_no_mistake_of_people(
    installed: Bench, commit: Commit, identity: Issued, error: str, message: str
) -> None:
    assert told(installed, commit, identity=identity) == (error, message)


@pytest.mark.parametrize(
    ("code", "error", "advice"),
    [
        ("AccessDenied", "TerraformClientError", "sts:AssumeRoleWithWebIdentity"),
        ("InvalidIdentityToken", "TerraformClientError", "tidegate doctor"),
        ("ExpiredTokenException", "TerraformClientError", "clock skew"),
        ("IDPRejectedClaim", "TerraformClientError", "claim"),
        ("IDPCommunicationError", "RunnerFault", "AWS could not fetch the issuer's"),
        ("RegionDisabledException", "TerraformClientError", "STS is not active in Tidegate's region"),
        ("InternalFailure", "RunnerFault", "STS did not answer"),
    ],
)
def test_a_role_that_does_not_let_the_token_in_says_what_it_came_with(
    installed: Bench, commit: Commit, code: str, error: str, advice: str
) -> None:
    installed.aws.refuse = lambda service, _: Refusal(400, code) if service == "sts" else None
    found, message = told(installed, commit)
    assert found == error
    said = (AWS.plan_role, advice, "aud=sts.amazonaws.com", "sub=repo:acme/infra:stack:default:root:network:phase:plan")
    for each in said:
        assert each in message


@pytest.mark.parametrize(("ahead", "words"), [(600, "s early"), (-7200, "s late")])
def test_clocks_that_differ_are_told(installed: Bench, commit: Commit, ahead: float, words: str) -> None:
    job = installed.job(JobKind.PLAN, commit(resource("network")), run=RUN)
    installed.aws.identity = issued(job, ahead)
    installed.run(job)
    assert installed.result()["error"] == "RunnerFault"
    assert words in installed.result()["message"]


def test_an_apply_that_is_not_let_in_has_applied_nothing(installed: Bench, commit: Commit) -> None:
    sha = commit(resource("network"))
    installed.aws.identity = issued(installed.job(JobKind.PLAN, sha, run=RUN))
    plan = installed.plan(sha, run=RUN)
    job = installed.job(JobKind.APPLY, sha, plan, run=RUN)
    installed.aws.identity = issued(job)
    installed.aws.refuse = lambda service, _: Refusal(403, "AccessDenied") if service == "sts" else None
    installed.run(job)
    assert installed.result()["error"] == "ApplyNotStarted"
    assert not installed.state().exists()
