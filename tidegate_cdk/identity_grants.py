"""Grants on the keys of workload identity."""

from __future__ import annotations

from tidegate_cdk.capabilities import Grant, GrantContext, allow
from tidegate_cdk.identity import ALGORITHM


def sign_tokens(context: GrantContext) -> Grant:
    """Sign with the first key. Without keys there are no permissions: the dispatch of jobs reports that."""
    keys = context.identity.arns
    if not keys:
        return Grant((), {})
    environment = {
        "TIDEGATE_IDENTITY_KEY": keys[0],
        "TIDEGATE_ISSUER": context.web_url,
        "TIDEGATE_IDENTITY_AUDIENCE": context.settings.identity.audience,
    }
    only_so = {"StringEquals": {"kms:SigningAlgorithm": ALGORITHM}}
    return Grant((allow("kms:Sign", on=keys[0], under=only_so),), environment)


def public_keys(context: GrantContext) -> Grant:
    """Read all public keys."""
    keys = context.identity.arns
    if not keys:
        return Grant((), {})
    return Grant(tuple(allow("kms:GetPublicKey", on=key) for key in keys), {"TIDEGATE_IDENTITY_KEYS": ",".join(keys)})
