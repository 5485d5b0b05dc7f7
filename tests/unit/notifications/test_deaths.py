"""Functions may die at each step: whoever is to be notified is, by SQS's repetition of the message alone."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

import pytest

from tests.builders import NOW, any_root, deployment_in
from tests.unit.notifications.told import Told
from tidegate.deploys.rules.state import State
from tidegate.messages.queues import DeliverNotification
from tidegate.notifications.deliver import deliver
from tidegate.notifications.rules.outgoing import NotDelivered

#: Seconds after which a message comes again: if AWS failed for a moment, and if the function died.
SOON, LATER = 1, 360
ROOTS = ("network", "database", "cluster", "app")


class Died(BaseException):
    """The function ended here, or a call of AWS failed."""


class Dying(Told):
    """Functions that die once: before, or after, the step of this number. The receiver refuses the first message."""

    def __init__(self, step, *, after, again, **how):
        super().__init__("deploys", **how)
        self.steps, self.step, self.after, self.again = 0, step, after, again
        self.clock.at = self.begun = NOW
        self.waiting: list[Any] = []
        self.order = count()
        send = self.receivers.send
        refused = []

        def refuses_first(destination, message):
            if not refused:
                refused.append(message)
                raise NotDelivered(destination.name, "HTTP status 503", 0)
            send(destination, message)

        self.receivers.send = self.deadly(refuses_first)
        self.notifications.save = self.deadly(self.notifications.save)
        self.notifications.count_message = self.deadly(self.notifications.count_message)
        self.queue.deliver = self.deadly(self.queue.deliver)

    def deadly(self, act):
        def acts(*given):
            self.steps += 1
            dies = self.steps == self.step
            if dies and not self.after:
                raise Died
            done = act(*given)
            if dies:
                raise Died
            return done

        return acts

    def at(self, second, act):
        heapq.heappush(self.waiting, (second, next(self.order), act))

    def run(self):
        for second, root in enumerate(ROOTS):
            deployment = deployment_in(State.AWAITING_REVIEW, 1, id=root, root=any_root(name=root, dir=root))
            assert self.ports.deployments.add(deployment)
            self.at(second, lambda deployment=deployment: self.event(deployment))
        while self.waiting:
            second, _, act = heapq.heappop(self.waiting)
            self.clock.advance(max(0, second - (self.clock.at - self.begun).total_seconds()))
            try:
                act()
            except Died:
                self.at(second + self.again, act)
            for repository, delivery, attempt, seconds in self.queue.sent:
                message = DeliverNotification(repository=repository, delivery=delivery, attempt=attempt)
                self.at(second + seconds, lambda message=message: deliver(self.ports, message))
            self.queue.sent.clear()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("again", [SOON, LATER])
@pytest.mark.parametrize("digest", [0, 60])
def test_nothing_is_lost_and_little_is_repeated_wherever_a_function_dies(digest, again, after):
    for step in count(1):
        dying = Dying(step, after=after, again=again, digest=digest)
        dying.run()
        for root in ROOTS:
            assert 1 <= sum(f"Review waits: {root}" in body for _, body in dying.bodies) <= 2, (step, root)
        if dying.steps < step:
            break
    assert step > len(ROOTS)
