"""The context keys of an installation. tidegate_cdk/README.md explains them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass

from tidegate.notifications.rules.destination import Destination
from tidegate_cdk.architecture import ARCHITECTURES
from tidegate_cdk.cluster_settings import ClusterSettings, read_cluster_settings
from tidegate_cdk.destinations import read_destinations
from tidegate_cdk.identity import IdentitySettings, read_identity_settings
from tidegate_cdk.plan_runner import PlanRunnerSettings, read_plan_runner
from tidegate_cdk.runner_settings import Context, InvalidContext, RunnerSettings, read_runner_settings
from tidegate_cdk.site_settings import SiteSettings, read_site_settings
from tidegate_cdk.update_settings import UpdateSettings, read_update_settings

_FORGE = re.compile("github|gitlab")
_APP_SECRETS = {"github": "github-app", "gitlab": "gitlab"}
_PREFIX = re.compile(r"[a-z][a-z0-9-]{0,19}")
_URL = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")
_URL_WITH_QUERY = re.compile(r"https?://[^\s]+")
_PREFIXES = re.compile(r"[A-Za-z0-9@/_-]{1,40}( [A-Za-z0-9@/_-]{1,40}){0,9}")
_PLAN_REVIEW = re.compile("always|manual|never")
_ROUNDS = re.compile(r"[1-9]\d?|100")
_PLANS = re.compile(r"[1-9]\d{0,1}")
_SLOTS = re.compile(r"[1-9]\d{0,2}")
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
_TEAM = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")
_YES_OR_NO = re.compile("true|false")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


#: A runner of the usual size has one vCPU, and a new account has six on demand: Fargate's default of quota L-3032A538
#: (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html). `tidegate doctor` reads the quota.
RUNNER_SLOTS = "6"


@dataclass(frozen=True, slots=True)
class Settings:
    """An installation's settings. Policies are names or ARNs of managed policies for the engine's roles."""

    prefix: str
    architecture: str
    forge: str
    forge_url: str
    forge_api_url: str
    webhook_secret_name: str
    app_secret_name: str
    default_terraform: str
    default_tofu: str
    release: str
    release_mirror: str
    state_bucket: str
    allow_local_state: str
    plan_policies: tuple[str, ...]
    apply_policies: tuple[str, ...]
    pull_request_policies: tuple[str, ...]
    pull_request_plans: str
    runner_slots: str
    alarm_email: str
    plan_review: str
    rounds_per_execution: str
    execution_url: str
    web_url: str
    operators_team: str
    comment_prefixes: str
    dashboard: bool
    container_insights: bool
    docs_url: str
    runners: RunnerSettings
    plan_runner: PlanRunnerSettings
    site: SiteSettings
    identity: IdentitySettings
    updates: UpdateSettings
    clusters: ClusterSettings
    destinations: tuple[Destination, ...]

    @property
    def stack(self) -> str:
        """The name of the installation's stack: each prefix has one of its own."""
        return self.prefix.capitalize()

    def engine_policies(self, kind: str) -> tuple[str, ...]:
        """Return the managed policies of the engine of this kind of runner. A cluster's task is part of an apply."""
        policies = {
            "plan": self.plan_policies,
            "apply": self.apply_policies,
            "task": self.apply_policies,
            "speculate": self.pull_request_policies,
        }
        return policies[kind]


def read_settings(context: Context) -> Settings:
    """Return the settings of this context. Raise InvalidContext for the first invalid one."""
    text = _Texts(context)
    forge = text.matching("forge", _FORGE, "github or gitlab", "github")
    forge_url, forge_api_url = _addresses(text, forge)
    web_url = text.optional("web_url", _URL, "a URL").rstrip("/")
    prefix = text.matching("prefix", _PREFIX, "up to 20 lowercase letters, digits and hyphens", "tidegate")
    return Settings(
        prefix=prefix,
        architecture=text.one_of("architecture", ARCHITECTURES, "arm64"),
        forge=forge,
        forge_url=forge_url,
        forge_api_url=forge_api_url,
        webhook_secret_name=text.get("webhook_secret_name", f"{prefix}/webhook-secret"),
        app_secret_name=text.get("app_secret_name", f"{prefix}/{_APP_SECRETS[forge]}"),
        default_terraform=text.matching("default_terraform", _VERSION, "a version like 1.11.4", "1.11.4"),
        default_tofu=text.matching("default_tofu", _VERSION, "a version like 1.10.6", "1.10.6"),
        release=text.optional("release", _RELEASE, "up to 40 letters, digits, dots and hyphens"),
        release_mirror=text.optional("release_mirror", _URL, "a URL").rstrip("/"),
        state_bucket=text.get("state_bucket", ""),
        allow_local_state=text.matching("allow_local_state", _YES_OR_NO, "true or false", "false"),
        plan_policies=_names(context, "plan_policies", ("ReadOnlyAccess",)),
        apply_policies=_names(context, "apply_policies", ()),
        pull_request_policies=_names(context, "pull_request_policies", ("ReadOnlyAccess",)),
        pull_request_plans=text.matching("pull_request_plans", _PLANS, "a number from 1 to 99", "10"),
        runner_slots=text.matching("runner_slots", _SLOTS, "a number from 1 to 999", RUNNER_SLOTS),
        alarm_email=text.optional("alarm_email", re.compile(r"[^@\s]+@[^@\s]+"), "an e-mail address"),
        plan_review=text.matching("plan_review", _PLAN_REVIEW, "always, manual or never", "always"),
        rounds_per_execution=text.matching("rounds_per_execution", _ROUNDS, "a number from 1 to 100", "100"),
        execution_url=text.optional("execution_url", _URL_WITH_QUERY, "a URL"),
        web_url=web_url,
        comment_prefixes=text.matching("comment_prefixes", _PREFIXES, "words separated by spaces", "tidegate"),
        operators_team=text.optional("operators_team", _TEAM, "a team of the form organization/slug"),
        dashboard=text.matching("dashboard", _YES_OR_NO, "true or false", "false") == "true",
        container_insights=text.matching("container_insights", _YES_OR_NO, "true or false", "false") == "true",
        docs_url=text.optional("docs_url", _URL, "a URL").rstrip("/") or "docs",
        runners=read_runner_settings(context),
        plan_runner=read_plan_runner(context),
        site=read_site_settings(context),
        identity=read_identity_settings(context, web_url),
        updates=read_update_settings(context),
        clusters=read_cluster_settings(context),
        destinations=read_destinations(context),
    )


def _addresses(text: _Texts, forge: str) -> tuple[str, str]:
    """Return where the forge and its API are. GitLab's own address may also come under the name of the design."""
    if forge == "github":
        url = text.matching("forge_url", _URL, "a URL", "https://github.com").rstrip("/")
        return url, text.matching("forge_api_url", _URL, "a URL", "https://api.github.com").rstrip("/")
    usual = os.environ.get("BURRITO_CONTROLLER_GITLABCONFIG_URL") or "https://gitlab.com"
    url = text.matching("forge_url", _URL, "a URL", usual).rstrip("/")
    return url, text.matching("forge_api_url", _URL, "a URL", f"{url}/api/v4").rstrip("/")


class _Texts:
    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, key: str, default: str) -> str:
        value = self._context.try_get_context(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise InvalidContext(key, value, "a string")
        return value

    def optional(self, key: str, pattern: re.Pattern[str], allowed: str) -> str:
        value = self.get(key, "")
        if value and not pattern.fullmatch(value):
            raise InvalidContext(key, value, allowed)
        return value

    def matching(self, key: str, pattern: re.Pattern[str], allowed: str, default: str) -> str:
        value = self.get(key, default)
        if not pattern.fullmatch(value):
            raise InvalidContext(key, value, allowed)
        return value

    def one_of(self, key: str, allowed: Collection[str], default: str) -> str:
        value = self.get(key, default)
        if value not in allowed:
            raise InvalidContext(key, value, " or ".join(allowed))
        return value


def _names(context: Context, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list of names; ``-c key=a,b`` on the command line gives a string."""
    value = context.try_get_context(key)
    if value is None:
        return default
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidContext(key, value, "a list of names")
    return tuple(name.strip() for name in names if name.strip())
