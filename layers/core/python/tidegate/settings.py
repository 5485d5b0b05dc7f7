"""Settings from environment variables: one frozen group for each need, so a function has only what it uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, PositiveInt, ValidationError

from tidegate.deploys.rules.queue import ROUNDS_PER_EXECUTION
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.runner_size import RunnerOffer, from_text

_GITHUB_ACTIONS = "https://token.actions.githubusercontent.com"


class MissingSettingError(Exception):
    """A variable that the function needs is not set."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"The environment variable {variable} is not set. The CDK app sets it: deploy Tidegate again.")
        self.variable = variable


class InvalidSettingError(ValueError):
    """A variable has a value that cannot be used."""

    def __init__(self, variable: str, value: object, problem: str) -> None:
        super().__init__(f"The environment variable {variable} is {value!a}. {problem}. Deploy Tidegate again.")


class InvalidSecretError(Exception):
    """The secret of the GitHub App, or of GitLab's user, is malformed."""

    def __init__(self, name: str, form: str) -> None:
        super().__init__(f"The secret {name} must be JSON: {form}. Store it again.")


def app_secret_fields(name: str, text: str) -> Mapping[str, str]:
    """Return the fields of the App's secret. Raise InvalidSecretError if it is malformed."""
    return _secret_fields(name, text, {"app_id": "…", "private_key": "PEM"})


def gitlab_secret_fields(name: str, text: str) -> Mapping[str, str]:
    """Return the fields of the secret of GitLab's user. Raise InvalidSecretError if it is malformed."""
    return _secret_fields(name, text, {"token": "…", "clone_token": "…"})


def _secret_fields(name: str, text: str, form: Mapping[str, str]) -> Mapping[str, str]:
    try:
        secret = {field: str(value) for field, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        secret = {}
    if not all(secret.get(field) for field in form):
        raise InvalidSecretError(name, json.dumps(form, ensure_ascii=False))
    return secret


class Settings(BaseModel):
    """A group of settings. Each field names its variable; without a default, the variable must be set."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the group. Raise MissingSettingError and InvalidSettingError, which name the variable."""
        try:
            return cls.model_validate({variable: value for variable, value in environ.items() if value})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            variable = str(first["loc"][0])
            if first["type"] == "missing":
                raise MissingSettingError(variable) from None
            raise InvalidSettingError(variable, first["input"], first["msg"]) from None


class TableSettings(Settings):
    """The table of queues, deployments, jobs and deliveries."""

    table: str = Field(alias="TIDEGATE_TABLE")


class ArtifactSettings(Settings):
    """The artifact bucket."""

    bucket: str = Field(alias="TIDEGATE_ARTIFACT_BUCKET")


class AuditSettings(Settings):
    """The audit topic's ARN."""

    topic: str = Field(alias="TIDEGATE_AUDIT_TOPIC")


class BusSettings(Settings):
    """The event bus's name."""

    bus: str = Field(alias="TIDEGATE_EVENT_BUS")


class EventPublisherSettings(Settings):
    """The event bus's name, and the URLs of the check-run, position and change queues."""

    bus: str = Field(alias="TIDEGATE_EVENT_BUS")
    check_run_queue: str = Field(alias="TIDEGATE_CHECK_RUN_QUEUE")
    positions_queue: str = Field("", alias="TIDEGATE_POSITIONS_QUEUE")
    later_queue: str = Field("", alias="TIDEGATE_POSITIONS_LATER_QUEUE")
    change_queue: str = Field("", alias="TIDEGATE_CHANGE_QUEUE")


class ClusterSettings(Settings):
    """The ARN of the cluster that runners run in."""

    cluster: str = Field(alias="TIDEGATE_CLUSTER")


class DestinationNameSettings(Settings):
    """The names of the destinations that the installation declares, and who may use them, as JSON."""

    listed: str = Field("", alias="TIDEGATE_DESTINATION_NAMES")


class EndpointSettings(Settings):
    """AWS's address if it is not the usual one: on the loopback interface, this is the local cloud."""

    endpoint: str = Field("", alias="AWS_ENDPOINT_URL")

    @property
    def is_local(self) -> bool:
        return self.endpoint.startswith(("http://127.0.0.1:", "http://localhost:"))


class SlackSettings(EndpointSettings):
    """The names of the secrets of apps in Slack, separated by commas."""

    listed: str = Field("", alias="TIDEGATE_SLACK_APPS")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(filter(None, self.listed.split(",")))


class NotificationSettings(EndpointSettings):
    """The notification queue's URL, the destinations, and what the ARNs of e-mail destinations' topics begin with."""

    queue: str = Field("", alias="TIDEGATE_NOTIFICATION_QUEUE")
    destinations: str = Field("", alias="TIDEGATE_DESTINATIONS")
    topics: str = Field("", alias="TIDEGATE_NOTIFICATION_TOPICS")


class PlanRunnerSettings(Settings):
    """The size of the function for plans on Lambda; empty if plans run on Fargate."""

    function: str = Field("", alias="TIDEGATE_PLAN_FUNCTION")

    @property
    def memory(self) -> int:
        """The function's memory in MB, the first part of its size."""
        return int(self.function.split()[0])


class DiscoveryQueueSettings(Settings):
    """The URL of the queue of pushes."""

    discovery_queue: str = Field(alias="TIDEGATE_DISCOVERY_QUEUE")


class ActionQueueSettings(Settings):
    """The URL of the action queue: buttons, and commands that decide."""

    action_queue: str = Field(alias="TIDEGATE_ACTION_QUEUE")


class EventQueueSettings(DiscoveryQueueSettings, ActionQueueSettings):
    """The URLs of both queues of events."""


class WorkflowSettings(Settings):
    """The ARNs of the deploy machine and the pull-request machine; a function that only settles tokens needs none."""

    deploy_machine: str = Field("", alias="TIDEGATE_DEPLOY_STATE_MACHINE")
    pull_request_machine: str = Field("", alias="TIDEGATE_PULL_REQUEST_STATE_MACHINE")


class UpdateWorkflowSettings(Settings):
    """The ARNs of the machines ``config-update`` and ``promotion``."""

    worker_machine: str = Field("", alias="TIDEGATE_CONFIG_UPDATE_STATE_MACHINE")
    promotion_machine: str = Field("", alias="TIDEGATE_PROMOTION_STATE_MACHINE")


class ClusterWorkflowSettings(Settings):
    """What the ARNs of the machines of clusters begin with, and those of functions that hooks may call, with commas."""

    machines: str = Field("", alias="TIDEGATE_CLUSTER_MACHINES")
    functions: str = Field("", alias="TIDEGATE_CLUSTER_FUNCTIONS")


class StatusSettings(Settings):
    """Networks besides the public addresses where targets' status URLs may be, such as ``10.0.0.0/8``, with commas."""

    networks: str = Field("", alias="TIDEGATE_STATUS_NETWORKS")


class UpdateSettings(Settings):
    """The repositories whose stacks and environments may wait for each other's, with commas."""

    repositories: str = Field("", alias="TIDEGATE_UPDATE_REPOSITORIES")


class DriftRunSettings(Settings):
    """The ARN of the drift machine."""

    machine: str = Field(alias="TIDEGATE_DRIFT_STATE_MACHINE")


class ScheduleSettings(Settings):
    """The group of the drift schedules, their target and role, and the queue for failures.

    A function that only deletes schedules needs just the group.
    """

    group: str = Field(alias="TIDEGATE_DRIFT_SCHEDULES")
    machine: str = Field("", alias="TIDEGATE_DRIFT_STATE_MACHINE")
    role: str = Field("", alias="TIDEGATE_SCHEDULER_ROLE")
    undelivered: str = Field("", alias="TIDEGATE_UNDELIVERED_QUEUE_ARN")


class UrlSettings(Settings):
    """The VCS provider, and its URL. ``gitlab_url`` is the documented name for GitLab's."""

    kind: Literal["github", "gitlab"] = Field("github", alias="TIDEGATE_FORGE")
    own_url: str = Field("", alias="TIDEGATE_FORGE_URL")
    gitlab_url: str = Field("", alias="BURRITO_CONTROLLER_GITLABCONFIG_URL")

    @property
    def is_gitlab(self) -> bool:
        """Whether it is GitLab and not GitHub."""
        return self.kind == "gitlab"

    @property
    def url(self) -> str:
        """The VCS provider's URL."""
        usual = (self.gitlab_url or "https://gitlab.com") if self.is_gitlab else "https://github.com"
        return (self.own_url or usual).rstrip("/")


class CiTokenSettings(UrlSettings):
    """The issuer of CI's tokens, and their audience, empty for the installation's web URL.

    GitHub issues those of github.com at https://token.actions.githubusercontent.com, those of GitHub Enterprise Server
    at https://HOSTNAME/_services/token (docs.github.com/en/enterprise-server/actions/reference/security/oidc), and
    GitLab at its own URL. An enterprise may have an issuer of its own.
    """

    own_issuer: str = Field("", alias="TIDEGATE_CI_ISSUER")
    audience: str = Field("", alias="TIDEGATE_CI_AUDIENCE")

    @property
    def issuer(self) -> str:
        """The issuer, without a slash at the end."""
        if self.own_issuer:
            return self.own_issuer.rstrip("/")
        if self.is_gitlab:
            return self.url
        return _GITHUB_ACTIONS if self.url == "https://github.com" else f"{self.url}/_services/token"

    @property
    def keys_url(self) -> str:
        """Where the issuer publishes its keys, as its discovery document says."""
        return f"{self.issuer}/oauth/discovery/keys" if self.is_gitlab else f"{self.issuer}/.well-known/jwks"


class ForgeSettings(UrlSettings):
    """The VCS provider's URLs and the name of the App's secret, which holds GitLab's tokens.

    ``github_token`` and ``gitlab_token`` are the documented names: of the token for comments on GitHub, and of
    Tidegate's user on GitLab.
    """

    app_secret: str = Field(alias="TIDEGATE_APP_SECRET_NAME")
    own_api_url: str = Field("", alias="TIDEGATE_FORGE_API_URL")
    github_token: str = Field("", alias="BURRITO_CONTROLLER_GITHUBCONFIG_APITOKEN")
    gitlab_token: str = Field("", alias="BURRITO_CONTROLLER_GITLABCONFIG_APITOKEN")

    @property
    def api_url(self) -> str:
        """The URL of the VCS provider's API."""
        return self.own_api_url or (f"{self.url}/api/v4" if self.is_gitlab else "https://api.github.com")


class WebhookSettings(Settings):
    """The name of the webhook's secret, and the webhook's URL."""

    secret: str = Field(alias="TIDEGATE_WEBHOOK_SECRET_NAME")
    url: str = Field(alias="TIDEGATE_WEBHOOK_URL")


class LinkSettings(Settings):
    """Links of check runs: an execution's URL with ``{deployment}`` in it, and the URL of the web pages.

    Without them, check runs have no links.
    """

    execution: str = Field("", alias="TIDEGATE_EXECUTION_URL")
    web: str = Field("", alias="TIDEGATE_WEB_URL")


class IdentitySettings(Settings):
    """Workload identity: the ARN of the signing key, those of all published keys, and the tokens' claims.

    ``issuer`` is the installation's URL, ``audience`` is what AWS IAM expects. Without a key there are no tokens.
    """

    key: str = Field("", alias="TIDEGATE_IDENTITY_KEY")
    keys: str = Field("", alias="TIDEGATE_IDENTITY_KEYS")
    issuer: str = Field("", alias="TIDEGATE_ISSUER")
    audience: str = Field("", alias="TIDEGATE_IDENTITY_AUDIENCE")


class OperatorSettings(Settings):
    """The team (``org/slug``) whose members may request deployments through the HTTP API; empty: nobody."""

    team: str = Field("", alias="TIDEGATE_OPERATORS_TEAM")


class ReviewSettings(Settings):
    """Default review rule of repositories: always, manual or never."""

    plan_review: PlanReview = Field(PlanReview.ALWAYS, alias="TIDEGATE_PLAN_REVIEW")


class PlanSlotSettings(Settings):
    """Concurrent speculative plans of a repository."""

    limit: PositiveInt = Field(alias="TIDEGATE_PULL_REQUEST_PLANS")


class SlotSettings(Settings):
    """Concurrent runners of the installation."""

    limit: PositiveInt = Field(alias="TIDEGATE_RUNNER_SLOTS")


class RunnerOfferSettings(Settings):
    """The installation's runner sizes, as JSON."""

    offer: Annotated[InstanceOf[RunnerOffer], BeforeValidator(from_text)] = Field(
        RunnerOffer(), alias="TIDEGATE_RUNNERS"
    )


class MachineSettings(Settings):
    """Rounds of a deploy execution before it continues as new."""

    rounds: int = Field(ROUNDS_PER_EXECUTION, alias="TIDEGATE_ROUNDS_PER_EXECUTION", ge=1, le=ROUNDS_PER_EXECUTION)
