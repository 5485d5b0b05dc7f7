"""What must hold of a queue, whatever happened to it (design, section 4)."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.queue_actors import Machines, relation
from tests.contract.stores import Stores
from tests.fakes import (
    MemoryAuditLog,
)
from tidegate.deploys.queue.execution_closed import ClosedExecution
from tidegate.deploys.rules.queue import has_work
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final, moves_baseline
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.comparison import Comparison

#: Ends that the audit topic hears of, where there was an apply or a review.
_AUDITED_ENDS = frozenset(
    {State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.ENGINE_FAULT, State.REJECTED}
)


class Rules:
    """The rules, checked on the scenario that it is a part of."""

    stores: Stores
    queue: str
    accepted: dict[str, int]
    applies: list[str]
    unfinished_calls: list[Callable[[], object]]
    closed: list[ClosedExecution]
    needs_reconciling: bool
    machines: Machines
    audit: MemoryAuditLog

    def check_apply(self, deployment: str) -> None:
        """At the moment that a runner takes an apply: it is the one in flight, the first, and not backwards."""
        head, _ = self.stores.queues.read(self.queue)
        assert head.in_flight == deployment, "an apply runs while another deployment is in flight"
        assert deployment not in self.applies, "a second apply of one deployment"
        if head.deployed is not None:
            compared = relation(int(head.deployed.revision.sha, 16), self.accepted[deployment])
            assert compared is not Comparison.BEHIND, "an apply goes backwards"
            if compared is Comparison.DIVERGED:
                assert self.stores.deployments.get(deployment).planned.must_review, (
                    "a diverged apply that nobody approved"
                )

    def check_always(self) -> None:
        """Whatever was enqueued is in line, in flight, or final; and in one of these places only."""
        head, first = self.stores.queues.read(self.queue)
        line = [waiting.deployment for waiting in self.stores.queues.waiting(self.queue)]
        assert head.length == len(line) == len(set(line))
        assert (first.deployment if first else None) == (line[0] if line else None)
        assert head.in_flight not in line
        for identifier in line:
            assert self.stores.deployments.get(identifier).state is State.QUEUED
        for identifier in set(self._stored()) - {*line, head.in_flight}:
            assert is_final(self.stores.deployments.get(identifier).state), f"{identifier} was lost"
        self.check_lock()
        self.check_audit()
        unfinished = list(self.stores.queues.unfinished())
        assert unfinished == ([self.queue] if line or head.in_flight else [])

    def check_lock(self) -> None:
        """A lock names what put it there: by hand and let in, in flight or having changed something; or unknown."""
        head, _ = self.stores.queues.read(self.queue)
        if head.lock is None:
            return
        deployment = self.stores.deployments.get(head.lock.deployment)
        assert head.lock.revision == deployment.revision.sha
        if deployment.state is State.OUTCOME_UNKNOWN:
            return
        assert deployment.request.trigger is Trigger.MANUAL, "a merge has locked the queue"
        assert deployment.state not in {State.QUEUED, State.REFUSED, State.SUPERSEDED}, "locked before it was let in"
        if head.in_flight != deployment.id:
            assert moves_baseline(deployment.state), "a deployment that changed nothing holds back the merges"

    def check_audit(self) -> None:
        """Of each apply and review the topic hears one end at most; what has ended was audited before."""
        heard: dict[str, list[str]] = {}
        for message in self.audit.published:
            heard.setdefault(str(message.body["id"]), []).append(message.state)
        ends = {"SUCCESS", "FAILURE", "UNKNOWN", "REJECTED"}
        for identifier, states in heard.items():
            assert len([state for state in states if state in ends]) <= 1, f"{identifier}: {states}"
        for identifier in self._stored():
            deployment = self.stores.deployments.get(identifier)
            if deployment.state in _AUDITED_ENDS and (deployment.apply.job or deployment.state is State.REJECTED):
                audited = deployment.apply.job if deployment.state is not State.REJECTED else deployment.id
                assert set(heard.get(audited or "", [])) & ends, f"{identifier} ended unheard"

    def check_awake(self) -> None:
        """Where there is work, the worker is at work, unless an event that will wake it is still under way."""
        head, first = self.stores.queues.read(self.queue)
        if self.needs_reconciling or self.unfinished_calls or self.closed or not has_work(head, first):
            return
        assert head.worker is not None, "there is work, and no worker"
        worker = self.machines.executions.get(head.worker.execution)
        if worker is None:
            steps = [each.step for each in self.machines.executions.values() if each.alive]
            assert "hand_over" in steps, "there is work, and nobody starts its worker"
            return
        assert worker.alive, "there is work, and its worker has ended"
        assert worker.step != "waiting", "there is work, and its worker waits: a wake-up was lost"

    def _stored(self) -> list[str]:
        return [identifier for identifier in self.accepted if not self.unfinished_calls or self._exists(identifier)]

    def _exists(self, identifier: str) -> bool:
        try:
            self.stores.deployments.get(identifier)
        except NotFound:
            return False
        return True

    def check_at_rest(self) -> None:
        """Nothing accepted is lost, and no wake-up: what is not final is merges behind a lock."""
        head, _ = self.stores.queues.read(self.queue)
        waiting = self.stores.queues.waiting(self.queue)
        assert head.in_flight is None
        if waiting:
            assert head.lock is not None, "there is work, and nobody does it"
            assert all(each.trigger is not Trigger.MANUAL for each in waiting)
        final = set(self.accepted) - {each.deployment for each in waiting}
        for identifier in final:
            assert is_final(self.stores.deployments.get(identifier).state), f"{identifier} was lost"
