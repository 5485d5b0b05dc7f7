"""The context keys of an installation's site: network, domain, keys, and permissions boundaries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from tidegate_cdk.runner_settings import Context, InvalidContext

_VPC = re.compile(r"vpc-[0-9a-f]{8,17}")
_SUBNET = re.compile(r"subnet-[0-9a-f]{8,17}")
_GATEWAYS = re.compile(r"[0-2]")
_DOMAIN = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[0-9a-f-]{36}")
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}")
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}")
_BOUNDARY = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[\w+=,.@/-]{1,512}|[\w+=,.@-]{1,128}")
_CONCURRENCY = re.compile(r"[1-9][0-9]{0,3}")
_YES_OR_NO = re.compile("true|false")
#: The days that CloudWatch Logs keeps lines for (PutRetentionPolicy).
_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
_MOST_SUBNETS = 16


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """Empty or None means that the stack creates it, or AWS's default.

    ``runners_are_public`` tells whether runners get a public IP. ``key`` is the ARN of a key, ``create``, or empty.
    ``boundary`` is a policy's name or ARN. ``retention`` is in days, for all log groups.
    """

    vpc: str
    subnets: tuple[str, ...]
    runners_are_public: bool
    gateways: int
    domain: str
    certificate: str
    zone: str
    has_own_endpoint: bool
    key: str
    state_key: str
    boundary: str
    retention: int | None
    webhook_concurrency: int | None


def read_site_settings(context: Context) -> SiteSettings:
    """Return the settings of this context. Raise InvalidContext for the first that cannot be used."""
    vpc = _text(context, "vpc", _VPC, "a VPC id, vpc-…")
    subnets = _subnets(context, vpc)
    gateways = int(_text(context, "nat_gateways", _GATEWAYS, "0, 1 or 2") or "0")
    if vpc and gateways:
        raise InvalidContext("nat_gateways", gateways, "0 if you use your own VPC (vpc)")
    public = _text(context, "runner_public_ip", _YES_OR_NO, "true or false")
    if public and not vpc:
        raise InvalidContext("runner_public_ip", public, "unset if you do not use your own VPC (vpc)")
    domain, certificate, zone = _address(context)
    own_endpoint = _text(context, "execute_api_endpoint", _YES_OR_NO, "true or false")
    if own_endpoint == "false" and not domain:
        raise InvalidContext("execute_api_endpoint", own_endpoint, "true if no domain is set")
    key = _text(context, "kms_key", re.compile(f"create|{_KEY.pattern}"), "create, or the ARN of a key")
    days = _text(context, "log_retention_days", re.compile("|".join(map(str, _DAYS))), f"one of {_DAYS}")
    concurrency = _text(context, "webhook_concurrency", _CONCURRENCY, "a number from 1 to 9999")
    return SiteSettings(
        vpc=vpc,
        subnets=subnets,
        runners_are_public=public == "true" if vpc else not gateways,
        gateways=gateways,
        domain=domain,
        certificate=certificate,
        zone=zone,
        has_own_endpoint=own_endpoint != "false",
        key=key,
        state_key=_text(context, "state_kms_key", _KEY, "the ARN of a key"),
        boundary=_text(context, "permissions_boundary", _BOUNDARY, "the name or ARN of a managed policy"),
        retention=int(days) if days else None,
        webhook_concurrency=int(concurrency) if concurrency else None,
    )


def _text(context: Context, key: str, pattern: re.Pattern[str], allowed: str) -> str:
    """Return a text of this form; what is not set is empty."""
    value = context.try_get_context(key)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InvalidContext(key, value, allowed)
    return value


def _subnets(context: Context, vpc: str) -> tuple[str, ...]:
    found = context.try_get_context("subnets") or []
    if isinstance(found, str):
        found = [each.strip() for each in found.strip("[]").replace('"', "").split(",")]
    if not isinstance(found, Sequence) or len(found) > _MOST_SUBNETS:
        raise InvalidContext("subnets", found, f"a list of at most {_MOST_SUBNETS} subnet ids")
    for at, each in enumerate(found):
        if not isinstance(each, str) or not _SUBNET.fullmatch(each):
            raise InvalidContext(f"subnets[{at}]", each, "a subnet id, subnet-…")
    if bool(found) != bool(vpc):
        _refuse_half("subnets" if vpc else "vpc", "vpc and subnets belong together")
    return tuple(found)


def _address(context: Context) -> tuple[str, str, str]:
    domain = _text(context, "domain", _DOMAIN, "a host name in lowercase letters, such as tidegate.example.com")
    certificate = _text(context, "certificate", _CERTIFICATE, "the ARN of an ACM certificate")
    zone = _text(context, "hosted_zone", _ZONE, "the id of a Route 53 hosted zone, Z…")
    if bool(domain) != bool(certificate):
        _refuse_half("certificate" if domain else "domain", "domain and certificate belong together")
    if zone and not domain:
        _refuse_half("domain", "hosted_zone needs a domain")
    return domain, certificate, zone


def _refuse_half(missing: str, why: str) -> NoReturn:
    raise InvalidContext(missing, "", f"set: {why}")
