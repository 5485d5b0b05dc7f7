"""The use cases of queues and of the state machines' tasks."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.bootstrap.adapters import Adapters
from tidegate.settings import (
    IdentitySettings,
    MachineSettings,
    PlanRunnerSettings,
    RunnerOfferSettings,
    SlotSettings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.deploys.authorize import Authorizer
    from tidegate.deploys.jobs.cancel_deployment import DeploymentCanceller
    from tidegate.deploys.jobs.check_branch import BranchCheck
    from tidegate.deploys.jobs.choose_plan_runner import Placed
    from tidegate.deploys.jobs.finish import Finisher
    from tidegate.deploys.queue.claim_deployment import DeploymentClaimer
    from tidegate.deploys.queue.close_worker import WorkerCloser
    from tidegate.deploys.queue.end_deployment import DeploymentEnder
    from tidegate.deploys.queue.enqueue import Enqueuer
    from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
    from tidegate.deploys.queue.execution_closed import QueueReleaser
    from tidegate.deploys.queue.hand_over_worker import WorkerHandover
    from tidegate.deploys.queue.record_outcome import OutcomeRecorder
    from tidegate.deploys.queue.validate_revision import RevisionValidator
    from tidegate.deploys.queue.wait_for_signal import SignalWaiter
    from tidegate.deploys.reviews.carry_out_review import ReviewCarrier
    from tidegate.deploys.reviews.decide_review import ReviewDecider
    from tidegate.deploys.reviews.request_review import ReviewRequester
    from tidegate.deploys.slots.get_slot_wait import SlotWaits
    from tidegate.deploys.slots.give_places import PlaceGiver
    from tidegate.deploys.slots.keep_slots import SlotKeeper
    from tidegate.deploys.slots.wait_for_slot import SlotWaiter
    from tidegate.gates.apply_requirements import ApplyRequirements
    from tidegate.gates.decide_gate import GateDecider
    from tidegate.gates.decide_requirements import RequirementsDecider
    from tidegate.gates.open_gates import GateOpener
    from tidegate.gates.wait_at_gate import GateWaiter
    from tidegate.gates.wait_for_requirements import RequirementsGate
    from tidegate.jobs.begin_job import JobBeginner
    from tidegate.jobs.hand_over_job import JobHandover
    from tidegate.jobs.issue_tokens import TokenIssuer
    from tidegate.jobs.record_plan import PlanRecorder
    from tidegate.jobs.record_result import ResultRecorder
    from tidegate.jobs.runner_stopped import StoppedRunnerReporter
    from tidegate.jobs.start_on_lambda import LambdaStarter
    from tidegate.requests.lock import QueueLocker
    from tidegate.requests.lock_many import RepositoryLocker
    from tidegate.requests.unlock import QueueUnlocker


class Deploys(Adapters):
    """The use cases of queues and of the state machines' tasks."""

    @cached_property
    def authorizer(self) -> Authorizer:
        from tidegate.deploys.authorize import Authorizer

        return Authorizer(self.forge, self.queues, self.deployments)

    @cached_property
    def queue_unlocker(self) -> QueueUnlocker:
        from tidegate.requests.unlock import QueueUnlocker

        return QueueUnlocker(self.queues, self.deployments, self.audit, self.announcements, self.worker_ensurer)

    @cached_property
    def queue_locker(self) -> QueueLocker:
        from tidegate.requests.lock import QueueLocker

        return QueueLocker(self.queues, self.audit, self.announcements)

    @cached_property
    def repository_locker(self) -> RepositoryLocker:
        from tidegate.requests.lock_many import RepositoryLocker

        stores = self.queues, self.catalog, self.deployments
        return RepositoryLocker(*stores, self.authorizer, self.audit, self.announcements, self.worker_ensurer)

    @cached_property
    def finisher(self) -> Finisher:
        from tidegate.deploys.jobs.finish import Finisher

        return Finisher(self.deployments, self.jobs, self.audit)

    @cached_property
    def review_carrier(self) -> ReviewCarrier:
        from tidegate.deploys.reviews.carry_out_review import ReviewCarrier

        return ReviewCarrier(self.deployments, self.workflows, self.announcements, self.finisher)

    @cached_property
    def review_decider(self) -> ReviewDecider:
        from tidegate.deploys.reviews.decide_review import ReviewDecider

        return ReviewDecider(
            self.deployments, self.workflows, self.announcements, self.finisher, self.artifacts, self.branch_check
        )

    @cached_property
    def deployment_claimer(self) -> DeploymentClaimer:
        from tidegate.deploys.queue.claim_deployment import DeploymentClaimer

        rounds = MachineSettings.from_env(self.environ).rounds
        return DeploymentClaimer(self.queues, self.announcements, self.clock, rounds)

    @cached_property
    def revision_validator(self) -> RevisionValidator:
        from tidegate.deploys.jobs.find_undone import UndoneBefore
        from tidegate.deploys.queue.find_former_root import FormerRoots
        from tidegate.deploys.queue.validate_revision import RevisionValidator

        formers = FormerRoots(self.catalog, self.deployments)
        undone = UndoneBefore(self.deployments, self.change_sets)
        return RevisionValidator(self.queues, self.forge, self.announcements, self.clock, formers, undone)

    @cached_property
    def deployment_ender(self) -> DeploymentEnder:
        from tidegate.deploys.queue.end_deployment import DeploymentEnder

        return DeploymentEnder(self.queues, self.jobs, self.finisher, self.announcements, self.clock)

    @cached_property
    def outcome_recorder(self) -> OutcomeRecorder:
        from tidegate.deploys.queue.record_outcome import OutcomeRecorder

        return OutcomeRecorder(self.queues, self.deployment_ender, self.slot_keeper.give_back)

    @cached_property
    def signal_waiter(self) -> SignalWaiter:
        from tidegate.deploys.queue.wait_for_signal import SignalWaiter

        return SignalWaiter(self.queues, self.workflows)

    @cached_property
    def worker_closer(self) -> WorkerCloser:
        from tidegate.deploys.queue.close_worker import WorkerCloser

        return WorkerCloser(self.queues)

    @cached_property
    def worker_handover(self) -> WorkerHandover:
        from tidegate.deploys.queue.hand_over_worker import WorkerHandover

        return WorkerHandover(self.queues, self.worker_ensurer)

    @cached_property
    def queue_releaser(self) -> QueueReleaser:
        from tidegate.deploys.queue.execution_closed import QueueReleaser

        return QueueReleaser(
            self.queues,
            self.deployments,
            self.announcements,
            self.deployment_ender,
            self.worker_ensurer,
            self.slot_keeper.leave,
        )

    @cached_property
    def job_beginner(self) -> JobBeginner:
        from tidegate.gates.judge_gate import GateJudge
        from tidegate.jobs.begin_job import JobBeginner

        gates = GateJudge(self.deployments, self.change_sets)
        return JobBeginner(
            self.deployments,
            self.jobs,
            self.addresses,
            self.audit,
            self.announcements,
            self.clock,
            gates,
            self.stop_runner,
            self.apply_requirements,
            self.branch_check,
            self.slot_keeper,
            RunnerOfferSettings.from_env(self.environ).offer,
            self.place_plan,
        )

    @cached_property
    def slot_keeper(self) -> SlotKeeper:
        from tidegate.deploys.slots.keep_slots import SlotKeeper

        limit = SlotSettings.from_env(self.environ).limit
        return SlotKeeper(self.plan_places, self.deployments, self.announcements, limit, self.jobs)

    @cached_property
    def slot_waits(self) -> SlotWaits:
        from tidegate.deploys.slots.get_slot_wait import SlotWaits

        return SlotWaits(self.plan_places, SlotSettings.from_env(self.environ).limit)

    @cached_property
    def slot_waiter(self) -> SlotWaiter:
        from tidegate.deploys.slots.wait_for_slot import SlotWaiter

        return SlotWaiter(
            self.deployments, self.plan_places, self.slot_keeper, self.settle, self.announcements, self.clock
        )

    @cached_property
    def slot_giver(self) -> PlaceGiver:
        from tidegate.deploys.slots.give_places import PlaceGiver

        return PlaceGiver(self.plan_places, self.settle, SlotSettings.from_env(self.environ).limit)

    def hand_on_slots(self) -> int:
        """Hand free concurrency slots to those who wait longest; return how many were woken."""
        from tidegate.deploys.rules.slots import INSTALLATION

        return self.slot_giver.hand_on(self.plan_places.read(INSTALLATION))

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        """Answer a task token, of whichever machine. Raise TooLate."""
        self.workflows.settle(token, output)

    def _slot_token(self, deployment: str) -> str:
        from tidegate.deploys.rules.slots import INSTALLATION

        return self.plan_places.token(INSTALLATION, deployment)

    @cached_property
    def branch_check(self) -> BranchCheck:
        from tidegate.deploys.jobs.check_branch import BranchCheck

        return BranchCheck(self.forge)

    @cached_property
    def apply_requirements(self) -> ApplyRequirements:
        from tidegate.gates.apply_requirements import ApplyRequirements
        from tidegate.pushes.freezes import FreezeGate

        return ApplyRequirements(self.forge, self.pull_requests, FreezeGate(self.queues, self.clock).held)

    @cached_property
    def requirements_gate(self) -> RequirementsGate:
        from tidegate.gates.wait_for_requirements import RequirementsGate

        return RequirementsGate(
            self.deployments, self.apply_requirements, self.workflows, self.announcements, self.clock
        )

    @cached_property
    def place_plan(self) -> Placed:
        """What chooses where a plan runs."""
        from tidegate.deploys.jobs.choose_plan_runner import PlanRunnerChooser, on_fargate

        settings = PlanRunnerSettings.from_env(self.environ)
        if not settings.function:
            return on_fargate
        offer = RunnerOfferSettings.from_env(self.environ).offer
        ports = self.plan_runners, self.jobs, self.clock
        return PlanRunnerChooser(*ports, settings.function, settings.memory, offer).place

    @cached_property
    def lambda_starter(self) -> LambdaStarter:
        from tidegate.jobs.start_on_lambda import LambdaStarter

        return LambdaStarter(self.plan_functions)

    @cached_property
    def job_handover(self) -> JobHandover:
        from tidegate.jobs.hand_over_job import JobHandover

        return JobHandover(self.jobs, self.deployments, self.forge, self.token_issuer.issue)

    @cached_property
    def token_issuer(self) -> TokenIssuer:
        from tidegate.jobs.issue_tokens import TokenIssuer

        settings = IdentitySettings.from_env(self.environ)
        return TokenIssuer(self.token_signer, settings.issuer, settings.audience, self.clock)

    @cached_property
    def plan_recorder(self) -> PlanRecorder:
        from tidegate.jobs.record_plan import PlanRecorder

        def give_back(deployment: str) -> None:
            self.slot_keeper.give_back(deployment)

        return PlanRecorder(self.deployments, self.announcements, self.clock, give_back)

    @cached_property
    def review_requester(self) -> ReviewRequester:
        from tidegate.deploys.reviews.request_review import ReviewRequester

        return ReviewRequester(self.deployments, self.workflows, self.announcements, self.clock)

    @cached_property
    def gate_waiter(self) -> GateWaiter:
        from tidegate.gates.wait_at_gate import GateWaiter

        return GateWaiter(self.deployments, self.change_sets, self.workflows, self.announcements, self.clock)

    @cached_property
    def gate_opener(self) -> GateOpener:
        from tidegate.gates.open_gates import GateOpener

        return GateOpener(
            self.queues,
            self.deployments,
            self.change_sets,
            self.workflows,
            self.announcements,
            self.clock,
            self.enqueuer.enqueue,
        )

    @cached_property
    def gate_decider(self) -> GateDecider:
        from tidegate.gates.decide_gate import GateDecider
        from tidegate.gates.retry_blocked import RetryHandover
        from tidegate.rules.access import Action

        may = self.authorizer.may
        return GateDecider(
            self.deployments,
            self.change_sets,
            self.workflows,
            self.announcements,
            RetryHandover(self.deliveries, self.events).hand_over,
            lambda deployment, login: may(deployment, Action.APPLY, login),
            self.requirements_decider,
        )

    @cached_property
    def requirements_decider(self) -> RequirementsDecider:
        from tidegate.gates.decide_requirements import RequirementsDecider

        return RequirementsDecider(
            self.deployments, self.apply_requirements, self.workflows, self.announcements, self.audit
        )

    @cached_property
    def deployment_canceller(self) -> DeploymentCanceller:
        from tidegate.deploys.jobs.cancel_deployment import DeploymentCanceller

        return DeploymentCanceller(
            self.queues,
            self.deployments,
            self.jobs,
            self.runners,
            self.workflows,
            self.announcements,
            self.audit,
            self.finisher,
            self.deployment_ender.announce,
            self._slot_token,
        )

    @cached_property
    def result_recorder(self) -> ResultRecorder:
        from tidegate.jobs.record_result import ResultRecorder

        return ResultRecorder(
            self.deployments,
            self.jobs,
            self.finisher,
            self.announcements,
            self.clock,
            self.stop_runner,
            self.slot_keeper.give_back,
        )

    def stop_runner(self, job: str | None) -> None:
        """Stop whoever has taken a job."""
        from tidegate.deploys.jobs.stop_runner import RunnerStopper

        RunnerStopper(self.jobs, self.runners).stop(job)

    @cached_property
    def stopped_runner_reporter(self) -> StoppedRunnerReporter:
        from tidegate.jobs.runner_stopped import StoppedRunnerReporter

        return StoppedRunnerReporter(self.jobs, self.workflows, self.slot_keeper.give_back)

    @cached_property
    def worker_ensurer(self) -> WorkerEnsurer:
        from tidegate.deploys.queue.ensure_worker import WorkerEnsurer

        return WorkerEnsurer(self.queues, self.workflows)

    @cached_property
    def enqueuer(self) -> Enqueuer:
        from tidegate.deploys.queue.enqueue import Enqueuer

        return Enqueuer(self.queues, self.deployments, self.audit, self.announcements, self.worker_ensurer)
