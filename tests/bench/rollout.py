"""What it takes to roll a change out over a thousand roots, in four waves: an engine upgrade, for example.

The verbs are the real ones. Machines, runners, forge and stores are played in memory, and time is simulated: an apply
takes about a minute. Each call of a store counts as what it costs at DynamoDB. So what is counted and timed is
Tidegate's own work. `python -m tests.bench.rollout ROOTS` prints it as JSON, which the benchmark `fleet` reads.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tests.builders import any_plan
from tests.fakes import MemoryForge
from tests.fakes.ports import changed, memory_ports
from tidegate.changes.rules.change_set import Candidate, change_set
from tidegate.changes.rules.stack import StackDefinition, StackRules, resolve_stacks
from tidegate.deploys.queue.claim_deployment import claim_deployment
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.enqueue_all import enqueue_all
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.queue.validate_revision import validate_revision
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.membership import Membership
from tidegate.deploys.rules.request import DeploymentRequest, Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.root_settings import RootSettings
from tidegate.deploys.rules.state import State
from tidegate.gates.open_gates import open_gates
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.record_plan import record_plan
from tidegate.jobs.record_result import record_result
from tidegate.messages import (
    BeginJob,
    ClaimDeployment,
    RecordOutcome,
    RecordPlan,
    RecordResult,
    ValidateRevision,
    WaitAtGate,
)
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Enrolled, Ports
from tidegate.roots.rules.root import Revision, Root, deployment_id
from tidegate.roots.rules.terms import tagged

REPOSITORY, CHANGE = "bench/fleet", "change-1"
#: The stacks: how many of a thousand roots each has, how many of them at once, and how long it soaks.
WAVES = (("canary", 10, 10, 3600), ("early", 90, 20, 3600), ("half", 400, 50, 3600), ("rest", 500, 100, 0))
_RECONCILED = timedelta(minutes=5)
#: How long an evaluation of the gates takes. What ends meanwhile is evaluated together.
_EVALUATION = timedelta(seconds=2)
_SHA = "a" * 40
#: The ports whose calls count, and records of one call.
_STORES, _BATCH = ("queues", "deployments", "jobs", "change_sets", "plan_slots", "clusters"), 100


@dataclass
class Clock:
    """The port ``Clock``: it goes as far as the simulation does, and a microsecond further at each look."""

    at: datetime

    def now(self) -> datetime:
        self.at += timedelta(microseconds=1)
        return self.at


@dataclass
class Rolled:
    """What a rollout took: calls to DynamoDB by kind, seconds of this process by verb, and of the simulated clock.

    ``most`` has for each stack how many were applied at the same time, ``read`` counts the records that were read, each
    in a set of them, too.
    """

    roots: int
    calls: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    simulated: timedelta = timedelta()
    read: int = 0
    most: Counter[str] = field(default_factory=Counter)


class Counted:
    """A store, whose calls are counted as those to DynamoDB, and the deployments that they read."""

    def __init__(self, store: Any, name: str, rolled: Rolled) -> None:
        self._store, self._name, self._rolled = store, name, rolled

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._store, method)

        def call(*given: Any, **named: Any) -> Any:
            many = next((each for each in given if isinstance(each, list | tuple | set)), ())
            self._rolled.calls[f"{self._name}.{method}"] += max(1, math.ceil(len(many) / _BATCH))
            answer = found(*given, **named)
            self._rolled.read += len(answer) if isinstance(answer, Mapping | list) else isinstance(answer, Deployment)
            return answer

        return call


class Fleet:
    """A change of many roots, and what would happen on AWS. Of a root, an apply takes ``apply_seconds``."""

    apply_seconds = (45.0, 90.0)

    def __init__(self, roots: int) -> None:
        self.rolled, self._random = Rolled(roots), random.Random(1)  # Nothing secret.
        self._clock = Clock(datetime.fromisoformat("2026-03-02T08:00:00+00:00"))
        forge = MemoryForge(writers={"maintainer"}, branches={"main": _SHA})
        played = memory_ports({"TIDEGATE_RUNNER_SLOTS": "1000"}, forge=forge, clock=self._clock)
        stores: dict[str, Any] = {name: Counted(getattr(played, name), name, self.rolled) for name in _STORES}
        self.ports: Ports = changed(played, **stores)
        self._heap: list[tuple[datetime, str]] = []
        self._known: dict[str, Deployment] = {}
        self._running: Counter[str] = Counter()

    def roll_out(self) -> Rolled:
        """Deploy everything. Raise AssertionError if not all were applied, or more at once than the rules allow."""
        began = self._clock.at
        members = [replace(each, settings=self.settings(each.root)) for each in _members(self.rolled.roots, began)]
        self._known = {each.id: each for each in members}
        self.timed("enroll", partial(self.ports.change_sets.enroll, CHANGE, [_enrolled(each) for each in members]))
        self.timed("enqueue", partial(enqueue_all, members, partial(enqueue, self.ports)))
        for each in members:
            self._plan(each)
        while True:
            self._evaluate()
            if not self._heap and not self._wait_for_soak():
                break
            while self._heap and self._heap[0][0] <= self._clock.at:
                self._end(self._known[heapq.heappop(self._heap)[1]])
            if self._heap:
                self._clock.at = max(self._clock.at, self._heap[0][0])
        states = Counter(each.state for each in self.ports.deployments.many(self._known).values())
        assert states == {State.APPLIED: len(members)}, states
        limits = {name: limit for name, _, limit, _ in WAVES}
        assert all(count <= limits[stack] for stack, count in self.rolled.most.items()), self.rolled.most
        self.rolled.simulated = self._clock.at - began
        return self.rolled

    def settings(self, _root: Root) -> RootSettings:
        """Return the settings of a root."""
        return RootSettings(ReviewRule(when=PlanReview.NEVER))

    def planned(self, _root: Root, job: str) -> Plan:
        """Return what a plan job has stored."""
        return any_plan(job=job)

    def apply(self, each: Deployment) -> None:
        """Do what the verbs do of an apply between its begin and its result: of a root, nothing."""

    def _plan(self, each: Deployment) -> None:
        """Take a deployment from its queue to its gate."""
        execution = next(name for name, queue in self.ports.workflows.starts if queue == each.queue)  # type: ignore[attr-defined]
        claim = ClaimDeployment(queue=each.queue, execution=execution, rounds=0, started=self._clock.at)
        self.timed("claim_deployment", partial(claim_deployment, self.ports, claim))
        validate = ValidateRevision(queue=each.queue, deployment=each.id)
        self.timed("validate_revision", partial(validate_revision, self.ports, validate))
        begun = self._begin(each, "plan")
        plan = RecordPlan(deployment=each.id, plan=self.planned(each.root, begun.job))
        recorded = self.timed("record_plan", partial(record_plan, self.ports, plan))
        assert recorded.next == "gate", recorded
        self.ports.workflows.waiting.add(each.id)  # type: ignore[attr-defined]
        wait = WaitAtGate(deployment=each.id, token=each.id, job=begun.job)
        self.timed("wait_at_gate", partial(wait_at_gate, self.ports, wait))

    def _begin(self, each: Deployment, phase: Any) -> Any:
        message = BeginJob(deployment=each.id, phase=phase, attempt=1)
        return self.timed(f"begin_{phase}", partial(begin_job, self.ports, message))

    def _evaluate(self) -> None:
        """Evaluate the gates as long as somebody asks, and begin what they let through. Equal messages are one."""
        asked = self.ports.event_publisher.moved  # type: ignore[attr-defined]
        self._begin_answered()
        while asked:
            asked.clear()
            self.timed("open_gates", partial(open_gates, self.ports, CHANGE))
            self._clock.at += _EVALUATION
            self._begin_answered()

    def _begin_answered(self) -> None:
        settled = self.ports.workflows.settled  # type: ignore[attr-defined]
        while settled:
            token = next(iter(settled))
            answer, each = settled.pop(token)["next"], self._known[token]
            if answer == "plan again":
                self._replan(each)
                continue
            assert answer == "apply", answer
            self._begin(each, "apply")
            self._running[each.stack] += 1
            self.rolled.most[each.stack] = max(self.rolled.most[each.stack], self._running[each.stack])
            takes = timedelta(seconds=self._random.uniform(*self.apply_seconds))
            heapq.heappush(self._heap, (self._clock.at + takes, token))

    def _replan(self, each: Deployment) -> None:
        """Plan again, as other stacks changed something since, and come back to the gate."""
        message = BeginJob(deployment=each.id, phase="plan", attempt=2)
        begun = self.timed("begin_plan", partial(begin_job, self.ports, message))
        plan = RecordPlan(deployment=each.id, plan=self.planned(each.root, begun.job))
        self.timed("record_plan", partial(record_plan, self.ports, plan))
        self.ports.workflows.waiting.add(each.id)  # type: ignore[attr-defined]
        wait = WaitAtGate(deployment=each.id, token=each.id, job=begun.job)
        self.timed("wait_at_gate", partial(wait_at_gate, self.ports, wait))

    def _wait_for_soak(self) -> bool:
        """Let time pass until a soak has ended and the reconciler has evaluated the gates; tell whether any wait."""
        for _ in range(24):
            self._clock.at += _RECONCILED
            if self.timed("open_gates", partial(open_gates, self.ports, CHANGE)):
                self._evaluate()
            if self._heap:
                return True
        return False

    def _end(self, each: Deployment) -> None:
        self._running[each.stack] -= 1
        self.apply(each)
        result = RecordResult(deployment=each.id, state="applied", last_lines="Apply complete!")
        self.timed("record_result", partial(record_result, self.ports, result))
        outcome = RecordOutcome(queue=each.queue, deployment=each.id)
        self.timed("record_outcome", partial(record_outcome, self.ports, outcome))

    def timed(self, verb: str, call: Any) -> Any:
        """Call it, and count what that takes as the verb's."""
        began, before = time.process_time(), self.rolled.calls.total()
        answer = call()
        self.rolled.seconds[verb] += time.process_time() - began  # type: ignore[assignment]
        self.rolled.verbs[verb] += self.rolled.calls.total() - before
        return answer


def _members(roots: int, at: datetime) -> list[Deployment]:
    """Return the deployments of the change, as a merge would make them."""
    names, definitions = [], []
    for number, (name, share, most, soak) in enumerate(WAVES):
        before = tuple(each for each, *_ in WAVES[:number])
        rules = StackRules(before, max_concurrent=most, stop_on_failures=3, soak=soak)
        definitions.append(StackDefinition(name, rules=rules))
        names += [(f"{name}-{each:04}", name) for each in range(max(1, share * roots // 1000))]
    candidates = [Candidate(Root(name, name), tagged(Root(name, name), ()), stack) for name, stack in names]
    found = change_set(candidates, resolve_stacks(definitions), names)
    return [
        Deployment(
            deployment_id(REPOSITORY, each.root.name, _SHA, "merge"),
            REPOSITORY,
            each.root,
            Revision(_SHA, "main"),
            DeploymentRequest(Trigger.MERGE, "maintainer", at),
            stack=each.stack,
            change=Membership(CHANGE, each.why, waits=each.waits, wave=each.wave),
        )
        for each in found.members
    ]


def _enrolled(each: Deployment) -> Enrolled:
    return Enrolled(each.root.name, each.stack, each.id, each.request.at)


def tell(rolled: Rolled) -> None:
    """Print what a rollout took."""
    told = {
        "roots": rolled.roots,
        "calls": rolled.calls.total(),
        "by_call": rolled.calls,
        "by_verb": rolled.verbs,
        "seconds": {verb: round(seconds, 2) for verb, seconds in rolled.seconds.items()},
        "records_read": rolled.read,
        "most_at_once": rolled.most,
        "simulated_hours": round(rolled.simulated.total_seconds() / 3600, 2),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    tell(Fleet(int(sys.argv[1])).roll_out())
