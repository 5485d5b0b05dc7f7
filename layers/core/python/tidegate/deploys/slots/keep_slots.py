"""Take and release concurrency slots for jobs; another message wakes the waiting.

A waiting job joins the queue, then checks for a free slot; a release reads the queue afterwards. Both change one item,
so one of the two sees the other and requests a handover.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage, next_pass
from tidegate.deploys.rules.slots import (
    INSTALLATION,
    MOST_WAITING,
    busy_words,
    job_without_result,
    may_wait,
    needs_slot,
)
from tidegate.ports import Jobs, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NoFreeSlot, NotFound, TooManyWait


def task_left(deployment: Deployment, jobs: Jobs) -> str:
    """Return the task that may run on after its deployment ended without its result; empty if there is none."""
    job = job_without_result(deployment)
    runner = (jobs.at_large(job) if job else None) or ""
    return runner if runner.startswith("arn:") else ""


def take_slot(ports: Ports, holder: str) -> None:
    """Take a slot. A holder keeps its slot. Raise NoFreeSlot if it has to wait."""
    places = ports.plan_slots.take(INSTALLATION, holder, ports.slot_limit)
    if holder not in places.held:
        waiting = f", and {len(places.line)} already wait" if places.line else ""
        raise NoFreeSlot(holder, f"{busy_words(len(places.held), ports.slot_limit)}{waiting}")


def join_slot_queue(ports: Ports, holder: str, precedence: Precedence) -> SlotUsage:
    """Join the queue, unless the holder has a slot. Return the slots afterwards. Raise TooManyWait."""
    if not may_wait(ports.plan_slots.read(INSTALLATION), holder):
        raise TooManyWait(holder, MOST_WAITING)
    places = ports.plan_slots.join(INSTALLATION, holder, precedence)
    _ask(ports, places)
    return places


def release_slots(ports: Ports, holders: Collection[str]) -> None:
    """Release the slots, also waiting requests, of holders that begin no further job."""
    if holders:
        _ask(ports, deciding_again(partial(ports.plan_slots.leave, INSTALLATION, holders)))


def release_slot(ports: Ports, deployment: str) -> None:
    """Release a deployment's slot unless one of its jobs runs or begins next; a repeated or late call is harmless.

    A deployment that ended without its runner's result keeps its slot until the runner's task has stopped.

    Raise Conflict after repeated concurrent writes: call it again then.
    """
    _ask(ports, deciding_again(lambda: _given_back(ports, deployment)))


def _given_back(ports: Ports, identifier: str) -> SlotUsage:
    """Read the slots before the record: whoever takes one for its next job after that is seen."""
    places = ports.plan_slots.read(INSTALLATION)
    if identifier not in (*places.held, *places.line) or _needs(ports, identifier):
        return places
    return ports.plan_slots.free(places, identifier)


def _needs(ports: Ports, identifier: str) -> bool:
    try:
        deployment = ports.deployments.get(identifier)
        return needs_slot(deployment) or bool(task_left(deployment, ports.jobs))
    except NotFound:
        return False


def _ask(ports: Ports, places: SlotUsage) -> None:
    if next_pass(places, ports.slot_limit).layer is not None:
        ports.event_publisher.slots_freed()
