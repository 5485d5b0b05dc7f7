"""Workload identity: the KMS keys that sign tokens of jobs, and their users."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tidegate_cdk.runner_settings import Context, InvalidContext

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,19}")
_AUDIENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}")
#: The signing key, the next or previous one, and one more for a quick rotation.
_MOST_KEYS = 3
#: Only the local cloud issues tokens for loopback addresses.
_ISSUER = re.compile(r"https://|http://(?:127\.0\.0\.1|localhost)[:/]?")
#: How long KMS keeps a key after it leaves the stack: the minimum.
_PENDING_WINDOW = Duration.days(7)
#: Tokens are signed with RS256, the only algorithm that IAM, Google and Azure share.
ALGORITHM = "RSASSA_PKCS1_V1_5_SHA_256"


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """The keys' names, of which the first signs, and the audience that IAM expects of tokens for AWS."""

    keys: tuple[str, ...]
    audience: str


def read_identity_settings(context: Context, web_url: str) -> IdentitySettings:
    """Return the settings of this context. Raise InvalidContext for the first invalid one."""
    found = context.try_get_context("identity_keys") or []
    if isinstance(found, str):
        found = [each.strip() for each in found.strip("[]").replace('"', "").split(",")]
    if not isinstance(found, Sequence) or len(found) > _MOST_KEYS or len({*map(str, found)}) < len(found):
        raise InvalidContext("identity_keys", found, f"a list of at most {_MOST_KEYS} different names")
    for at, each in enumerate(found):
        if not isinstance(each, str) or not _NAME.fullmatch(each):
            allowed = "a name of at most 20 lowercase letters, digits and hyphens, such as 2026-11"
            raise InvalidContext(f"identity_keys[{at}]", each, allowed)
    audience = context.try_get_context("identity_audience") or "sts.amazonaws.com"
    if not isinstance(audience, str) or not _AUDIENCE.fullmatch(audience):
        raise InvalidContext("identity_audience", audience, "an audience such as sts.amazonaws.com")
    if found and web_url and not _ISSUER.match(web_url):
        raise InvalidContext("web_url", web_url, "a URL that starts with https://, because clouds trust no others")
    return IdentitySettings(tuple(found), audience)


class IdentityKeys(Construct):
    """The keys, in the order of the settings: the first signs, all are published."""

    def __init__(self, scope: Construct, construct_id: str, *, names: Sequence[str], prefix: str) -> None:
        super().__init__(scope, construct_id)
        self.keys = tuple(self._make(name, prefix) for name in names)

    @property
    def arns(self) -> list[str]:
        """The ARNs of all keys."""
        return [key.key_arn for key in self.keys]

    def only_for(self, function: lambda_.Function) -> None:
        """Deny signing to everybody else, whatever other policies allow: only a change of the key's policy, which is
        logged, could.
        """
        role = function.role
        assert role is not None  # noqa: S101  # For the type checker.
        for key in self.keys:
            statement = iam.PolicyStatement(
                sid="OnlyTheFunctionThatIssuesTokensSigns",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["kms:Sign"],
                resources=["*"],
                conditions={"ArnNotEquals": {"aws:PrincipalArn": role.role_arn}},
            )
            key.add_to_resource_policy(statement)

    def _make(self, name: str, prefix: str) -> kms.Key:
        return kms.Key(
            self,
            name,
            description=f"Signs the tokens of Tidegate's jobs: {prefix}, {name}",
            key_spec=kms.KeySpec.RSA_2048,
            key_usage=kms.KeyUsage.SIGN_VERIFY,
            # Its signatures have expired by the time it leaves the settings (docs/identity.md).
            removal_policy=RemovalPolicy.DESTROY,
            pending_window=_PENDING_WINDOW,
        )
