"""The only wiring: every port, created at its first use and kept while the process lives.

So a function reads only its own settings, and imports only its own adapters. Tests use the same class with fakes.
"""

# ruff: noqa: PLC0415  # Imports stay with what needs them: PyGithub alone takes as long as all the rest.

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.settings import (
    ArtifactSettings,
    AuditSettings,
    BusSettings,
    CiTokenSettings,
    ClusterSettings,
    ClusterWorkflowSettings,
    DestinationNameSettings,
    DriftRunSettings,
    EventPublisherSettings,
    EventQueueSettings,
    ForgeSettings,
    IdentitySettings,
    LinkSettings,
    MachineSettings,
    NotificationSettings,
    OperatorSettings,
    PlanRunnerSettings,
    PlanSlotSettings,
    ReviewSettings,
    RunnerOfferSettings,
    ScheduleSettings,
    SlackSettings,
    SlotSettings,
    StatusSettings,
    TableSettings,
    UpdateSettings,
    UpdateWorkflowSettings,
    UrlSettings,
    WebhookSettings,
    WorkflowSettings,
    app_secret_fields,
    gitlab_secret_fields,
)

if TYPE_CHECKING:
    from tidegate.aws.visibility import QueueVisibility
    from tidegate.check_runs.check_run_view import Links
    from tidegate.deploys.rules.runner_size import RunnerOffer
    from tidegate.discovery.read_organization import OrganizationReader
    from tidegate.discovery.root_index import RootIndexes
    from tidegate.notifications.rules.destination import DeclaredDestinations, Destination
    from tidegate.ports import (
        Accounts,
        AppManifests,
        AppSecrets,
        Artifacts,
        AuditLog,
        BranchMover,
        ChangeSets,
        CheckRunPublisher,
        CheckRuns,
        CiTokens,
        Clock,
        CloneTokens,
        ClusterFiles,
        ClusterStore,
        ClusterWorkflows,
        Comments,
        Commits,
        ConfigBranches,
        ConfigUpdateStore,
        Deliveries,
        Deployments,
        DeployQueues,
        DriftEvents,
        DriftRuns,
        Drifts,
        EventPublisher,
        EventQueue,
        Forge,
        ForgeDeliveries,
        ForgeIssues,
        ForgeUrls,
        Insights,
        JobLogs,
        Jobs,
        NotificationQueue,
        Notifications,
        OrganizationFile,
        OrganizationPolicies,
        People,
        PlanFunctions,
        PlanRunners,
        PlanSlots,
        PolicyEngine,
        PublicKeys,
        PullRequestMerger,
        PullRequestReader,
        PullRequests,
        QueueSnapshots,
        Receivers,
        Redeliveries,
        Replays,
        RepositoryIndex,
        Reviews,
        Runners,
        Schedules,
        SetupCodes,
        SignOuts,
        SlackAccounts,
        SlackApps,
        SourceHistory,
        SpeculativePlans,
        TargetStatuses,
        TokenSigner,
        UpdateWorkflows,
        WebhookVerifier,
        Workflows,
    )
    from tidegate.vcs.adapters.accounts import OAuthClient
    from tidegate.vcs.adapters.app_secret import StoredAppSecret
    from tidegate.vcs.github.forge import AppCredentials, GitHubForge
    from tidegate.vcs.gitlab.forge import GitLabCredentials, GitLabForge
    from tidegate.vcs.rules.forge_terms import ForgeTerms
    from tidegate.web.parts import WebLinks
    from tidegate.web.session import Sessions


class Ports:
    """The ports of verbs: ``given`` ports replace those of AWS and the VCS provider.

    Nothing can be set afterwards. A port whose setting is missing raises MissingSettingError.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, **given: Any) -> None:
        unknown = sorted(name for name in given if not hasattr(type(self), name))
        if unknown:
            raise TypeError(f"Unknown ports: {', '.join(unknown)}.")
        vars(self).update(given, environ=environ, given=given)

    environ: Mapping[str, str]
    given: Mapping[str, Any]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Ports are frozen: pass {name} when you create them.")

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
    def repository_index(self) -> RepositoryIndex:
        from tidegate.discovery.adapters.repository_index import DynamoRepositoryIndex

        return DynamoRepositoryIndex(self._dynamodb, self._table)

    @cached_property
    def check_runs(self) -> CheckRuns:
        from tidegate.deploys.adapters.deployments import DynamoCheckRuns

        return DynamoCheckRuns(self._dynamodb, self._table)

    @cached_property
    def pull_check_runs(self) -> CheckRuns:
        from tidegate.deploys.adapters.deployments import DynamoPullCheckRuns

        return DynamoPullCheckRuns(self._dynamodb, self._table)

    @cached_property
    def queue_snapshots(self) -> QueueSnapshots:
        from tidegate.deploys.adapters.queue_snapshots import DynamoQueueSnapshots

        return DynamoQueueSnapshots(self._dynamodb, self._table)

    @cached_property
    def change_sets(self) -> ChangeSets:
        from tidegate.changes.adapters.change_sets import DynamoChangeSets

        return DynamoChangeSets(self._dynamodb, self._table)

    @cached_property
    def config_updates(self) -> ConfigUpdateStore:
        from tidegate.config_updates.adapters.store import DynamoConfigUpdates

        return DynamoConfigUpdates(self._dynamodb, self._table)

    @cached_property
    def clusters(self) -> ClusterStore:
        from tidegate.clusters.adapters.store import DynamoClusters

        return DynamoClusters(self._dynamodb, self._table)

    @cached_property
    def cluster_files(self) -> ClusterFiles:
        from tidegate.clusters.adapters.files import StoredClusterFiles

        return StoredClusterFiles(self.artifacts)

    @cached_property
    def cluster_workflows(self) -> ClusterWorkflows:
        from tidegate.aws.stepfunctions import StepFunctionsClusters

        settings = ClusterWorkflowSettings.from_env(self.environ)
        return StepFunctionsClusters(self.client("stepfunctions"), settings.machines)

    @cached_property
    def cluster_functions(self) -> tuple[str, ...]:
        """The ARNs of functions that hooks of clusters may call."""
        return tuple(filter(None, ClusterWorkflowSettings.from_env(self.environ).functions.split(",")))

    @cached_property
    def ci_tokens(self) -> CiTokens:
        from tidegate.config_updates.adapters.ci_tokens import OpenIdCiTokens

        settings = CiTokenSettings.from_env(self.environ)
        audience = settings.audience or self.web_url
        return OpenIdCiTokens(settings.issuer, settings.keys_url, audience, gitlab=settings.is_gitlab)

    @cached_property
    def pull_requests(self) -> PullRequests:
        from tidegate.pull_requests.adapters.pull_requests import DynamoPullRequests

        return DynamoPullRequests(self._dynamodb, self._table)

    @cached_property
    def speculative_plans(self) -> SpeculativePlans:
        from tidegate.pull_requests.adapters.pull_requests import DynamoSpeculativePlans

        return DynamoSpeculativePlans(self._dynamodb, self._table)

    @cached_property
    def plan_slots(self) -> PlanSlots:
        from tidegate.deploys.adapters.plan_slots import DynamoPlanSlots

        return DynamoPlanSlots(self._dynamodb, self._table)

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
        return SqsEventQueue(Aws(), queues_of_events(settings.discovery_queue, settings.action_queue))

    @cached_property
    def event_publisher(self) -> EventPublisher:
        from tidegate.deploys.adapters.event_publisher import AwsEventPublisher, Channels

        settings = EventPublisherSettings.from_env(self.environ)
        channels = Channels(
            settings.check_run_queue,
            settings.bus,
            settings.positions_queue,
            settings.later_queue,
            settings.change_queue,
        )
        return AwsEventPublisher(self._sqs, self.client("events"), channels)

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
        from tidegate.config.organization import ORGANIZATION
        from tidegate.documents.document import MAXIMUM_BYTES

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
    def replays(self) -> Replays:
        from tidegate.config_updates.adapters.replays import StoredReplays

        return StoredReplays(self.artifacts)

    @cached_property
    def update_workflows(self) -> UpdateWorkflows:
        from tidegate.aws.stepfunctions import StepFunctionsUpdates

        settings = UpdateWorkflowSettings.from_env(self.environ)
        return StepFunctionsUpdates(self.client("stepfunctions"), settings.worker_machine, settings.promotion_machine)

    @cached_property
    def target_statuses(self) -> TargetStatuses:
        from tidegate.config_updates.adapters.target_status import HttpsTargetStatuses
        from tidegate.config_updates.rules.status import read_networks

        return HttpsTargetStatuses(read_networks(StatusSettings.from_env(self.environ).networks))

    @cached_property
    def runners(self) -> Runners:
        from tidegate.deploys.adapters.ecs import EcsRunners

        return EcsRunners(self.client("ecs"), ClusterSettings.from_env(self.environ).cluster)

    @cached_property
    def token_signer(self) -> TokenSigner | None:
        """The signer of jobs' tokens, None if the installation has no key for that."""
        key = IdentitySettings.from_env(self.environ).key
        if not key:
            return None
        from tidegate.deploys.adapters.kms import KmsSigner

        return KmsSigner(self.client("kms"), key)

    @cached_property
    def public_keys(self) -> PublicKeys | None:
        """The public keys for verifying tokens, None if the installation has none."""
        keys = IdentitySettings.from_env(self.environ).keys
        if not keys:
            return None
        from tidegate.deploys.adapters.kms import KmsPublicKeys

        return KmsPublicKeys(self.client("kms"), keys.split(","))

    @cached_property
    def visibility(self) -> QueueVisibility:
        from tidegate.aws.visibility import QueueVisibility

        return QueueVisibility(self._sqs)

    @cached_property
    def addresses(self) -> ForgeUrls:
        from tidegate.vcs.adapters.addresses import GitHubUrls, GitLabUrls

        settings = UrlSettings.from_env(self.environ)
        return GitLabUrls(settings.url) if settings.is_gitlab else GitHubUrls(settings.url)

    @cached_property
    def terms(self) -> ForgeTerms:
        """The VCS provider's terms."""
        from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, GITLAB_TERMS

        return GITLAB_TERMS if UrlSettings.from_env(self.environ).is_gitlab else GITHUB_TERMS

    @cached_property
    def gitlab(self) -> GitLabForge | None:
        """GitLab's API, None on GitHub."""
        if not UrlSettings.from_env(self.environ).is_gitlab:
            return None
        from tidegate.vcs.gitlab.forge import GitLabForge

        settings = ForgeSettings.from_env(self.environ)
        web = LinkSettings.from_env(self.environ).web
        return GitLabForge(self._gitlab_credentials, url=settings.url, api_url=settings.api_url, web=web)

    @cached_property
    def webhook_verifier(self) -> WebhookVerifier | None:
        """Verifies unsigned webhooks; None if webhooks are signed."""
        return self.gitlab

    @cached_property
    def forge(self) -> Forge:
        """The only adapter of the VCS provider's API. Verbs take parts of it, by the names below."""
        return self.gitlab if self.gitlab is not None else self.github

    @cached_property
    def github(self) -> GitHubForge:
        """GitHub's API."""
        settings = ForgeSettings.from_env(self.environ)
        from tidegate.vcs.github.forge import GitHubForge

        given = settings.github_token
        return GitHubForge(self._app_credentials, url=settings.url, api_url=settings.api_url, comment_token=given)

    @cached_property
    def commits(self) -> Commits:
        return self.forge

    @cached_property
    def clone_tokens(self) -> CloneTokens:
        return self.forge

    @cached_property
    def pull_request_reader(self) -> PullRequestReader:
        return self.forge

    @cached_property
    def pull_request_merger(self) -> PullRequestMerger:
        return self.forge

    @cached_property
    def reviews(self) -> Reviews:
        return self.forge

    @cached_property
    def comments(self) -> Comments:
        return self.forge

    @cached_property
    def people(self) -> People:
        return self.forge

    @cached_property
    def check_run_publisher(self) -> CheckRunPublisher:
        return self.forge

    @cached_property
    def issues(self) -> ForgeIssues:
        return self.forge

    @cached_property
    def config_branches(self) -> ConfigBranches:
        return self.forge

    @cached_property
    def branch_mover(self) -> BranchMover:
        from tidegate.config_updates.adapters.pushing import GitBranchMover, GitHubBranchMover

        if self.gitlab is not None:
            return GitBranchMover(self.gitlab, self.environ)
        return GitHubBranchMover(self.github, self.environ)

    @cached_property
    def history(self) -> SourceHistory:
        from tidegate.vcs.git.trees import GitSource

        return GitSource(self.environ)

    @cached_property
    def app_secret(self) -> StoredAppSecret:
        from tidegate.vcs.adapters.app_secret import StoredAppSecret

        settings = ForgeSettings.from_env(self.environ)
        parse = gitlab_secret_fields if settings.is_gitlab else app_secret_fields
        return StoredAppSecret(self.client("secretsmanager"), settings.app_secret, parse)

    @property
    def _app_secret(self) -> Mapping[str, str]:
        return self.app_secret.current()

    def _app_credentials(self) -> AppCredentials:
        from tidegate.vcs.github.forge import AppCredentials

        secret = self._app_secret
        return AppCredentials(secret["app_id"], secret["private_key"], secret.get("comment_token", ""))

    def _gitlab_credentials(self) -> GitLabCredentials:
        from tidegate.vcs.gitlab.forge import GitLabCredentials

        secret, settings = self._app_secret, ForgeSettings.from_env(self.environ)
        return GitLabCredentials(settings.gitlab_token or secret["token"], secret["clone_token"])

    @cached_property
    def drifts(self) -> Drifts:
        from tidegate.drift.adapters.drifts import DynamoDrifts

        return DynamoDrifts(self._dynamodb, self._table)

    @cached_property
    def insights(self) -> Insights:
        from tidegate.insights.adapters.days import DynamoInsights

        return DynamoInsights(self._dynamodb, self._table)

    @cached_property
    def schedules(self) -> Schedules:
        from tidegate.drift.adapters.scheduler import SchedulerSchedules

        settings = ScheduleSettings.from_env(self.environ)
        starting = settings.machine, settings.role, settings.undelivered
        return SchedulerSchedules(self.client("scheduler"), settings.group, *starting)

    @cached_property
    def drift_runs(self) -> DriftRuns:
        from tidegate.aws.stepfunctions import StepFunctionsDriftRuns

        machine = DriftRunSettings.from_env(self.environ).machine
        return StepFunctionsDriftRuns(self.client("stepfunctions"), machine)

    @cached_property
    def drift_events(self) -> DriftEvents:
        from tidegate.drift.adapters.drift_events import AwsDriftEvents

        return AwsDriftEvents(self.client("events"), BusSettings.from_env(self.environ).bus)

    @cached_property
    def notifications(self) -> Notifications:
        from tidegate.notifications.adapters.store import DynamoNotifications

        return DynamoNotifications(self._dynamodb, self._table)

    @cached_property
    def notification_queue(self) -> NotificationQueue:
        from tidegate.notifications.adapters.queue import SqsNotificationQueue

        return SqsNotificationQueue(self._sqs, NotificationSettings.from_env(self.environ).queue)

    @cached_property
    def declared_destinations(self) -> DeclaredDestinations:
        """The names of the destinations that the installation declares, and who may use them."""
        from tidegate.notifications.rules.destination import names_from_text

        return names_from_text(DestinationNameSettings.from_env(self.environ).listed)

    @cached_property
    def destinations(self) -> Mapping[str, Destination]:
        """The destinations of notifications, by their names."""
        from tidegate.notifications.rules.destination import from_text

        return from_text(NotificationSettings.from_env(self.environ).destinations)

    @cached_property
    def receivers(self) -> Receivers:
        from tidegate.notifications.adapters.receivers import HttpReceivers
        from tidegate.notifications.adapters.secrets import StoredSecrets

        settings = NotificationSettings.from_env(self.environ)
        secrets = StoredSecrets(self.client("secretsmanager"))
        return HttpReceivers(
            secrets.fields,
            lambda: self.client("sns"),
            lambda name: f"{settings.topics}{name}",
            is_local=settings.is_local,
        )

    @cached_property
    def slack_apps(self) -> SlackApps:
        from tidegate.notifications.adapters.secrets import StoredSecrets
        from tidegate.notifications.adapters.slack import HttpSlackApps

        settings = SlackSettings.from_env(self.environ)
        secrets = StoredSecrets(self.client("secretsmanager"))
        return HttpSlackApps(settings.names, secrets.fields, is_local=settings.is_local)

    @cached_property
    def slack_accounts(self) -> SlackAccounts:
        from tidegate.notifications.adapters.slack_accounts import DynamoSlackAccounts

        return DynamoSlackAccounts(self._dynamodb, self._table)

    @cached_property
    def forge_deliveries(self) -> ForgeDeliveries:
        settings = ForgeSettings.from_env(self.environ)
        if settings.is_gitlab:
            from tidegate.vcs.gitlab.forge import GitLabDeliveries

            return GitLabDeliveries()
        from tidegate.vcs.github.deliveries import GitHubDeliveries

        return GitHubDeliveries(self._app_credentials, api_url=settings.api_url)

    @cached_property
    def redeliveries(self) -> Redeliveries:
        from tidegate.vcs.adapters.redeliveries import DynamoRedeliveries

        return DynamoRedeliveries(self._dynamodb, self._table)

    @cached_property
    def accounts(self) -> Accounts:
        from tidegate.vcs.adapters.accounts import GitHubAccounts, GitLabAccounts

        settings = ForgeSettings.from_env(self.environ)
        kind = GitLabAccounts if settings.is_gitlab else GitHubAccounts
        return kind(lambda: self.oauth_client, url=settings.url, api_url=settings.api_url)

    @property
    def oauth_client(self) -> OAuthClient:
        """The App's OAuth client. Raise NoSignIn if its secret is not stored."""
        from tidegate.vcs.adapters.accounts import OAuthClient
        from tidegate.web.refusals import NoSignIn

        secret = self._app_secret
        client_id, client_secret = secret.get("client_id", ""), secret.get("client_secret", "")
        if not client_id or not client_secret:
            raise NoSignIn
        return OAuthClient(client_id, client_secret)

    @property
    def sessions(self) -> Sessions:
        """Signs sessions with the current client secret, so that a new secret ends them."""
        from tidegate.web.session import Sessions

        return Sessions(self.oauth_client.client_secret, self.seconds)

    @cached_property
    def sign_outs(self) -> SignOuts:
        from tidegate.web.adapters.sign_outs import DynamoSignOuts

        return DynamoSignOuts(self._dynamodb, self._table)

    @cached_property
    def setup_codes(self) -> SetupCodes:
        from tidegate.setup.adapters.setup_codes import DynamoSetupCodes

        return DynamoSetupCodes(self._dynamodb, self._table)

    @cached_property
    def app_secrets(self) -> AppSecrets:
        from tidegate.setup.adapters.app_secrets import StoredAppSecrets

        app, webhook = ForgeSettings.from_env(self.environ).app_secret, WebhookSettings.from_env(self.environ).secret
        return StoredAppSecrets(self.client("secretsmanager"), app=app, webhook=webhook)

    @cached_property
    def webhook_url(self) -> str:
        """Where the VCS provider sends webhooks."""
        return WebhookSettings.from_env(self.environ).url

    @cached_property
    def app_manifests(self) -> AppManifests:
        from tidegate.setup.adapters.manifests import GitHubAppManifests

        settings = ForgeSettings.from_env(self.environ)
        return GitHubAppManifests(url=settings.url, api_url=settings.api_url)

    @cached_property
    def job_logs(self) -> JobLogs:
        from tidegate.deploys.adapters.jobs import DynamoJobLogs

        return DynamoJobLogs(self._dynamodb, self._table)

    @cached_property
    def rounds(self) -> int:
        """Claims of one execution of the deploy machine at most."""
        return MachineSettings.from_env(self.environ).rounds

    @cached_property
    def update_repositories(self) -> frozenset[str]:
        """The repositories whose stacks and environments may wait for each other's."""
        names = UpdateSettings.from_env(self.environ).repositories.split(",")
        return frozenset(filter(None, (each.strip() for each in names)))

    @cached_property
    def slot_limit(self) -> int:
        """Concurrent runners of the installation at most."""
        return SlotSettings.from_env(self.environ).limit

    @cached_property
    def plan_slot_limit(self) -> int:
        """Concurrent speculative plans of a repository at most."""
        return PlanSlotSettings.from_env(self.environ).limit

    @cached_property
    def runner_offer(self) -> RunnerOffer:
        """The runner sizes that roots may request."""
        return RunnerOfferSettings.from_env(self.environ).offer

    @cached_property
    def plan_runner(self) -> PlanRunnerSettings:
        """The function that runs plans; without one, they run on Fargate."""
        return PlanRunnerSettings.from_env(self.environ)

    @cached_property
    def identity(self) -> IdentitySettings:
        """The issuer of jobs' tokens, and their audiences."""
        return IdentitySettings.from_env(self.environ)

    @cached_property
    def web_url(self) -> str:
        """The base URL of the pages, without a slash at the end; empty without pages."""
        return LinkSettings.from_env(self.environ).web.rstrip("/")

    @cached_property
    def links(self) -> Links:
        """URLs in check runs."""
        from tidegate.check_runs.check_run_view import Links

        bucket = ArtifactSettings.from_env(self.environ).bucket
        return Links(LinkSettings.from_env(self.environ).execution, self.web_url, bucket)

    @cached_property
    def web_links(self) -> WebLinks:
        """URLs in pages."""
        from tidegate.web.parts import WebLinks

        return WebLinks(self.addresses, LinkSettings.from_env(self.environ).execution, self.terms)

    @cached_property
    def operators_team(self) -> str:
        """The team whose members operate the installation."""
        return OperatorSettings.from_env(self.environ).team

    @cached_property
    def organization(self) -> OrganizationReader:
        """The organization's configuration, read again when it changes."""
        from tidegate.discovery.read_organization import OrganizationReader

        review = ReviewSettings.from_env(self.environ).plan_review
        return OrganizationReader(self.organization_file, review, self.declared_destinations)

    @cached_property
    def root_indexes(self) -> RootIndexes:
        """Cached indexes of commits' roots."""
        from tidegate.discovery.root_index import RootIndexes

        return RootIndexes()

    @cached_property
    def kept_logs(self) -> dict[str, tuple[str, ...]]:
        """The last read log, by its job."""
        return {}

    @cached_property
    def seconds(self) -> Callable[[], float]:
        """Seconds since 1970."""
        return time.time

    @cached_property
    def monotonic(self) -> Callable[[], float]:
        """Seconds that only grow."""
        return time.monotonic

    def new_id(self) -> str:
        """Return a unique id."""
        return str(uuid.uuid4())
