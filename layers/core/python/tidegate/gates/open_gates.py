"""Look at the gates of a change: open those whose deployments need not wait any more, and block others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from tidegate.deploys.rules.awaited import AwaitedInChange
from tidegate.deploys.rules.deployment import AfterGate, Deployment, State
from tidegate.deploys.rules.gate import (
    WAITING,
    Dependencies,
    looked_at,
    run_after,
    stepped_aside,
    stepping_aside,
    successor,
    superseded,
)
from tidegate.gates.settle_gate import settle_gate
from tidegate.ports import Announcements, ChangeSets, Clock, Deployments, DeployQueues, Enrolled, Workflows
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict


@dataclass(frozen=True, slots=True)
class GateOpener:
    """Opens gates. Done once more, it changes nothing, and carries out again what was decided before.

    ``enqueue`` is as for pushes: what steps aside is run again.
    """

    queues: DeployQueues
    deployments: Deployments
    change_sets: ChangeSets
    workflows: Workflows
    announcements: Announcements
    clock: Clock
    enqueue: Callable[[Deployment], object]

    def open(self, change_set: str, replaced: Collection[str] = ()) -> int:
        """Look at all gates of a change at which somebody waits. Return how many deployments this changed.

        The change knows the newest deployment of each root; ``replaced`` names others that wait as well: two people ran
        the same root again at once. What is blocked, or is not any more, may be waited for by others: then these are
        looked at again. Raise ExceptionGroup when some could not be looked at; all others are then.
        """
        members = self.change_sets.deployments(change_set)
        records = self.deployments.many([each.deployment for each in members])
        awaited = AwaitedInChange({(each.root, each.stack): records.get(each.deployment) for each in members})
        everyone = {**records, **self.deployments.many([each for each in replaced if each not in records])}
        changed, failures, is_passed_on = 0, [], False
        for before in [each for each in everyone.values() if each.state in WAITING or stepped_aside(each)]:
            try:
                after = self._look_at(before, awaited)
            except Exception as error:  # noqa: BLE001  # One's failure must not hold the others back.
                error.add_note(f"while looking at {before.id}")
                failures.append(error)
                continue
            changed += after.version != before.version
            is_passed_on |= stepped_aside(after) or (
                State.BLOCKED in {before.state, after.state} and before.state is not after.state
            )
        if is_passed_on:
            self.announcements.change_moved(change_set)
        if failures:
            raise ExceptionGroup("Gates could not be looked at; they are looked at again.", failures)
        return changed

    def _look_at(self, known: Deployment, awaited: AwaitedInChange) -> Deployment:
        dependencies, behind = awaited.by(known), awaited.behind(known)
        try:
            looked = self._look(known, dependencies, behind)
        except Conflict:
            looked = deciding_again(lambda: self._look(self.deployments.get(known.id), dependencies, behind))
        self._carry_out(looked)
        if looked.version != known.version:
            self.announcements.changed(looked)
        return looked

    def _look(self, deployment: Deployment, dependencies: Dependencies, behind: Deployment | None) -> Deployment:
        at = self.clock.now()
        looked = looked_at(deployment, dependencies, at)
        gate = looked.gate
        if looked.state in WAITING and gate is not None and gate.next is None:
            newer = self._successor(looked) if looked.state is State.BLOCKED else None
            if newer is not None:
                looked = superseded(looked, gate, newer, at)
            elif behind is not None:
                looked = stepping_aside(looked, gate, behind, at)
        return self.deployments.save(looked) if looked != deployment else deployment

    def _successor(self, blocked: Deployment) -> Deployment | None:
        line = self.queues.waiting(blocked.queue)
        return successor(blocked, self.deployments.many([each.deployment for each in line]).values()) if line else None

    def _carry_out(self, deployment: Deployment) -> None:
        """Go on with what was decided: the newer one says whose place it takes before the older one ends.

        What steps aside is part of the change until all else is done: so this is found again after a death.
        """
        again = run_after(deployment) if stepped_aside(deployment) else None
        if again is not None:
            self.enqueue(again)
        elif deployment.gate is not None and deployment.gate.next is AfterGate.SUPERSEDED:
            deciding_again(lambda: self._link(deployment))
        settle_gate(deployment, self.deployments, self.workflows)
        if again is not None:
            enrolled = Enrolled(again.root.name, again.stack, again.id, again.requested_at)
            self.change_sets.enroll(deployment.change_set, [enrolled])

    def _link(self, old: Deployment) -> None:
        """Let the newer one say whose place it takes. Whether people look at its plan is decided when it is let in."""
        newer = self.deployments.get(old.superseded_by or "")
        if newer.supersedes != old.id:
            self.announcements.changed(self.deployments.save(replace(newer, supersedes=old.id)))
