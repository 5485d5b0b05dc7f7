"""The use cases of pull requests."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.events import Events

if TYPE_CHECKING:
    from tidegate.ports import Delivery, PullRequestChecks
    from tidegate.usecases.begin_speculation import SpeculationBeginner
    from tidegate.usecases.check_policies import PolicyChecker
    from tidegate.usecases.close_pull_request import PullRequestCloser, PullRequestStopper
    from tidegate.usecases.discover_pull_request import PullRequestDiscoverer
    from tidegate.usecases.hold_policies import PolicyHolder
    from tidegate.usecases.judge_policies import PolicyJudge
    from tidegate.usecases.receive_pull_request import PullRequestFollower, PullRequestReceiver
    from tidegate.usecases.record_speculation import SpeculationRecorder
    from tidegate.usecases.restart_pull_request import PullRequestRestarter

_EVENTS = frozenset({"pull_request", "pull_request_review", "merge_group"})


class PullRequestWork(Events):
    """The use cases of pull requests."""

    @cached_property
    def pull_request_discoverer(self) -> PullRequestDiscoverer:
        from tidegate.usecases.affected_layers import LayerFinder
        from tidegate.usecases.discover_pull_request import PullRequestDiscoverer

        return PullRequestDiscoverer(
            self.pull_requests,
            self.temporary_layers,
            LayerFinder(self._repository_source, self.policy_holder),
            self.pull_request_closer,
            self.pull_request_checks,
            self.clock,
        )

    @cached_property
    def pull_request_restarter(self) -> PullRequestRestarter:
        from tidegate.usecases.restart_pull_request import PullRequestRestarter

        return PullRequestRestarter(
            self.pull_requests,
            self.temporary_layers,
            self.workflows,
            self.pull_request_checks,
            self.announcements,
            self.pull_request_stopper,
            self.clock,
        )

    def receive(self, delivery: Delivery) -> str:
        if delivery.event in _EVENTS:
            return self.pull_request_receiver.receive(delivery)
        return super().receive(delivery)

    @property
    def pull_request_checks(self) -> PullRequestChecks:
        raise NotImplementedError

    @cached_property
    def pull_request_stopper(self) -> PullRequestStopper:
        from tidegate.usecases.close_pull_request import PullRequestStopper

        return PullRequestStopper(self.temporary_layers, self.workflows, self.pull_request_checks, self.clock)

    @cached_property
    def pull_request_closer(self) -> PullRequestCloser:
        from tidegate.usecases.close_pull_request import PullRequestCloser

        return PullRequestCloser(
            self.pull_requests, self.temporary_layers, self.artifacts, self.pull_request_stopper, self.clock
        )

    @cached_property
    def pull_request_follower(self) -> PullRequestFollower:
        from tidegate.usecases.receive_pull_request import PullRequestFollower

        return PullRequestFollower(
            self.pull_requests,
            self.temporary_layers,
            self.forge,
            self.workflows,
            self.pull_request_checks,
            self.pull_request_stopper,
            self.pull_request_closer,
            self.clock,
        )

    @cached_property
    def pull_request_receiver(self) -> PullRequestReceiver:
        from tidegate.usecases.receive_pull_request import PullRequestReceiver

        return PullRequestReceiver(
            self.deliveries,
            self.pull_requests,
            self.temporary_layers,
            self.pull_request_checks,
            self.pull_request_follower,
        )

    @cached_property
    def speculation_beginner(self) -> SpeculationBeginner:
        from tidegate.usecases.begin_speculation import SpeculationBeginner

        return SpeculationBeginner(self.temporary_layers, self.jobs, self.addresses, self.announcements, self.clock)

    @cached_property
    def speculation_recorder(self) -> SpeculationRecorder:
        from tidegate.usecases.record_speculation import SpeculationRecorder

        return SpeculationRecorder(self.temporary_layers, self.announcements, self.clock)

    @cached_property
    def policy_holder(self) -> PolicyHolder:
        from tidegate.usecases.hold_policies import PolicyHolder

        return PolicyHolder(self._repository_source, self.artifacts, self.organization_policies)

    @cached_property
    def policy_checker(self) -> PolicyChecker:
        from tidegate.usecases.check_policies import PolicyChecker

        return PolicyChecker(self.temporary_layers, self.artifacts, self.policy_engine, self.announcements, self.clock)

    @cached_property
    def policy_judge(self) -> PolicyJudge:
        from tidegate.usecases.judge_policies import PolicyJudge

        return PolicyJudge(self.forge)
