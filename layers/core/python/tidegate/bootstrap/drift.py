"""The use cases of drift."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.pull_requests import PullRequestWork
from tidegate.settings import BusSettings, DriftRunSettings, ForgeSettings, LinkSettings, ScheduleSettings

if TYPE_CHECKING:
    from tidegate.config.declarations import Drift
    from tidegate.config.rules.drift import DriftRecord
    from tidegate.drift.align_drift import DriftAligner
    from tidegate.drift.conclude_drift import DriftConcluder
    from tidegate.drift.discover_drift import DriftDiscoverer
    from tidegate.drift.look_at_drift import DriftLooker
    from tidegate.drift.look_now import DriftRerunReceiver, DriftStarter
    from tidegate.drift.receive_drift import DriftReceiver
    from tidegate.drift.report_drift import DriftReporter
    from tidegate.ports import DriftEvents, DriftRuns, Drifts, ForgeIssues, KnownRepository, Schedules


class DriftWork(PullRequestWork):
    """The use cases of drift."""

    @cached_property
    def drifts(self) -> Drifts:
        from tidegate.drift.adapters.drifts import DynamoDrifts

        return DynamoDrifts(self._dynamodb, self._table)

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
    def issues(self) -> ForgeIssues:
        if self.gitlab is not None:
            return self.gitlab
        settings = ForgeSettings.from_env(self.environ)
        from tidegate.vcs.github.forge import GitHubForge

        return GitHubForge(self._app_credentials, url=settings.url, api_url=settings.api_url)

    @cached_property
    def drift_reporter(self) -> DriftReporter:
        from tidegate.drift.report_drift import DriftReporter

        page = LinkSettings.from_env(self.environ).web.rstrip("/")
        return DriftReporter(self.issues, self._check_run_keeper, page)

    @cached_property
    def drift_aligner(self) -> DriftAligner:
        from tidegate.drift.align_drift import DriftAligner

        def withdraw(record: DriftRecord) -> None:
            self.drift_reporter.withdraw(record)

        return DriftAligner(self.drifts, lambda: self.schedules, self.catalog, withdraw)

    @cached_property
    def drift_discoverer(self) -> DriftDiscoverer:
        from tidegate.drift.discover_drift import DriftDiscoverer

        return DriftDiscoverer(
            self.drifts,
            self.temporary_layers,
            self._repository_source,
            self.catalog,
            self.schedules,
            self.drift_aligner.remove,
            self.drift_runs.ending,
            self.clock,
        )

    @cached_property
    def drift_concluder(self) -> DriftConcluder:
        from tidegate.drift.conclude_drift import DriftConcluder
        from tidegate.pull_requests.close_pull_request import remove_plans

        return DriftConcluder(
            self.drifts,
            self.temporary_layers,
            self.deployments,
            self.drift_reporter.report,
            lambda layers: remove_plans(self.artifacts, layers),
            self.drift_events,
            self.deliveries,
            self.events,
            self.clock,
        )

    @cached_property
    def drift_receiver(self) -> DriftReceiver:
        from tidegate.drift.receive_drift import DriftReceiver

        enqueue_all = self._change_enqueuer.enqueue_all
        return DriftReceiver(self.deliveries, self._repository_source, enqueue_all, self._hold_policies)

    @cached_property
    def drift_looker(self) -> DriftLooker:
        from tidegate.drift.look_at_drift import DriftLooker

        return DriftLooker(self.drifts, self.deployments)

    @cached_property
    def drift_starter(self) -> DriftStarter:
        from tidegate.drift.look_now import DriftStarter

        return DriftStarter(self.drifts, self.drift_runs)

    @property
    def drift_rerun_receiver(self) -> DriftRerunReceiver:
        from tidegate.drift.look_now import DriftRerunReceiver

        return DriftRerunReceiver(self.deliveries, self.forge, self.drift_starter)

    def _schedule_drift(self, known: KnownRepository, drift: Drift) -> tuple[str, ...]:
        return self.drift_aligner.align(known, drift)
