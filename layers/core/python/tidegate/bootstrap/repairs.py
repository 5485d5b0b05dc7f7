"""The reconciler and its repairs."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.drift import DriftWork
from tidegate.settings import ForgeSettings

if TYPE_CHECKING:
    from tidegate.ports import ForgeDeliveries, Redeliveries
    from tidegate.pull_requests.restart_pull_request import PullRequestRestarter
    from tidegate.pull_requests.rules.record import PullRequestRecord
    from tidegate.reconciler.reconcile import Reconciler
    from tidegate.reconciler.turn import Repair


class Repairs(DriftWork):
    """The reconciler and its repairs."""

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
    def reconciler(self) -> Reconciler:
        """All repairs: a deployment that is back in line needs a worker, and only the last ones ask the forge."""
        from tidegate.reconciler.reconcile import Reconciler

        return Reconciler(
            self.clock, {**self._of_records(), **self._of_queues(), **self._of_pull_requests(), **self._of_webhooks()}
        )

    def _of_queues(self) -> dict[str, Repair]:
        from tidegate.reconciler.refresh_lines import RefreshLines
        from tidegate.reconciler.release_locks import ReleaseLocks
        from tidegate.reconciler.release_queues import ReleaseQueues
        from tidegate.reconciler.start_workers import StartWorkers

        return {
            "release_queues": ReleaseQueues(self.queues, self.workflows, self.queue_releaser.release),
            "release_locks": ReleaseLocks(self.queues, self.queue_unlocker.unlock, self.repository_locker.unlock),
            "start_workers": StartWorkers(self.queues, self.worker_ensurer.ensure),
            "refresh_lines": RefreshLines(self.queues, self.announcements),
        }

    def _of_records(self) -> dict[str, Repair]:
        from tidegate.reconciler.cancel_withdrawn import CancelWithdrawn
        from tidegate.reconciler.close_orphans import CloseOrphans
        from tidegate.reconciler.settle_gates import SettleGates
        from tidegate.reconciler.settle_reviews import SettleReviews
        from tidegate.reconciler.show_check_runs import ShowCheckRuns
        from tidegate.reconciler.stop_runners import StopRunners

        end, ensure_worker = self.deployment_ender.end_orphan, self.worker_ensurer.ensure
        return {
            "close_orphans": CloseOrphans(self.queues, self.deployments, self.announcements, end, ensure_worker),
            "settle_reviews": SettleReviews(self.deployments, self.review_carrier.carry_out),
            "settle_gates": SettleGates(self.deployments, self.gate_opener.open),
            "cancel_withdrawn": CancelWithdrawn(self.deployments, self._go_on_cancelling),
            "show_check_runs": ShowCheckRuns(self.deployments, self.check_runs, self.announcements),
            "stop_runners": StopRunners(self.runners, self.jobs, self.deployments, self.temporary_layers),
        }

    def _go_on_cancelling(self, deployment: str) -> bool:
        return self.deployment_canceller.go_on(deployment) or self.apply_canceller.go_on(deployment)

    def _of_pull_requests(self) -> dict[str, Repair]:
        from tidegate.reconciler.follow_pull_requests import FollowPullRequests, RestartPullRequests
        from tidegate.reconciler.free_places import FreePlaces
        from tidegate.reconciler.free_slots import FreeSlots
        from tidegate.reconciler.look_at_requirements import LookAtRequirements

        return {
            "restart_pull_requests": RestartPullRequests(self.pull_requests, self._restart_pull_request),
            "free_places": FreePlaces(
                self.plan_places,
                self.temporary_layers,
                self.pull_requests,
                self.drifts,
                self.place_giver,
                self.workflows.pull_request_ending,
                self.drift_runs.ending,
            ),
            "free_slots": FreeSlots(
                self.plan_places,
                self.queues,
                self.deployments,
                self.temporary_layers,
                self.slot_giver,
                self.announcements,
                self.jobs,
                self.runners,
            ),
            "look_at_requirements": LookAtRequirements(self.deployments, self.requirements_gate.look),
            "follow_pull_requests": FollowPullRequests(self.catalog, self.pull_requests, self.forge, self.deliveries),
        }

    def _restart_pull_request(self, record: PullRequestRecord) -> bool:
        return self._pull_request_restarter.restart(record)

    @cached_property
    def _pull_request_restarter(self) -> PullRequestRestarter:
        from tidegate.pull_requests.restart_pull_request import PullRequestRestarter

        return PullRequestRestarter(
            self.pull_requests,
            self.temporary_layers,
            self.workflows,
            self.pull_request_checks,
            self.announcements,
            self.pull_request_stopper,
            self.clock,
        )

    def _of_webhooks(self) -> dict[str, Repair]:
        from tidegate.reconciler.catch_up_heads import CatchUpHeads
        from tidegate.reconciler.redeliver_webhooks import RedeliverWebhooks
        from tidegate.reconciler.resend_deliveries import ResendDeliveries

        return {
            "resend_deliveries": ResendDeliveries(self.deliveries, self.events),
            "redeliver_webhooks": RedeliverWebhooks(self.forge_deliveries, self.deliveries, self.redeliveries),
            "catch_up_heads": CatchUpHeads(self.catalog, self.forge, self.deliveries),
        }
