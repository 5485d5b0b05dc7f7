"""The ports on AWS and the forge, made when they are first used."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: PyGithub alone takes as long as all the rest.

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.settings import (
    AddressSettings,
    AnnouncementSettings,
    ArtifactSettings,
    AuditSettings,
    ClusterSettings,
    EventQueueSettings,
    ForgeSettings,
    IdentitySettings,
    LinkSettings,
    TableSettings,
    WorkflowSettings,
    app_secret_fields,
    gitlab_secret_fields,
)

if TYPE_CHECKING:
    from tidegate.aws.visibility import QueuePatience
    from tidegate.ports import (
        Announcements,
        Artifacts,
        AuditLog,
        Catalog,
        ChangeSets,
        CheckRuns,
        Clock,
        Deliveries,
        Deployments,
        DeployQueues,
        EventQueue,
        Forge,
        ForgeAddresses,
        ForgeWitness,
        Jobs,
        LineBoards,
        OrganizationFile,
        OrganizationPolicies,
        PlanFunctions,
        PlanPlaces,
        PlanRunners,
        PolicyEngine,
        PublicKeys,
        PullRequests,
        Runners,
        SourceHistory,
        TemporaryLayers,
        TokenSigner,
        Workflows,
    )
    from tidegate.vcs.adapters.app_secret import StoredAppSecret
    from tidegate.vcs.github.forge import AppCredentials
    from tidegate.vcs.gitlab.forge import GitLabCredentials, GitLabForge
    from tidegate.vcs.rules.forge_words import ForgeWords


class Adapters:
    """The ports on AWS and the forge."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ

    def client(self, service: str) -> Any:
        """Return a new client of an AWS service."""
        from tidegate.aws.boto import client

        return client(service)

    @cached_property
    def clock(self) -> Clock:
        from tidegate.aws.clock import SystemClock

        return SystemClock()

    @cached_property
    def _dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def _sqs(self) -> Any:
        return self.client("sqs")

    @cached_property
    def _table(self) -> str:
        return TableSettings.from_env(self.environ).table

    @cached_property
    def queues(self) -> DeployQueues:
        from tidegate.deploys.adapters.queues import DynamoDeployQueues

        return DynamoDeployQueues(self._dynamodb, self._table)

    @cached_property
    def deployments(self) -> Deployments:
        from tidegate.deploys.adapters.deployments import DynamoDeployments

        return DynamoDeployments(self._dynamodb, self._table)

    @cached_property
    def catalog(self) -> Catalog:
        from tidegate.discovery.adapters.catalog import DynamoCatalog

        return DynamoCatalog(self._dynamodb, self._table)

    @cached_property
    def check_runs(self) -> CheckRuns:
        from tidegate.deploys.adapters.deployments import DynamoCheckRuns

        return DynamoCheckRuns(self._dynamodb, self._table)

    @cached_property
    def pull_check_runs(self) -> CheckRuns:
        from tidegate.deploys.adapters.deployments import DynamoPullCheckRuns

        return DynamoPullCheckRuns(self._dynamodb, self._table)

    @cached_property
    def line_boards(self) -> LineBoards:
        from tidegate.deploys.adapters.lines import DynamoLineBoards

        return DynamoLineBoards(self._dynamodb, self._table)

    @cached_property
    def change_sets(self) -> ChangeSets:
        from tidegate.changes.adapters.change_sets import DynamoChangeSets

        return DynamoChangeSets(self._dynamodb, self._table)

    @cached_property
    def pull_requests(self) -> PullRequests:
        from tidegate.pull_requests.adapters.pull_requests import DynamoPullRequests

        return DynamoPullRequests(self._dynamodb, self._table)

    @cached_property
    def temporary_layers(self) -> TemporaryLayers:
        from tidegate.pull_requests.adapters.pull_requests import DynamoTemporaryLayers

        return DynamoTemporaryLayers(self._dynamodb, self._table)

    @cached_property
    def plan_places(self) -> PlanPlaces:
        from tidegate.deploys.adapters.plan_places import DynamoPlanPlaces

        return DynamoPlanPlaces(self._dynamodb, self._table)

    @cached_property
    def plan_runners(self) -> PlanRunners:
        from tidegate.deploys.adapters.plan_runners import DynamoPlanRunners

        return DynamoPlanRunners(self._dynamodb, self._table)

    @cached_property
    def plan_functions(self) -> PlanFunctions:
        from tidegate.aws.plan_functions import LambdaPlanFunctions

        return LambdaPlanFunctions(self.client("lambda"))

    @cached_property
    def jobs(self) -> Jobs:
        from tidegate.deploys.adapters.jobs import DynamoJobs

        return DynamoJobs(self._dynamodb, self._table)

    @cached_property
    def deliveries(self) -> Deliveries:
        from tidegate.aws.client import Aws
        from tidegate.vcs.adapters.deliveries import DynamoDeliveries

        return DynamoDeliveries(Aws(), self._table)

    @cached_property
    def events(self) -> EventQueue:
        from tidegate.aws.client import Aws
        from tidegate.vcs.adapters.deliveries import SqsEventQueue, queues_of_events

        settings = EventQueueSettings.from_env(self.environ)
        return SqsEventQueue(Aws(), queues_of_events(settings.push_queue, settings.action_queue))

    @cached_property
    def announcements(self) -> Announcements:
        from tidegate.deploys.adapters.announcements import AwsAnnouncements, Channels

        settings = AnnouncementSettings.from_env(self.environ)
        channels = Channels(
            settings.check_run_queue, settings.bus, settings.line_queue, settings.later_queue, settings.change_queue
        )
        return AwsAnnouncements(self._sqs, self.client("events"), channels)

    @cached_property
    def audit(self) -> AuditLog:
        from tidegate.deploys.adapters.audit import SnsAuditLog

        return SnsAuditLog(self.client("sns"), AuditSettings.from_env(self.environ).topic)

    @cached_property
    def artifacts(self) -> Artifacts:
        from tidegate.aws.artifacts import S3Artifacts

        return S3Artifacts(self.client("s3"), ArtifactSettings.from_env(self.environ).bucket)

    @cached_property
    def organization_file(self) -> OrganizationFile:
        from tidegate.config.adapters.organization_file import S3OrganizationFile
        from tidegate.config.document import MAXIMUM_BYTES
        from tidegate.config.organization import ORGANIZATION

        bucket = ArtifactSettings.from_env(self.environ).bucket
        return S3OrganizationFile(self.client("s3"), bucket, ORGANIZATION, MAXIMUM_BYTES)

    @cached_property
    def organization_policies(self) -> OrganizationPolicies:
        from tidegate.policies.adapters.organization_policies import S3OrganizationPolicies

        return S3OrganizationPolicies(self.client("s3"), ArtifactSettings.from_env(self.environ).bucket)

    @cached_property
    def policy_engine(self) -> PolicyEngine:
        from tidegate.policies.rego.engine import RegoEngine

        return RegoEngine()

    @cached_property
    def workflows(self) -> Workflows:
        from tidegate.aws.stepfunctions import StepFunctionsWorkflows

        settings = WorkflowSettings.from_env(self.environ)
        machines = settings.deploy_machine, settings.pull_request_machine
        return StepFunctionsWorkflows(self.client("stepfunctions"), *machines)

    @cached_property
    def runners(self) -> Runners:
        from tidegate.deploys.adapters.ecs import EcsRunners

        return EcsRunners(self.client("ecs"), ClusterSettings.from_env(self.environ).cluster)

    @cached_property
    def token_signer(self) -> TokenSigner | None:
        """What signs tokens of jobs, None where the installation has no key for that."""
        key = IdentitySettings.from_env(self.environ).key
        if not key:
            return None
        from tidegate.deploys.adapters.kms import KmsSigner

        return KmsSigner(self.client("kms"), key)

    @cached_property
    def public_keys(self) -> PublicKeys | None:
        """The keys that tokens are verified with, None where the installation has none."""
        keys = IdentitySettings.from_env(self.environ).keys
        if not keys:
            return None
        from tidegate.deploys.adapters.kms import KmsPublicKeys

        return KmsPublicKeys(self.client("kms"), keys.split(","))

    @cached_property
    def patience(self) -> QueuePatience:
        from tidegate.aws.visibility import QueuePatience

        return QueuePatience(self._sqs)

    @cached_property
    def addresses(self) -> ForgeAddresses:
        from tidegate.vcs.adapters.addresses import GitHubAddresses, GitLabAddresses

        settings = AddressSettings.from_env(self.environ)
        return GitLabAddresses(settings.url) if settings.is_gitlab else GitHubAddresses(settings.url)

    @property
    def words(self) -> ForgeWords:
        """What the forge's people call things."""
        from tidegate.vcs.rules.forge_words import GITHUB_WORDS, GITLAB_WORDS

        return GITLAB_WORDS if AddressSettings.from_env(self.environ).is_gitlab else GITHUB_WORDS

    @cached_property
    def gitlab(self) -> GitLabForge | None:
        """GitLab's API, None where GitHub is served."""
        if not AddressSettings.from_env(self.environ).is_gitlab:
            return None
        from tidegate.vcs.gitlab.forge import GitLabForge

        settings = ForgeSettings.from_env(self.environ)
        web = LinkSettings.from_env(self.environ).web
        return GitLabForge(self._gitlab_credentials, url=settings.url, api_url=settings.api_url, web=web)

    @property
    def witness(self) -> ForgeWitness | None:
        """Who confirms what webhooks told; None where these are signed."""
        return self.gitlab

    @cached_property
    def forge(self) -> Forge:
        if self.gitlab is not None:
            return self.gitlab
        settings = ForgeSettings.from_env(self.environ)
        from tidegate.vcs.github.forge import GitHubForge

        given = settings.github_token
        return GitHubForge(self._app_credentials, url=settings.url, api_url=settings.api_url, comment_token=given)

    @cached_property
    def history(self) -> SourceHistory:
        from tidegate.vcs.git.trees import GitSource

        return GitSource(self.environ)

    @cached_property
    def _stored_app_secret(self) -> StoredAppSecret:
        from tidegate.vcs.adapters.app_secret import StoredAppSecret

        settings = ForgeSettings.from_env(self.environ)
        parse = gitlab_secret_fields if settings.is_gitlab else app_secret_fields
        return StoredAppSecret(self.client("secretsmanager"), settings.app_secret, parse)

    @property
    def _app_secret(self) -> Mapping[str, str]:
        return self._stored_app_secret.current()

    def _app_credentials(self) -> AppCredentials:
        from tidegate.vcs.github.forge import AppCredentials

        secret = self._app_secret
        return AppCredentials(secret["app_id"], secret["private_key"], secret.get("comment_token", ""))

    def _gitlab_credentials(self) -> GitLabCredentials:
        from tidegate.vcs.gitlab.forge import GitLabCredentials

        secret, settings = self._app_secret, ForgeSettings.from_env(self.environ)
        return GitLabCredentials(settings.gitlab_token or secret["token"], secret["clone_token"])
