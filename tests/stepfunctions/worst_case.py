"""How long the history of an execution can get, and how old the execution, worked out from its definition alone.

A path through a machine is cut where it comes to a state that ``AGAIN`` bounds, and where only its end is left. Between
two of these a path has no loop, so there is a dearest one; no execution costs more than each of these as often as its
state may be entered, and the dearest end once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.stepfunctions.machines import RENDERED
from tidegate.clusters.rules.construct import MOST_HOOKS
from tidegate.clusters.rules.task import Resource
from tidegate.config.rules.config_updates import LONGEST_SOAK
from tidegate.config_updates.rules.queue import IDLE, MOST_ROUNDS
from tidegate.deploys.rules.gate import WAITS_PER_EXECUTION
from tidegate.deploys.rules.queue import EXECUTION_AGE, ROUNDS_PER_EXECUTION
from tidegate.deploys.rules.runner_size import APPLY_SECONDS
from tidegate.jobs.begin_job import PLAN_ATTEMPTS
from tidegate.pull_requests.affected_layers import MOST_LAYERS
from tidegate.pull_requests.begin_speculative_plan import SPECULATIVE_ATTEMPTS

States = Mapping[str, Mapping[str, Any]]
#: Seconds that a call of a function takes at most before it fails: Lambda's own limit.
CALL = 900
_DAY = 86_400
#: The time limit of a task that takes it from the answer of ``begin_job``.
LIMIT_OF_THE_ROOT = "{% $size.seconds %}"

#: The time limit of a worker's wait, which its claim gives: until a check may have taken too long.
LIMIT_OF_THE_WAIT = "{% $seconds %}"
#: The pause before a task of a cluster is tried again, at most five minutes.
PAUSE, LONGEST_PAUSE = "{% $pause %}", 300
#: The time of the soak, which a config repository's file says.
SOAK = "{% $states.input.soak %}"

#: Plans of a deployment: one, and another after each wait.
_PLANS = 1 + WAITS_PER_EXECUTION
#: Times that a job is begun: it has a slot, or waits for one and begins again. It waits once more where its slot was
#: given back meanwhile. A plan that is tried again has its slot still.
_SLOT_WAITS = 2
#: Times that a layer begins a plan, for each attempt: it waits so for its place, and for its slot.
_BEGINS = 1 + 2 * _SLOT_WAITS

#: Attempts at a task of a cluster that does not answer.
TASK_ATTEMPTS = 12
#: Items of the Maps within an execution. A workflow's hooks are bounded together, so they all count at one of them.
ITEMS = {
    "Diagnose the clusters": 2,
    "Give back what is held": len(Resource),
    "Run the hooks on errors": MOST_HOOKS,
    "Run hooks of the repository at the start": MOST_HOOKS,
}

#: How often the states are entered that loops go through, together where they share a bound, by what bounds them. A
#: worker's last claim hands over, and a deployment's last wait is refused.
AGAIN: Mapping[str, Mapping[tuple[str, ...], int]] = {
    "deploy": {("Claim the next deployment",): ROUNDS_PER_EXECUTION + 1},
    "terraform": {
        ("Begin the plan",): _PLANS * (PLAN_ATTEMPTS + _SLOT_WAITS),
        # Only a first attempt may begin on Lambda; where no runner starts there, the same attempt goes to Fargate.
        ("Start a Lambda runner for the plan",): _PLANS,
        ("Start a runner for the plan",): _PLANS * PLAN_ATTEMPTS,
        ("Plan",): _PLANS * PLAN_ATTEMPTS,
        ("Wait for a concurrency slot",): 2 * _PLANS * _SLOT_WAITS,
        ("Decide by the results of the policies",): _PLANS,
        ("Wait for the plan review",): _PLANS,
        (
            "Wait for what this depends on",
            "Wait for the stacks before this one",
            "Wait for its requirements",
        ): WAITS_PER_EXECUTION + 1,
        ("Begin the apply",): _PLANS * (1 + _SLOT_WAITS),
        ("Start a runner for the apply",): 1,
    },
    "pull_request/Layers": {
        ("Begin the plan",): _BEGINS * SPECULATIVE_ATTEMPTS,
        ("Wait for a concurrency slot",): (_BEGINS - 1) * SPECULATIVE_ATTEMPTS,
    },
    "config_update": {("Read the branches and their checks",): MOST_ROUNDS + 1},
    # A promotion only goes forward: after its checks, its targets, the soak and what comes first.
    "promotion": {("What follows?",): 4},
    "cluster_task": {("Begin the task",): TASK_ATTEMPTS},
    "drift/Layers": {("Begin the plan",): _BEGINS, ("Wait for a concurrency slot",): _BEGINS - 1},
}

#: The age, in seconds, at which an execution ends when it comes to its state of ``AGAIN``.
ENDS_AT = {"deploy": EXECUTION_AGE.total_seconds(), "config_update": EXECUTION_AGE.total_seconds()}


class UnboundedLoop(ValueError):  # Named for what it tells.
    """A loop without a state in ``AGAIN``."""

    def __init__(self, machine: str, state: str) -> None:
        super().__init__(f"{machine}: nothing bounds the loop through '{state}'. Give its bound in AGAIN.")


@dataclass(frozen=True)
class Cost:
    """Events of a history, and seconds."""

    events: int = 0
    seconds: float = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.events + other.events, self.seconds + other.seconds)

    def __mul__(self, times: float) -> Cost:
        return Cost(round(self.events * times), self.seconds * times)

    def or_worse(self, other: Cost) -> Cost:
        return Cost(max(self.events, other.events), max(self.seconds, other.seconds))


@dataclass(frozen=True)
class Worst:
    """The worst case of a machine's executions."""

    name: str
    cost: Cost

    @property
    def days(self) -> float:
        return self.cost.seconds / _DAY


def worst_cases(name: str, definition: Mapping[str, Any]) -> Iterator[Worst]:
    """Yield the worst case of an execution of a machine, and those of its items that are executions of their own."""
    yield worst_case(name, definition)
    for state in definition["States"].values():
        if _is_distributed(state):
            yield worst_case(f"{name}/{state['Label']}", state["ItemProcessor"])


def worst_case(name: str, definition: Mapping[str, Any]) -> Worst:
    """Return the worst case of an execution of a machine, or of an item: its time limit ends it at the latest."""
    worst = _without_limit(name, definition)
    limit = definition.get("TimeoutSeconds", worst.seconds)
    return Worst(name, Cost(worst.events, min(worst.seconds, limit)))


def _without_limit(name: str, definition: Mapping[str, Any]) -> Cost:
    states: States = definition["States"]
    bounds = AGAIN.get(name, {})
    bounded = {state for group in bounds for state in group}
    endings = _endings(states, bounded)
    dearest = _dearest(name, states, bounded | endings)
    start = Cost(2) + dearest(definition["StartAt"])  # ExecutionStarted, and how it ended.
    total = start
    for group, times in bounds.items():
        each = Cost()
        for state in group:
            each = each.or_worse(dearest(state))
        total += each * times
        if name in ENDS_AT:
            total = Cost(total.events, start.seconds + ENDS_AT[name] + each.seconds)
    ending, ended = Cost(), _dearest(name, states, bounded)
    for state in endings:
        ending = ending.or_worse(ended(state))
    return total + ending


def _endings(states: States, bounded: set[str]) -> set[str]:
    """Return the states that lead to no bounded one: an execution goes through them once, and ends."""
    if not bounded:
        return set()
    leading, size = set(bounded), 0
    while len(leading) > size:
        size = len(leading)
        leading |= {name for name, state in states.items() if leading & set(_after(state))}
    return set(states) - leading


def _dearest(name: str, states: States, cut: set[str]) -> Callable[[str], Cost]:
    """Return what the dearest path costs from a state on until it ends or comes to a state of ``cut``."""
    under_way: set[str] = set()

    @cache
    def dearest(state: str) -> Cost:
        if state in under_way:
            raise UnboundedLoop(name, state)
        under_way.add(state)
        after = Cost()
        for follows in _after(states[state]):
            after = after.or_worse(Cost() if follows in cut else dearest(follows))
        under_way.remove(state)
        return _visit(name, state, states[state]) + after

    return dearest


def _after(state: Mapping[str, Any]) -> Iterator[str]:
    yield from (state[key] for key in ("Next", "Default") if key in state)
    yield from (each["Next"] for key in ("Choices", "Catch") for each in state.get(key, ()))


def _visit(machine: str, name: str, state: Mapping[str, Any]) -> Cost:
    """Return what a state costs that is entered once: StateEntered, StateExited, and what it does between them."""
    if state["Type"] == "Task":
        return Cost(2) + _attempts(state)
    if state["Type"] == "Map":
        return Cost(2) + (_layers(machine, state) if _is_distributed(state) else _items(machine, name, state))
    seconds = state.get("Seconds", 0)
    return Cost(2, {SOAK: LONGEST_SOAK.total_seconds(), PAUSE: LONGEST_PAUSE}.get(seconds, seconds))


def _layers(machine: str, state: Mapping[str, Any]) -> Cost:
    """Return what the layers of a distributed Map cost the execution: a MapRun. As many as may run take turns."""
    item = _without_limit(f"{machine}/Layers", state["ItemProcessor"])
    return Cost(4, item.seconds * math.ceil(MOST_LAYERS / state["MaxConcurrency"]))


def _items(machine: str, name: str, state: Mapping[str, Any]) -> Cost:
    """Return what all items of a Map cost: MapStateStarted and its end, and the start and the end of each item."""
    most = ITEMS.get(name, MOST_LAYERS if machine not in {"cluster_error", *RENDERED} else 0)
    item = _without_limit(f"{machine}/Layers", state["ItemProcessor"])
    turns = math.ceil(most / state["MaxConcurrency"])
    return Cost(2 + (item.events + 2) * most, item.seconds * turns)


def _is_distributed(state: Mapping[str, Any]) -> bool:
    return state.get("ItemProcessor", {}).get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED"


def _attempts(state: Mapping[str, Any]) -> Cost:
    """Return what all attempts of a task cost.

    Each has TaskScheduled, TaskStarted and its end, and TaskSubmitted where something is waited for. Only the last one,
    and one that is tried again after its time-out, takes the task's time: others fail in the call.
    """
    limit = longest(state)
    each = 4 if ".waitForTaskToken" in state["Resource"] or ".sync" in state["Resource"] else 3
    cost = Cost(each, limit)
    for retry in state.get("Retry", ()):
        once = limit if "States.Timeout" in retry["ErrorEquals"] else min(limit, CALL)
        cost += Cost(each, once) * retry["MaxAttempts"] + Cost(0, sum(_pauses(retry)))
    return cost


def longest(state: Mapping[str, Any]) -> float:
    """Return the seconds that a task may take: where the root says it, as long as any root may say."""
    limit: float | str = state["TimeoutSeconds"]
    known = {LIMIT_OF_THE_ROOT: APPLY_SECONDS[-1], LIMIT_OF_THE_WAIT: IDLE.total_seconds()}
    return known[limit] if isinstance(limit, str) else float(limit)


def _pauses(retry: Mapping[str, Any]) -> Iterator[float]:
    for number in range(retry["MaxAttempts"]):
        pause = retry["IntervalSeconds"] * retry["BackoffRate"] ** number
        yield min(pause, retry.get("MaxDelaySeconds", pause))
