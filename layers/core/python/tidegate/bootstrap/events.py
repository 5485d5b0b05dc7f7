"""The use cases of what comes from outside, and of what is shown there."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.deploys import Deploys
from tidegate.settings import ArtifactSettings, LinkSettings, ReviewSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tidegate.changes.rules.change_set import Key
    from tidegate.check_runs.check_run_view import CheckRunPainter
    from tidegate.check_runs.publish_check_run import CheckRunPublisher
    from tidegate.comments.answer_comment import Comment, CommentWork
    from tidegate.comments.decide_by_comment import CommentDecider
    from tidegate.comments.hand_over_comment import CommentHandover
    from tidegate.comments.receive_comment import CommentReceiver
    from tidegate.comments.rules.command import Verb
    from tidegate.config.declarations import Drift
    from tidegate.config.rules.apply_rules import ApplyRules
    from tidegate.deploys.queue.refresh_line import LineRefresher
    from tidegate.deploys.rules.deployment import Deployment
    from tidegate.discovery.current_rules import CurrentRules
    from tidegate.discovery.new_deployments import ChangeEnqueuer
    from tidegate.discovery.read_organization import OrganizationReader
    from tidegate.discovery.repository_source import Granted, RepositorySource
    from tidegate.discovery.root_index import Deployable
    from tidegate.gates.retry_blocked import BlockedRetrier
    from tidegate.policies.rules.policy import HeldPolicySet
    from tidegate.ports import DeliveryOutcome, KnownRepository
    from tidegate.pushes.receive_push import PushReceiver
    from tidegate.requests.answer_button import ButtonAnswerer
    from tidegate.requests.destroy_roots import RootDestroyer
    from tidegate.requests.receive_request import RequestReceiver
    from tidegate.requests.rerun import RerunRequester
    from tidegate.vcs.rules.push import Push


class Events(Deploys):
    """The use cases of what comes from outside, and of what is shown there."""

    @cached_property
    def check_run_painter(self) -> CheckRunPainter:
        from tidegate.check_runs.check_run_view import CheckRunPainter, Links

        settings = LinkSettings.from_env(self.environ)
        bucket = ArtifactSettings.from_env(self.environ).bucket
        links = Links(settings.execution, settings.web.rstrip("/"), bucket)
        return CheckRunPainter(
            self.queues,
            self.deployments,
            self.change_sets,
            self.line_boards,
            self.check_runs,
            self.artifacts,
            self.addresses,
            self.slot_waits,
            links,
        )

    @cached_property
    def check_run_publisher(self) -> CheckRunPublisher:
        from tidegate.check_runs.publish_check_run import CheckRunPublisher
        from tidegate.gates.tell_waiting import WaitingTeller

        waiting = WaitingTeller(self.change_sets, self.deployments, self.announcements)
        return CheckRunPublisher(
            self.deployments,
            self.check_runs,
            self.forge,
            self.announcements,
            self.check_run_painter,
            waiting,
            self._tell_merged,
        )

    @cached_property
    def line_refresher(self) -> LineRefresher:
        from tidegate.deploys.queue.refresh_line import LineRefresher

        return LineRefresher(
            self.queues, self.line_boards, self.deployments, self.check_runs, self.announcements, self.clock
        )

    @cached_property
    def push_receiver(self) -> PushReceiver:
        from tidegate.pushes.freezes import FreezeKeeper
        from tidegate.pushes.mark_orphans import OrphanMarker
        from tidegate.pushes.receive_push import PushReceiver

        return PushReceiver(
            self.deliveries,
            self.forge,
            self.history,
            self.catalog,
            self._merge_enqueuer,
            self.authorizer.reviewed_unless_granted,
            self.pull_requests,
            self._hold_policies,
            self._organization,
            schedule_drift=self._schedule_drift,
            keep_freezes=FreezeKeeper(self.queues, self.catalog).keep,
            tell_base_moved=self._tell_base_moved,
            confirm=self._confirmed,
            mark_orphans=OrphanMarker(self.catalog, self.queues, self.deployments).mark,
        )

    def _confirmed(self, push: Push) -> Push | None:
        """Ask for a push once more, where webhooks are not signed."""
        if self.witness is None:
            return push
        from tidegate.discovery.confirm_webhook import PushConfirmer

        return PushConfirmer(self.witness, self.audit).confirm(push)

    def _doubts(self, comment: Comment) -> DeliveryOutcome | None:
        """Ask for a comment once more, where webhooks are not signed."""
        if self.witness is None:
            return None
        from tidegate.comments.confirm_comment import CommentConfirmer

        return CommentConfirmer(self.forge, self.deliveries, self.witness, self.audit).doubts(comment)

    def _tell_base_moved(
        self, known: KnownRepository, touched: Collection[str] | None, *, rules: ApplyRules, replans: bool
    ) -> None:
        """Tell pull requests that their base branch moved on."""

    def _tell_merged(self, _deployment: Deployment) -> None:
        """Tell merged pull requests that a deployment changed."""

    def _schedule_drift(self, _known: KnownRepository, _drift: Drift) -> tuple[str, ...]:
        return ()

    @cached_property
    def comment_receiver(self) -> CommentReceiver:
        from tidegate.comments.receive_comment import CommentReceiver

        return CommentReceiver(
            self.deliveries,
            self._repository_source,
            self.catalog,
            self._change_enqueuer,
            self.authorizer,
            self.queue_unlocker.unlock,
            self.queue_locker.lock,
            self.repository_locker,
            self.pull_requests,
            {**self._handed_over, **self.comment_works},
            doubts=self._doubts,
            hold=self._hold_policies,
        )

    def _hold_policies(
        self, _where: tuple[int, str], _granted: Granted, _members: Sequence[Deployable]
    ) -> Mapping[Key, tuple[HeldPolicySet, ...]]:
        """Store the policy sets that plans are held against."""
        return {}

    @property
    def _handed_over(self) -> Mapping[Verb, CommentWork]:
        """What is decided by comments where buttons are answered."""
        from tidegate.comments.rules.command import Verb

        return dict.fromkeys((Verb.CONFIRM, Verb.REJECT), self._comment_handover)

    @cached_property
    def _comment_handover(self) -> CommentHandover:
        from tidegate.comments.hand_over_comment import CommentHandover

        return CommentHandover(self.deliveries, self.events)

    @cached_property
    def comment_decider(self) -> CommentDecider:
        from tidegate.comments.decide_by_comment import CommentDecider

        return CommentDecider(
            self.deliveries,
            self.deployments,
            self.pull_requests,
            self.forge,
            self.authorizer,
            self.review_decider.decide,
            self.gate_decider.decide,
            self.deployment_canceller,
        )

    @property
    def comment_works(self) -> Mapping[Verb, CommentWork]:
        """What carries out verbs that are not about deploys."""
        from tidegate.comments.destroy_by_comment import CommentDestroyer
        from tidegate.comments.rules.command import Verb

        return {Verb.DESTROY: CommentDestroyer(self.forge, self.deliveries, self.root_destroyer)}

    @cached_property
    def request_receiver(self) -> RequestReceiver:
        from tidegate.requests.receive_request import RequestReceiver

        source, changes = self._repository_source, self._change_enqueuer
        return RequestReceiver(self.deliveries, source, changes, self.authorizer, self.root_destroyer)

    @cached_property
    def root_destroyer(self) -> RootDestroyer:
        from tidegate.requests.destroy_roots import RootDestroyer

        source, changes = self._repository_source, self._change_enqueuer
        return RootDestroyer(source, self.catalog, self.authorizer, changes, self._hold_policies)

    @cached_property
    def rerun_requester(self) -> RerunRequester:
        from tidegate.requests.rerun import RerunRequester

        return RerunRequester(
            self.deliveries,
            self.queues,
            self.deployments,
            self.change_sets,
            self.check_runs,
            self.forge,
            self.announcements,
            self.authorizer,
            self._current_rules.under,
            self.enqueuer.enqueue,
            self.events.send,
        )

    @cached_property
    def blocked_retrier(self) -> BlockedRetrier:
        from tidegate.gates.retry_blocked import BlockedRetrier

        return BlockedRetrier(
            self.deliveries,
            self.deployments,
            self.change_sets,
            self.forge,
            self.announcements,
            self.authorizer,
            self._current_rules.under,
            self.enqueuer.enqueue,
        )

    @cached_property
    def _current_rules(self) -> CurrentRules:
        from tidegate.discovery.current_rules import CurrentRules

        return CurrentRules(self._repository_source, self._hold_policies)

    @cached_property
    def _change_enqueuer(self) -> ChangeEnqueuer:
        from tidegate.discovery.new_deployments import ChangeEnqueuer

        return ChangeEnqueuer(self.change_sets, self.enqueuer.enqueue)

    @cached_property
    def _merge_enqueuer(self) -> ChangeEnqueuer:
        from tidegate.discovery.new_deployments import ChangeEnqueuer
        from tidegate.pushes.applied_before import AppliedBefore

        applied = AppliedBefore(
            self.queues,
            self.deployments,
            self.forge,
            self.history,
            self.announcements,
            self.worker_ensurer,
            self.clock,
            self._organization,
            self.enqueuer.enqueue,
        )
        return ChangeEnqueuer(self.change_sets, applied.enqueue)

    @cached_property
    def _repository_source(self) -> RepositorySource:
        from tidegate.discovery.repository_source import RepositorySource

        return RepositorySource(self.forge, self.history, self._organization)

    @cached_property
    def _organization(self) -> OrganizationReader:
        from tidegate.discovery.read_organization import OrganizationReader

        return OrganizationReader(self.organization_file, ReviewSettings.from_env(self.environ).plan_review)

    @cached_property
    def button_answerer(self) -> ButtonAnswerer:
        from tidegate.requests.answer_button import ButtonAnswerer

        return ButtonAnswerer(
            self.deployments,
            self.check_runs,
            self.forge,
            self.announcements,
            self.authorizer.may,
            self.review_decider.decide,
            self.gate_decider.decide,
            self.queue_unlocker.unlock,
            self.deployment_canceller.cancel,
        )
