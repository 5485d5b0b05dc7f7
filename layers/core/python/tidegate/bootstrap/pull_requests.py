"""The use cases of pull requests."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.events import Events
from tidegate.settings import LinkSettings, PlaceSettings, RunnerOfferSettings, SlotSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tidegate.changes.rules.change_set import Key
    from tidegate.comments.answer_comment import CommentWork
    from tidegate.comments.apply_pull_request import PullRequestApplier
    from tidegate.comments.cancel_by_comment import CommentCanceller
    from tidegate.comments.plan_by_comment import CommentPlanner
    from tidegate.comments.plan_by_rerun import RerunPlanner
    from tidegate.comments.rules.command import Verb
    from tidegate.config.rules.apply_rules import ApplyRules
    from tidegate.deploys.rules.deployment import Deployment
    from tidegate.deploys.slots.give_places import PlaceGiver
    from tidegate.deploys.slots.look_at_places import PlaceLooker
    from tidegate.deploys.slots.wait_for_place import PlaceWaiter
    from tidegate.discovery.repository_source import Granted
    from tidegate.discovery.root_index import Deployable
    from tidegate.jobs.judge_held_plan import HeldPlanJudge
    from tidegate.policies.check_policies import PolicyChecker
    from tidegate.policies.rules.policy import HeldPolicySet
    from tidegate.ports import KnownRepository
    from tidegate.pull_requests.begin_speculation import SpeculationBeginner
    from tidegate.pull_requests.cancel_applies import ApplyCanceller
    from tidegate.pull_requests.close_applied import AppliedCloser
    from tidegate.pull_requests.close_pull_request import PullRequestCloser, PullRequestStopper
    from tidegate.pull_requests.discover_pull_request import PullRequestDiscoverer
    from tidegate.pull_requests.hold_policies import PolicyHolder
    from tidegate.pull_requests.judge_policies import PolicyJudge
    from tidegate.pull_requests.keep_check_run import CheckRunKeeper
    from tidegate.pull_requests.merge_applied import AppliedMerger
    from tidegate.pull_requests.publish_pull_request import PublicationAsker, PullRequestPublisher
    from tidegate.pull_requests.pull_request_checks import ForgeChecks, ProgressShower
    from tidegate.pull_requests.pull_request_view import LayerPainter, PlanPainter
    from tidegate.pull_requests.receive_pull_request import PullRequestFollower, PullRequestReceiver
    from tidegate.pull_requests.record_speculation import SpeculationRecorder
    from tidegate.pull_requests.show_deploys import DeploysShower
    from tidegate.pull_requests.tell_base_moved import BaseTeller
    from tidegate.pull_requests.tell_closed import ClosedTeller
    from tidegate.vcs.rules.pushers import HeadPush


class PullRequestWork(Events):
    """The use cases of pull requests."""

    @cached_property
    def pull_request_discoverer(self) -> PullRequestDiscoverer:
        from tidegate.pull_requests.affected_layers import LayerFinder
        from tidegate.pull_requests.discover_pull_request import PullRequestDiscoverer

        return PullRequestDiscoverer(
            self.pull_requests,
            self.temporary_layers,
            LayerFinder(self._repository_source, self.policy_holder),
            self.pull_request_closer,
            self.pull_request_checks,
            self.clock,
        )

    def _tell_base_moved(
        self, known: KnownRepository, touched: Collection[str] | None, *, rules: ApplyRules, replans: bool
    ) -> None:
        self.base_teller.tell(known, touched, rules, replans=replans)

    def _hold_policies(
        self, where: tuple[int, str], granted: Granted, members: Sequence[Deployable]
    ) -> Mapping[Key, tuple[HeldPolicySet, ...]]:
        return self.policy_holder.hold(where, granted, members)

    @cached_property
    def base_teller(self) -> BaseTeller:
        from tidegate.pull_requests.tell_base_moved import BaseTeller

        return BaseTeller(
            self.pull_requests, self.temporary_layers, self.forge, self.announcements, self.deliveries, self.clock
        )

    @property
    def comment_works(self) -> Mapping[Verb, CommentWork]:
        from tidegate.comments.rules.command import Verb

        return {
            **super().comment_works,
            Verb.PLAN: self.comment_planner,
            Verb.APPLY: self.pull_request_applier,
            Verb.CANCEL: self._comment_canceller,
        }

    @cached_property
    def _comment_canceller(self) -> CommentCanceller:
        from tidegate.comments.cancel_by_comment import CommentCanceller
        from tidegate.pull_requests.cancel_plans import PlanCanceller

        stores, stopper = (self.pull_requests, self.temporary_layers), self.pull_request_stopper
        plans = PlanCanceller(*stores, self.authorizer, stopper, self.announcements, self.clock)
        return CommentCanceller(plans, self._comment_handover)

    @cached_property
    def pull_request_applier(self) -> PullRequestApplier:
        from tidegate.comments.apply_pull_request import PullRequestApplier

        return PullRequestApplier(
            self.deliveries,
            self._repository_source,
            self.queues,
            self.pull_requests,
            self.temporary_layers,
            self._change_enqueuer,
            self.authorizer,
            self.policy_judge,
            self.pull_request_follower.follow,
        )

    @cached_property
    def applied_merger(self) -> AppliedMerger:
        from tidegate.pull_requests.merge_applied import AppliedMerger

        return AppliedMerger(
            self.pull_requests, self.temporary_layers, self.deployments, self.forge, self.publication.show_again
        )

    @cached_property
    def _applied_closer(self) -> AppliedCloser:
        from tidegate.pull_requests.close_applied import AppliedCloser

        unlock, cancel = self.queue_unlocker.unlock, self.apply_canceller.cancel
        return AppliedCloser(self.queues, self.deployments, self.forge, unlock, cancel, self.clock)

    @cached_property
    def _closed_teller(self) -> ClosedTeller:
        from tidegate.pull_requests.tell_closed import ClosedTeller

        return ClosedTeller(self.forge, self._layer_painter.page, self.announcements.pull_request_deployed)

    @cached_property
    def deploys_shower(self) -> DeploysShower:
        from tidegate.pull_requests.show_deploys import DeploysShower

        return DeploysShower(
            self.pull_requests,
            self.deployments,
            self.queues,
            self.check_runs,
            self.forge,
            self._layer_painter,
            self.announcements,
            self.clock,
        )

    def _tell_merged(self, deployment: Deployment) -> None:
        self.deploys_shower.changed(deployment)

    @cached_property
    def apply_canceller(self) -> ApplyCanceller:
        from tidegate.deploys.rules.review import Answer
        from tidegate.pull_requests.cancel_applies import ApplyCanceller

        return ApplyCanceller(
            self.queues,
            self.deployments,
            self.deployment_ender.announce,
            lambda deployment, by, at: self.review_decider.decide(deployment, Answer.REJECT, by, at),
            self.gate_decider.reject,
            self.clock,
        )

    @cached_property
    def comment_planner(self) -> CommentPlanner:
        from tidegate.comments.plan_by_comment import CommentPlanner

        return CommentPlanner(self._repository_source, self.deliveries, self.authorizer, self.pull_request_follower)

    @cached_property
    def rerun_planner(self) -> RerunPlanner:
        from tidegate.comments.plan_by_rerun import RerunPlanner

        return RerunPlanner(self.deliveries, self.forge, self.comment_planner.refusal, self.pull_request_follower)

    @cached_property
    def pull_request_checks(self) -> ForgeChecks:
        from tidegate.pull_requests.pull_request_checks import ForgeChecks

        return ForgeChecks(self._check_run_keeper, self._layer_painter, self.policy_judge)

    @cached_property
    def pull_request_publisher(self) -> PublicationAsker:
        from tidegate.pull_requests.publish_pull_request import PublicationAsker

        return PublicationAsker(self.pull_requests, self.announcements)

    @cached_property
    def publication(self) -> PullRequestPublisher:
        from tidegate.pull_requests.publish_pull_request import PullRequestPublisher

        return PullRequestPublisher(
            self.pull_requests,
            self.temporary_layers,
            self.forge,
            self.pull_request_checks,
            self._check_run_keeper,
            self._plan_painter,
            self.announcements,
            self.clock,
            self.deployments,
            self.queues,
            self._closed_teller,
        )

    @cached_property
    def progress_shower(self) -> ProgressShower:
        from tidegate.pull_requests.pull_request_checks import ProgressShower

        return ProgressShower(
            self.pull_requests,
            self.temporary_layers,
            self._check_run_keeper,
            self._plan_painter,
            self.clock,
            self.place_looker,
        )

    @cached_property
    def _check_run_keeper(self) -> CheckRunKeeper:
        from tidegate.pull_requests.keep_check_run import CheckRunKeeper

        return CheckRunKeeper(self.pull_check_runs, self.forge)

    @cached_property
    def _layer_painter(self) -> LayerPainter:
        from tidegate.pull_requests.pull_request_view import LayerPainter

        settings = LinkSettings.from_env(self.environ)
        return LayerPainter(self.forge, settings.web.rstrip("/"))

    @property
    def _plan_painter(self) -> PlanPainter:
        from tidegate.pull_requests.pull_request_view import PlanPainter

        return PlanPainter(self.artifacts, self._layer_painter)

    @cached_property
    def pull_request_stopper(self) -> PullRequestStopper:
        from tidegate.pull_requests.close_pull_request import PullRequestStopper

        return PullRequestStopper(
            self.temporary_layers, self.workflows, self.pull_request_checks, self.clock, self._leave_places
        )

    @cached_property
    def pull_request_closer(self) -> PullRequestCloser:
        from tidegate.pull_requests.close_pull_request import PullRequestCloser

        return PullRequestCloser(
            self.pull_requests, self.temporary_layers, self.artifacts, self.pull_request_stopper, self.clock
        )

    @cached_property
    def pull_request_follower(self) -> PullRequestFollower:
        from tidegate.pull_requests.receive_pull_request import PullRequestFollower

        return PullRequestFollower(
            self.pull_requests,
            self.temporary_layers,
            self.forge,
            self.workflows,
            self.pull_request_checks,
            self.pull_request_stopper,
            self.pull_request_closer,
            self.clock,
            self._closed_teller.tell,
            self._applied_closer.close,
            self.catalog,
        )

    @cached_property
    def pull_request_receiver(self) -> PullRequestReceiver:
        from tidegate.pull_requests.receive_pull_request import PullRequestReceiver

        return PullRequestReceiver(
            self.deliveries,
            self.pull_requests,
            self.temporary_layers,
            self.pull_request_checks,
            self.announcements,
            self.pull_request_follower,
            self.requirements_gate.look_at_all,
            self._confirmed_head,
        )

    def _confirmed_head(self, installation: int, repository: str, told: HeadPush) -> HeadPush | None:
        """Ask for a push of a head once more, where webhooks are not signed."""
        if self.witness is None:
            return told
        from tidegate.discovery.confirm_webhook import HeadConfirmer

        return HeadConfirmer(self.witness).confirm(installation, repository, told)

    @cached_property
    def speculation_beginner(self) -> SpeculationBeginner:
        from tidegate.pull_requests.begin_speculation import SpeculationBeginner

        return SpeculationBeginner(
            self.temporary_layers,
            self.plan_places,
            self.slot_keeper,
            self.jobs,
            self.addresses,
            self.announcements,
            self.clock,
            PlaceSettings.from_env(self.environ).limit,
            self._leave_places,
            self.stop_runner,
            RunnerOfferSettings.from_env(self.environ).offer,
            self.place_plan,
        )

    @cached_property
    def place_giver(self) -> PlaceGiver:
        from tidegate.deploys.slots.give_places import PlaceGiver

        return PlaceGiver(self.plan_places, self.settle, PlaceSettings.from_env(self.environ).limit)

    @cached_property
    def place_waiter(self) -> PlaceWaiter:
        from tidegate.deploys.slots.wait_for_place import PlaceWaiter

        parts = self.place_giver, self.slot_keeper, self.announcements
        return PlaceWaiter(self.temporary_layers, self.plan_places, *parts)

    @cached_property
    def place_looker(self) -> PlaceLooker:
        from tidegate.deploys.slots.look_at_places import PlaceLooker

        return PlaceLooker(self.plan_places, self.temporary_layers, SlotSettings.from_env(self.environ).limit)

    def _leave_places(self, repository: str, layers: Collection[str]) -> None:
        """Give back the places of layers, and their slots of the installation."""
        self.place_giver.leave(repository, layers)
        self.slot_keeper.leave(layers)

    @cached_property
    def speculation_recorder(self) -> SpeculationRecorder:
        from tidegate.pull_requests.record_speculation import SpeculationRecorder

        return SpeculationRecorder(
            self.temporary_layers, self.announcements, self.clock, self._leave_places, self.stop_runner
        )

    @cached_property
    def policy_holder(self) -> PolicyHolder:
        from tidegate.pull_requests.hold_policies import PolicyHolder

        return PolicyHolder(self._repository_source, self.artifacts, self.organization_policies)

    @cached_property
    def policy_checker(self) -> PolicyChecker:
        from tidegate.policies.check_policies import PolicyChecker

        return PolicyChecker(
            self.temporary_layers,
            self.deployments,
            self.artifacts,
            self.policy_engine,
            self.announcements,
            self.clock,
        )

    @cached_property
    def policy_judge(self) -> PolicyJudge:
        from tidegate.pull_requests.judge_policies import PolicyJudge

        return PolicyJudge(self.forge)

    @cached_property
    def held_plan_judge(self) -> HeldPlanJudge:
        from tidegate.jobs.judge_held_plan import HeldPlanJudge

        return HeldPlanJudge(self.deployments, self.pull_requests, self.policy_judge, self.plan_recorder)
