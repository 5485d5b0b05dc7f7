"""The engine's cloud identities by its job's tokens: environment variables, and the files that they name."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.aws_roles import ADVICE, target_problem
from runner.faults import RoleRefused, RunnerFault
from runner.settings import Settings
from tidegate.aws.client import Aws, AwsError
from tidegate.deploys.rules.aws_session import phase_of, session_name
from tidegate.deploys.rules.aws_target import Target
from tidegate.deploys.rules.issued import said_in, times_problem
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.targets import Cloud

_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:jwt"  # noqa: S105  # A kind of token, and none.
_EXCHANGE = "https://sts.googleapis.com/v1/token"
_IMPERSONATION = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{}:generateAccessToken"
#: Errors of STS for a token (botocore's model of AssumeRoleWithWebIdentity), with what to do.
_ADVICE = {
    "AccessDenied": (
        "Its trust policy must allow sts:AssumeRoleWithWebIdentity, sts:TagSession and sts:SetSourceIdentity for "
        "this issuer's provider, with conditions that this token meets, and the role must exist"
    ),
    "InvalidIdentityToken": (
        "The account must exist, and must have an IAM OpenID Connect provider with this issuer and audience. The "
        "issuer must still publish the key that signed the token: `tidegate doctor` checks this"
    ),
    "ExpiredTokenException": "The token was issued for this job a moment ago: check for clock skew",
    "IDPRejectedClaim": "The IAM OpenID Connect provider rejects a claim of this token",
    **ADVICE,
}
#: AWS could not fetch the issuer's keys, which may be temporary.
_UNREACHABLE = "IDPCommunicationError"


def web_identity(
    aws: Aws, settings: Settings, taken: TakenJob, directory: Path, now: Callable[[], float] = time.time
) -> Mapping[str, str]:
    """Return the variables of the engine's identities by its job's tokens, in files that only this user can read.

    Raise RoleRefused if the installation does not allow them (before anything is written), or an AWS role does not
    trust the token; RunnerFault for a temporary failure.
    """
    job = taken.job
    wanted = _wanted(job)
    if not wanted:
        return {}
    targets: tuple[Target | None, ...] = (job.run.aws, job.run.google, job.run.azure)
    for target in targets:
        if target is not None and (problem := target_problem(settings, target, job)):
            raise RoleRefused(problem)
    _check(taken, wanted, now())
    directory.mkdir(mode=0o700)
    variables: dict[str, str] = {}
    for cloud, describe in wanted.items():
        variables |= describe(job, _written(directory / f"{cloud}.jwt", taken.identity.tokens[cloud]))
    if Cloud.AWS in wanted:
        _try_role(aws, job, taken.identity.tokens[Cloud.AWS])
    return variables


def takes_sessions(job: Job) -> bool:
    """Tell whether the engine itself exchanges the job's tokens: the runner does not know its credentials."""
    return bool(_wanted(job))


_Describe = Callable[[Job, Path], Mapping[str, str]]


def _wanted(job: Job) -> Mapping[Cloud, _Describe]:
    run = job.run
    found: dict[Cloud, _Describe] = {Cloud.AWS: _of_aws} if run.aws and run.aws.web_identity else {}
    found |= {Cloud.GOOGLE: _of_google} if run.google else {}
    return found | ({Cloud.AZURE: _of_azure} if run.azure else {})


def _check(taken: TakenJob, wanted: Mapping[Cloud, _Describe], now: float) -> None:
    issued = taken.identity
    if issued.problem:
        raise RunnerFault(issued.problem) if issued.passes else RoleRefused(issued.problem)
    for cloud in wanted:
        if cloud not in issued.tokens:
            raise RunnerFault(f"The job was dispatched without its token for {cloud}.")
        if problem := times_problem(issued.tokens[cloud], now):
            raise RunnerFault(problem)


def _written(path: Path, content: str) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
    return path


def _of_aws(job: Job, token: Path) -> Mapping[str, str]:
    return {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ROLE_ARN": _role(job),
        "AWS_ROLE_SESSION_NAME": session_name(job),
    }


def _of_google(job: Job, token: Path) -> Mapping[str, str]:
    """Return the file for Google's libraries: how to exchange the token for one of the service account."""
    assert job.run.google is not None  # noqa: S101  # For the type checker.
    configuration = {
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{job.run.google.provider}",
        "subject_token_type": _TOKEN_TYPE,
        "token_url": _EXCHANGE,
        "service_account_impersonation_url": _IMPERSONATION.format(job.run.google.role(phase_of(job))),
        "credential_source": {"file": str(token), "format": {"type": "text"}},
    }
    path = _written(token.with_name("google.json"), json.dumps(configuration))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}


def _of_azure(job: Job, token: Path) -> Mapping[str, str]:
    assert job.run.azure is not None  # noqa: S101  # For the type checker.
    subscription = job.run.azure.subscription_id
    return {
        "ARM_USE_OIDC": "true",
        "ARM_OIDC_TOKEN_FILE_PATH": str(token),
        "ARM_TENANT_ID": job.run.azure.tenant_id,
        "ARM_CLIENT_ID": job.run.azure.role(phase_of(job)),
        **({"ARM_SUBSCRIPTION_ID": subscription} if subscription else {}),
    }


def _role(job: Job) -> str:
    return job.run.aws.role(phase_of(job)) if job.run.aws else ""


def _try_role(aws: Aws, job: Job, token: str) -> None:
    """Request a session once: the role answers immediately what the engine would only find out later."""
    try:
        aws.assume_role_with_web_identity(_role(job), session_name(job), token)
    except AwsError as error:
        said = said_in(token)
        what = f"iss={said['iss']}, aud={said['aud']}, sub={said['sub']}"
        if error.code in _ADVICE:
            problem = f"The role {_role(job)} rejected the job's token: {error.code}: {error.message}"
            raise RoleRefused(
                f"{problem.rstrip('.')}. {_ADVICE[error.code]} ({what}). See docs/identity.md."
            ) from error
        unread = "AWS could not fetch the issuer's keys" if error.code == _UNREACHABLE else "STS did not answer"
        raise RunnerFault(f"{unread} for the role {_role(job)}: {error.message or error.code} ({what}).") from error
