"""The construct's typed settings for an app of your own: those of tidegate_cdk/README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from tidegate_cdk.runner_settings import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRole:
    """A role that roots of ``repositories`` may name under ``aws``. In both, ``*`` stands for any text."""

    role: str
    repositories: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetServiceAccount:
    """A service account of Google Cloud that roots of ``repositories`` may name under ``google``."""

    service_account: str
    repositories: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetApplication:
    """An application of Azure, by its client id, that roots of ``repositories`` may name under ``azure``."""

    client_id: str
    repositories: Sequence[str]


Allowed = str | TargetRole | TargetServiceAccount | TargetApplication


@dataclass(frozen=True, slots=True, kw_only=True)
class TidegateProps:
    """The settings of one installation. None selects the default of tidegate_cdk/README.md.

    Each has the name of its context key, so one reader validates both: ``Tidegate`` raises InvalidContext with the name
    of the first invalid one.
    """

    prefix: str | None = None
    architecture: Literal["arm64", "x86_64"] | None = None
    forge: Literal["github", "gitlab"] | None = None
    forge_url: str | None = None
    forge_api_url: str | None = None
    webhook_secret_name: str | None = None
    app_secret_name: str | None = None
    default_terraform: str | None = None
    default_tofu: str | None = None
    release: str | None = None
    release_mirror: str | None = None
    state_bucket: str | None = None
    allow_local_state: bool | None = None
    plan_policies: Sequence[str] | None = None
    apply_policies: Sequence[str] | None = None
    pull_request_policies: Sequence[str] | None = None
    pull_request_plans: int | None = None
    runner_slots: int | None = None
    runner: Mapping[str, int | float | str] | None = None
    runner_limits: Mapping[str, int | float | str] | None = None
    plan_target_roles: Sequence[Allowed] | None = None
    apply_target_roles: Sequence[Allowed] | None = None
    pull_request_target_roles: Sequence[Allowed] | None = None
    runner_image: str | None = None
    runner_variables: Mapping[str, str] | None = None
    runner_secrets: Mapping[str, str] | None = None
    mask_patterns: Sequence[str] | None = None
    plan_runner: Literal["fargate", "lambda", "auto"] | None = None
    plan_runner_memory: int | None = None
    alarm_email: str | None = None
    plan_review: Literal["always", "manual", "never"] | None = None
    rounds_per_execution: int | None = None
    execution_url: str | None = None
    web_url: str | None = None
    dashboard: bool | None = None
    container_insights: bool | None = None
    docs_url: str | None = None
    operators_team: str | None = None
    comment_prefixes: str | None = None
    vpc: str | None = None
    subnets: Sequence[str] | None = None
    runner_public_ip: bool | None = None
    nat_gateways: int | None = None
    domain: str | None = None
    certificate: str | None = None
    hosted_zone: str | None = None
    execute_api_endpoint: bool | None = None
    kms_key: str | None = None
    state_kms_key: str | None = None
    permissions_boundary: str | None = None
    log_retention_days: int | None = None
    webhook_concurrency: int | None = None
    identity_keys: Sequence[str] | None = None
    identity_audience: str | None = None
    update_repositories: Sequence[str] | None = None
    status_networks: Sequence[str] | None = None
    ci_issuer: str | None = None
    ci_audience: str | None = None
    cluster_registrars: Sequence[str] | None = None
    cluster_hooks: Sequence[Mapping[str, Any]] | None = None
    destinations: Mapping[str, Mapping[str, Any]] | None = None

    @classmethod
    def from_context(cls, context: Context) -> TidegateProps:
        """Return what cdk.json and ``-c`` set, as they say it: the reader takes their texts for lists and numbers."""
        return cls(**{field.name: context.try_get_context(field.name) for field in fields(cls)})

    def try_get_context(self, key: str) -> Any:
        """Return a setting in the form that it has in cdk.json, or None."""
        return _as_json(getattr(self, key))


def _as_json(value: object) -> object:
    """Return what JSON has for it. Numbers and truth values are texts in cdk.json, as ``-c`` gives nothing else."""
    if isinstance(value, TargetRole | TargetServiceAccount | TargetApplication):
        return {field.name: _as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_as_json(each) for each in value]
    return value
