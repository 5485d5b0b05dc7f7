"""The wiring: the only place that knows use cases and adapters.

Everything is made when it is first used and kept while the function is warm, so that a function reads
only its own settings and imports only its own adapters. Tests put another ``Bootstrap`` in its place.
"""

# ruff: noqa: PLC0415  # Imports stay with what needs them: PyGithub alone takes as long as all the rest.

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.settings import (
    AddressSettings,
    AnnouncementSettings,
    ArtifactSettings,
    AuditSettings,
    EventQueueSettings,
    ForgeSettings,
    InvalidSecretError,
    LinkSettings,
    ReviewSettings,
    TableSettings,
    WorkflowSettings,
)

if TYPE_CHECKING:
    from tidegate.adapters.github import AppCredentials
    from tidegate.adapters.patience import QueuePatience
    from tidegate.ports import (
        Announcements,
        Artifacts,
        AuditLog,
        CheckRuns,
        Clock,
        Deliveries,
        Deployments,
        DeployQueues,
        EventQueue,
        Forge,
        ForgeAddresses,
        Jobs,
        SourceHistory,
        Workflows,
    )
    from tidegate.usecases.answer_button import ButtonAnswerer
    from tidegate.usecases.begin_job import JobBeginner
    from tidegate.usecases.check_run_view import CheckRunPainter
    from tidegate.usecases.claim_deployment import DeploymentClaimer
    from tidegate.usecases.close_worker import WorkerCloser
    from tidegate.usecases.end_deployment import DeploymentEnder
    from tidegate.usecases.enqueue import Enqueuer
    from tidegate.usecases.ensure_worker import WorkerEnsurer
    from tidegate.usecases.execution_closed import QueueReleaser
    from tidegate.usecases.hand_over_job import JobHandover
    from tidegate.usecases.hand_over_worker import WorkerHandover
    from tidegate.usecases.publish_check_run import CheckRunPublisher
    from tidegate.usecases.receive_push import PushReceiver
    from tidegate.usecases.reconcile import Reconciler
    from tidegate.usecases.record_outcome import OutcomeRecorder
    from tidegate.usecases.record_plan import PlanRecorder
    from tidegate.usecases.record_result import ResultRecorder
    from tidegate.usecases.request_review import ReviewRequester
    from tidegate.usecases.runner_stopped import StoppedRunnerReporter
    from tidegate.usecases.unlock import QueueUnlocker
    from tidegate.usecases.validate_revision import RevisionValidator
    from tidegate.usecases.wait_for_signal import SignalWaiter


class Adapters:
    """The ports on AWS and GitHub."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ

    def client(self, service: str) -> Any:
        """Return a new client of an AWS service."""
        from tidegate.adapters.boto import client

        return client(service)

    @cached_property
    def clock(self) -> Clock:
        from tidegate.adapters.clock import SystemClock

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
        from tidegate.adapters.dynamodb_queues import DynamoDeployQueues

        return DynamoDeployQueues(self._dynamodb, self._table)

    @cached_property
    def deployments(self) -> Deployments:
        from tidegate.adapters.dynamodb_deployments import DynamoDeployments

        return DynamoDeployments(self._dynamodb, self._table)

    @cached_property
    def check_runs(self) -> CheckRuns:
        from tidegate.adapters.dynamodb_deployments import DynamoCheckRuns

        return DynamoCheckRuns(self._dynamodb, self._table)

    @cached_property
    def jobs(self) -> Jobs:
        from tidegate.adapters.dynamodb_jobs import DynamoJobs

        return DynamoJobs(self._dynamodb, self._table)

    @cached_property
    def deliveries(self) -> Deliveries:
        from tidegate.adapters.aws_http import Aws
        from tidegate.adapters.deliveries import DynamoDeliveries

        return DynamoDeliveries(Aws(), self._table)

    @cached_property
    def events(self) -> EventQueue:
        from tidegate.adapters.aws_http import Aws
        from tidegate.adapters.deliveries import SqsEventQueue

        settings = EventQueueSettings.from_env(self.environ)
        return SqsEventQueue(Aws(), {"push": settings.push_queue, "check_run": settings.press_queue})

    @cached_property
    def announcements(self) -> Announcements:
        from tidegate.adapters.announcements import AwsAnnouncements

        settings = AnnouncementSettings.from_env(self.environ)
        return AwsAnnouncements(self._sqs, self.client("events"), settings.check_run_queue, settings.bus)

    @cached_property
    def audit(self) -> AuditLog:
        from tidegate.adapters.audit import SnsAuditLog

        return SnsAuditLog(self.client("sns"), AuditSettings.from_env(self.environ).topic)

    @cached_property
    def artifacts(self) -> Artifacts:
        from tidegate.adapters.artifacts import S3Artifacts

        return S3Artifacts(self.client("s3"), ArtifactSettings.from_env(self.environ).bucket)

    @cached_property
    def workflows(self) -> Workflows:
        from tidegate.adapters.stepfunctions import StepFunctionsWorkflows

        return StepFunctionsWorkflows(
            self.client("stepfunctions"), WorkflowSettings.from_env(self.environ).deploy_machine
        )

    @cached_property
    def patience(self) -> QueuePatience:
        from tidegate.adapters.patience import QueuePatience

        return QueuePatience(self._sqs)

    @cached_property
    def addresses(self) -> ForgeAddresses:
        from tidegate.adapters.addresses import GitHubAddresses

        return GitHubAddresses(AddressSettings.from_env(self.environ).url)

    @cached_property
    def forge(self) -> Forge:
        from tidegate.adapters.github import GitHubForge

        settings = ForgeSettings.from_env(self.environ)
        return GitHubForge(self._app_credentials, url=settings.url, api_url=settings.api_url)

    @cached_property
    def history(self) -> SourceHistory:
        from tidegate.adapters.git import GitSource

        return GitSource(self.environ)

    @cached_property
    def _app(self) -> AppCredentials:
        from tidegate.adapters.boto import cloud_errors
        from tidegate.adapters.github import AppCredentials

        with cloud_errors("Secrets Manager"):
            name = ForgeSettings.from_env(self.environ).app_secret
            answer = self.client("secretsmanager").get_secret_value(SecretId=name)
        try:
            secret = json.loads(answer["SecretString"])
            app_id, private_key = str(secret["app_id"]), str(secret["private_key"])
        except (ValueError, KeyError, TypeError):
            raise InvalidSecretError(name) from None
        if not app_id or not private_key:
            raise InvalidSecretError(name)
        return AppCredentials(app_id, private_key)

    def _app_credentials(self) -> AppCredentials:
        return self._app


class Bootstrap(Adapters):
    """The use cases on their ports."""

    @cached_property
    def queue_unlocker(self) -> QueueUnlocker:
        from tidegate.usecases.unlock import QueueUnlocker

        return QueueUnlocker(self.queues, self.deployments, self.announcements, self.worker_ensurer)

    @cached_property
    def deployment_claimer(self) -> DeploymentClaimer:
        from tidegate.usecases.claim_deployment import DeploymentClaimer

        return DeploymentClaimer(self.queues)

    @cached_property
    def revision_validator(self) -> RevisionValidator:
        from tidegate.usecases.validate_revision import RevisionValidator

        return RevisionValidator(self.queues, self.deployments, self.forge, self.clock)

    @cached_property
    def deployment_ender(self) -> DeploymentEnder:
        from tidegate.usecases.end_deployment import DeploymentEnder

        return DeploymentEnder(self.queues, self.deployments, self.jobs, self.audit, self.announcements, self.clock)

    @cached_property
    def outcome_recorder(self) -> OutcomeRecorder:
        from tidegate.usecases.record_outcome import OutcomeRecorder

        return OutcomeRecorder(self.queues, self.deployments, self.deployment_ender)

    @cached_property
    def signal_waiter(self) -> SignalWaiter:
        from tidegate.usecases.wait_for_signal import SignalWaiter

        return SignalWaiter(self.queues, self.workflows)

    @cached_property
    def worker_closer(self) -> WorkerCloser:
        from tidegate.usecases.close_worker import WorkerCloser

        return WorkerCloser(self.queues)

    @cached_property
    def worker_handover(self) -> WorkerHandover:
        from tidegate.usecases.hand_over_worker import WorkerHandover

        return WorkerHandover(self.queues, self.worker_ensurer)

    @cached_property
    def queue_releaser(self) -> QueueReleaser:
        from tidegate.usecases.execution_closed import QueueReleaser

        return QueueReleaser(
            self.queues, self.deployments, self.announcements, self.deployment_ender, self.worker_ensurer
        )

    @cached_property
    def job_beginner(self) -> JobBeginner:
        from tidegate.usecases.begin_job import JobBeginner

        return JobBeginner(self.deployments, self.jobs, self.addresses, self.audit, self.announcements, self.clock)

    @cached_property
    def job_handover(self) -> JobHandover:
        from tidegate.usecases.hand_over_job import JobHandover

        return JobHandover(self.deployments, self.jobs, self.forge)

    @cached_property
    def plan_recorder(self) -> PlanRecorder:
        from tidegate.usecases.record_plan import PlanRecorder

        policy = ReviewSettings.from_env(self.environ).policy
        return PlanRecorder(self.deployments, self.announcements, self.clock, policy)

    @cached_property
    def review_requester(self) -> ReviewRequester:
        from tidegate.usecases.request_review import ReviewRequester

        return ReviewRequester(self.deployments, self.workflows, self.announcements, self.clock)

    @cached_property
    def result_recorder(self) -> ResultRecorder:
        from tidegate.usecases.record_result import ResultRecorder

        return ResultRecorder(self.deployments, self.jobs, self.audit, self.announcements, self.clock)

    @cached_property
    def stopped_runner_reporter(self) -> StoppedRunnerReporter:
        from tidegate.usecases.runner_stopped import StoppedRunnerReporter

        return StoppedRunnerReporter(self.jobs, self.workflows)

    @cached_property
    def check_run_painter(self) -> CheckRunPainter:
        from tidegate.usecases.check_run_view import CheckRunPainter, Links

        settings = LinkSettings.from_env(self.environ)
        bucket = ArtifactSettings.from_env(self.environ).bucket
        return CheckRunPainter(self.queues, self.artifacts, Links(settings.execution, settings.log, bucket))

    @cached_property
    def check_run_publisher(self) -> CheckRunPublisher:
        from tidegate.usecases.publish_check_run import CheckRunPublisher

        return CheckRunPublisher(self.deployments, self.check_runs, self.forge, self.check_run_painter)

    @cached_property
    def worker_ensurer(self) -> WorkerEnsurer:
        from tidegate.usecases.ensure_worker import WorkerEnsurer

        return WorkerEnsurer(self.queues, self.workflows)

    @cached_property
    def enqueuer(self) -> Enqueuer:
        from tidegate.usecases.enqueue import Enqueuer

        return Enqueuer(self.queues, self.deployments, self.announcements, self.worker_ensurer)

    @cached_property
    def push_receiver(self) -> PushReceiver:
        from tidegate.usecases.receive_push import PushReceiver

        return PushReceiver(self.deliveries, self.forge, self.history, self.enqueuer.enqueue)

    @cached_property
    def button_answerer(self) -> ButtonAnswerer:
        from tidegate.usecases.answer_button import ButtonAnswerer

        return ButtonAnswerer(
            self.deployments,
            self.check_runs,
            self.forge,
            self.workflows,
            self.announcements,
            self.check_run_painter,
            self.queue_unlocker.unlock,
        )

    @cached_property
    def reconciler(self) -> Reconciler:
        from tidegate.usecases.reconcile import Reconciler

        return Reconciler(
            self.deliveries,
            self.events,
            self.queues,
            self.clock,
            self.workflows,
            self.queue_releaser.release,
            self.worker_ensurer.ensure,
        )


_wiring: list[Bootstrap] = []


def wiring() -> Bootstrap:
    """Return the wiring of this process."""
    if not _wiring:
        _wiring.append(Bootstrap())
    return _wiring[0]


def use(bootstrap: Bootstrap | None) -> None:
    """Put another wiring in place (None: make a new one when it is needed next)."""
    _wiring[:] = [] if bootstrap is None else [bootstrap]
