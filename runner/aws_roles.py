"""The engine's AWS credentials: of the installation's engine role, or of the role that its root names."""

from __future__ import annotations

from runner.faults import RoleRefused, RunnerFault
from runner.settings import Settings
from tidegate.aws.client import Aws, AwsError
from tidegate.aws.signing import Credentials
from tidegate.deploys.rules.aws_session import phase_of, phases_of, session_name, session_tags, source_identity
from tidegate.deploys.rules.aws_target import AwsTarget, Target
from tidegate.deploys.rules.job import Job

#: Errors of STS for any session that a person must fix (botocore's model of AssumeRole), with what to do.
ADVICE = {
    "RegionDisabledException": (
        "STS is not active in Tidegate's region for the role's account. Activate the region in that account's IAM "
        "settings"
    ),
    "PackedPolicyTooLarge": "The session tags are too large: shorten the name of the root or the stack",
}
#: Error of STS if a policy on either side denies the session.
_REFUSED = frozenset({"AccessDenied", "AccessDeniedException"})


def engine_credentials(aws: Aws, settings: Settings, job: Job) -> Credentials:
    """Return credentials for the engine, valid for an hour: AWS limits a role's session in another role to that.

    Each call starts a new session, with the same tags and source identity.

    Raise RoleRefused for a role that the installation does not allow here (before any call of AWS), or that does not
    trust the runner; RunnerFault for other errors.
    """
    target = job.run.aws
    if target is None or not target.account:
        return _own(aws, settings, job)
    if problem := target_problem(settings, target, job):
        raise RoleRefused(problem)
    role = target.role(phase_of(job))
    try:
        return aws.assume_role(role, session_name(job), tags=session_tags(job), source_identity=source_identity(job))
    except AwsError as error:
        if error.code in _REFUSED:
            raise RoleRefused(_refusal(role, job, error)) from error
        if error.code in ADVICE:
            said = f"Tidegate cannot assume the role {role}: {error.code}: {error.message}"
            raise RoleRefused(f"{said.rstrip('.: ')}. {ADVICE[error.code]}.") from error
        raise RunnerFault(f"Tidegate cannot assume the role {role}: {error.message or error.code}.") from error


def target_problem(settings: Settings, target: Target, job: Job) -> str:
    """Return why a job may not use a target, in sentences; empty if it may."""
    own = _own_account(settings, target) if isinstance(target, AwsTarget) else ""
    return own or settings.target_roles.problem(target, job.repository, phases_of(job))


def region_environment(target: AwsTarget | None) -> dict[str, str]:
    """Return the variables for the region of AWS SDKs; none if it is not configured."""
    region = target.region if target else ""
    return {"AWS_REGION": region, "AWS_DEFAULT_REGION": region} if region else {}


def _own(aws: Aws, settings: Settings, job: Job) -> Credentials:
    role = settings.engine_role
    try:
        return aws.assume_role(role, session_name(job))
    except AwsError as error:
        advice = " Deploy Tidegate again: its CloudFormation stack allows the runner to assume this role." * (
            error.code in _REFUSED
        )
        text = f"The runner cannot assume the engine's role {role}: {error.message or error.code}.{advice}"
        raise RunnerFault(text) from error


def _own_account(settings: Settings, target: AwsTarget) -> str:
    """Return why a role in Tidegate's own account is refused: engines' denials apply only to its own roles."""
    if f":iam::{target.account}:" not in settings.engine_role:
        return ""
    return (
        f"{target.account} is Tidegate's own account, where jobs may use only Tidegate's engine roles, which are "
        "denied access to Tidegate itself. Remove account, plan_role and apply_role, and ask an operator to give the "
        "engine roles their policies (plan_policies, apply_policies and pull_request_policies in cdk.json)."
    )


def _refusal(role: str, job: Job, error: AwsError) -> str:
    tags = ", ".join(f"{name}={value}" for name, value in session_tags(job).items())
    return (
        f"Access denied by the role {role}: {error.message or error.code}. Its trust policy must allow "
        "sts:AssumeRole, sts:TagSession and sts:SetSourceIdentity for the role of Tidegate's runner, with conditions "
        f"that this session meets ({tags}). docs/accounts.md has the policy, and the stack's outputs have the role's "
        "name. STS reports the same error if the role or account does not exist: check the name in tidegate.yaml."
    )
