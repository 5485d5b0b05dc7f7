"""What the environment says: one frozen group of settings for each need, so that a function has only what it uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self

from tidegate.deploys.rules.queue import ROUNDS_PER_EXECUTION
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.runner_size import RunnerOffer, from_text


class MissingSettingError(Exception):
    """A variable that the function needs is not set."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"The environment variable {variable} is not set. The CDK app sets it: deploy it again.")
        self.variable = variable


class InvalidSecretError(Exception):
    """The secret of the GitHub App, or of GitLab's user, has another form than is expected."""

    def __init__(self, name: str, form: str = '{"app_id": "…", "private_key": "PEM"}') -> None:
        super().__init__(f"The secret {name} must be JSON: {form}. Store it again.")


class InvalidForgeError(ValueError):
    """The setting that names the forge names none that Tidegate knows."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"TIDEGATE_FORGE is {kind!a}, and must be {GITHUB} or {GITLAB}")


#: The forges: an installation of Tidegate serves one of them.
GITHUB, GITLAB = "github", "gitlab"


def app_secret_fields(name: str, text: str) -> Mapping[str, str]:
    """Return the fields of the App's secret. Raise InvalidSecretError for a text of another form."""
    try:
        secret = {field: str(value) for field, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        raise InvalidSecretError(name) from None
    if not secret.get("app_id") or not secret.get("private_key"):
        raise InvalidSecretError(name)
    return secret


def gitlab_secret_fields(name: str, text: str) -> Mapping[str, str]:
    """Return the fields of the secret of GitLab's user. Raise InvalidSecretError for a text of another form."""
    form = '{"token": "…", "clone_token": "…"}'
    try:
        secret = {field: str(value) for field, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        raise InvalidSecretError(name, form) from None
    if not secret.get("token") or not secret.get("clone_token"):
        raise InvalidSecretError(name, form)
    return secret


def _variable(name: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"variable": name})


@dataclass(frozen=True)
class Settings:
    """A group of settings. Each field names its variable; without a default, the variable must be set."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the group. Raise MissingSettingError, which names the variable that is missing."""
        return cls(**{setting.name: _read(setting, environ) for setting in fields(cls)})


def _read(setting: Field[Any], environ: Mapping[str, str]) -> Any:
    variable = setting.metadata["variable"]
    value = environ.get(variable, "")
    if value:
        return value
    if setting.default is MISSING:
        raise MissingSettingError(variable)
    return setting.default


@dataclass(frozen=True)
class TableSettings(Settings):
    """The table of queues, deployments, jobs and deliveries."""

    table: str = _variable("TIDEGATE_TABLE")


@dataclass(frozen=True)
class ArtifactSettings(Settings):
    """The artifact bucket."""

    bucket: str = _variable("TIDEGATE_ARTIFACT_BUCKET")


@dataclass(frozen=True)
class AuditSettings(Settings):
    """The audit topic's ARN."""

    topic: str = _variable("TIDEGATE_AUDIT_TOPIC")


@dataclass(frozen=True)
class BusSettings(Settings):
    """The event bus's name."""

    bus: str = _variable("TIDEGATE_EVENT_BUS")


@dataclass(frozen=True)
class AnnouncementSettings(Settings):
    """The event bus's name, and the URLs of the queues of check runs, of lines and of changes that moved."""

    bus: str = _variable("TIDEGATE_EVENT_BUS")
    check_run_queue: str = _variable("TIDEGATE_CHECK_RUN_QUEUE")
    line_queue: str = _variable("TIDEGATE_LINE_QUEUE", "")
    later_queue: str = _variable("TIDEGATE_LINE_LATER_QUEUE", "")
    change_queue: str = _variable("TIDEGATE_CHANGE_QUEUE", "")


@dataclass(frozen=True)
class ClusterSettings(Settings):
    """The ARN of the cluster that runners run in."""

    cluster: str = _variable("TIDEGATE_CLUSTER")


@dataclass(frozen=True)
class PlanRunnerSettings(Settings):
    """The size of the function that runs plans, where plans begin on Lambda; empty where they run on Fargate."""

    function: str = _variable("TIDEGATE_PLAN_FUNCTION", "")

    @property
    def memory(self) -> int:
        """The function's memory in MB, with which its size begins."""
        return int(self.function.split()[0])


@dataclass(frozen=True)
class PushQueueSettings(Settings):
    """The URL of the queue of pushes."""

    push_queue: str = _variable("TIDEGATE_PUSH_QUEUE")


@dataclass(frozen=True)
class PressQueueSettings(Settings):
    """The URL of the queue of presses."""

    press_queue: str = _variable("TIDEGATE_PRESS_QUEUE")


@dataclass(frozen=True)
class EventQueueSettings(PushQueueSettings, PressQueueSettings):
    """The URLs of both queues of events."""


@dataclass(frozen=True)
class WorkflowSettings(Settings):
    """The ARNs of the deploy machine and the pull-request machine; a function that answers tokens only needs none."""

    deploy_machine: str = _variable("TIDEGATE_DEPLOY_STATE_MACHINE", "")
    pull_request_machine: str = _variable("TIDEGATE_PULL_REQUEST_STATE_MACHINE", "")


@dataclass(frozen=True)
class DriftRunSettings(Settings):
    """The ARN of the drift machine."""

    machine: str = _variable("TIDEGATE_DRIFT_STATE_MACHINE")


@dataclass(frozen=True)
class ScheduleSettings(Settings):
    """The group of the schedules for drift, what they start, the role that they do it in, and what takes failures.

    What only removes schedules needs their group alone.
    """

    group: str = _variable("TIDEGATE_DRIFT_SCHEDULES")
    machine: str = _variable("TIDEGATE_DRIFT_STATE_MACHINE", "")
    role: str = _variable("TIDEGATE_SCHEDULER_ROLE", "")
    undelivered: str = _variable("TIDEGATE_UNDELIVERED_QUEUE_ARN", "")


@dataclass(frozen=True)
class AddressSettings(Settings):
    """Which forge it is, and its own address. ``gitlab_url`` is the name that the design has for GitLab's."""

    kind: str = _variable("TIDEGATE_FORGE", GITHUB)
    own_url: str = _variable("TIDEGATE_FORGE_URL", "")
    gitlab_url: str = _variable("BURRITO_CONTROLLER_GITLABCONFIG_URL", "")

    @property
    def is_gitlab(self) -> bool:
        """Whether it is GitLab and not GitHub; raise InvalidForgeError for what is neither."""
        if self.kind not in {GITHUB, GITLAB}:
            raise InvalidForgeError(self.kind)
        return self.kind == GITLAB

    @property
    def url(self) -> str:
        """Where the forge is. Raise InvalidForgeError."""
        usual = (self.gitlab_url or "https://gitlab.com") if self.is_gitlab else "https://github.com"
        return (self.own_url or usual).rstrip("/")


@dataclass(frozen=True, kw_only=True)
class ForgeSettings(AddressSettings):
    """The forge's addresses and the name of the App's secret, which holds tokens where the forge is GitLab.

    ``github_token`` and ``gitlab_token`` are the names that the design has for tokens: of what comments on GitHub, and
    of Tidegate's user on GitLab.
    """

    app_secret: str = _variable("TIDEGATE_APP_SECRET_NAME")
    own_api_url: str = _variable("TIDEGATE_FORGE_API_URL", "")
    github_token: str = _variable("BURRITO_CONTROLLER_GITHUBCONFIG_APITOKEN", "")
    gitlab_token: str = _variable("BURRITO_CONTROLLER_GITLABCONFIG_APITOKEN", "")

    @property
    def api_url(self) -> str:
        """Where the forge's API is. Raise InvalidForgeError."""
        return self.own_api_url or (f"{self.url}/api/v4" if self.is_gitlab else "https://api.github.com")


@dataclass(frozen=True)
class LinkSettings(Settings):
    """Where check runs link to: an execution's URL with ``{deployment}`` in it, and the address of the web pages.

    Without them, check runs do not link.
    """

    execution: str = _variable("TIDEGATE_EXECUTION_URL", "")
    web: str = _variable("TIDEGATE_WEB_URL", "")


@dataclass(frozen=True)
class IdentitySettings(Settings):
    """Workload identity: the ARN of the key that signs, those of all that are published, and what tokens say.

    ``issuer`` is the installation's address, ``audience`` what IAM of AWS expects. Without a key there are no tokens.
    """

    key: str = _variable("TIDEGATE_IDENTITY_KEY", "")
    keys: str = _variable("TIDEGATE_IDENTITY_KEYS", "")
    issuer: str = _variable("TIDEGATE_ISSUER", "")
    audience: str = _variable("TIDEGATE_IDENTITY_AUDIENCE", "")


@dataclass(frozen=True)
class OperatorSettings(Settings):
    """The team (``org/slug``) whose members may ask for deployments through the HTTP API; empty: nobody may."""

    team: str = _variable("TIDEGATE_OPERATORS_TEAM", "")


@dataclass(frozen=True)
class ReviewSettings(Settings):
    """Which plans wait for people where a repository's configuration does not say: always, manual or never."""

    when: str = _variable("TIDEGATE_PLAN_REVIEW", PlanReview.ALWAYS.value)

    @property
    def plan_review(self) -> PlanReview:
        """Return the rule; raise ValueError for a word that is none."""
        return PlanReview(self.when)


@dataclass(frozen=True)
class PlaceSettings(Settings):
    """How many speculative plans of a repository run at a time."""

    plans: str = _variable("TIDEGATE_PULL_REQUEST_PLANS")

    @property
    def limit(self) -> int:
        """Return the number; raise ValueError for what is none above zero."""
        limit = int(self.plans)
        if limit < 1:
            raise ValueError(f"TIDEGATE_PULL_REQUEST_PLANS is {limit}, and must be 1 or more")
        return limit


@dataclass(frozen=True)
class SlotSettings(Settings):
    """How many runners the installation may have at a time."""

    slots: str = _variable("TIDEGATE_RUNNER_SLOTS")

    @property
    def limit(self) -> int:
        """Return the number; raise ValueError for what is none above zero."""
        limit = int(self.slots)
        if limit < 1:
            raise ValueError(f"TIDEGATE_RUNNER_SLOTS is {limit}, and must be 1 or more")
        return limit


@dataclass(frozen=True)
class RunnerOfferSettings(Settings):
    """Which runners the installation has, as JSON."""

    text: str = _variable("TIDEGATE_RUNNERS", "")

    @property
    def offer(self) -> RunnerOffer:
        """Return it; raise ValueError for a text that is none."""
        return from_text(self.text)


@dataclass(frozen=True)
class MachineSettings(Settings):
    """How many rounds a deploy execution works before it hands over."""

    most_rounds: str = _variable("TIDEGATE_ROUNDS_PER_EXECUTION", str(ROUNDS_PER_EXECUTION))

    @property
    def rounds(self) -> int:
        """Return the number; raise ValueError for what is none from 1 to what a history has room for."""
        rounds = int(self.most_rounds)
        if not 1 <= rounds <= ROUNDS_PER_EXECUTION:
            allowed = f"must be from 1 to {ROUNDS_PER_EXECUTION}"
            raise ValueError(f"TIDEGATE_ROUNDS_PER_EXECUTION is {rounds}, and {allowed}")
        return rounds
