"""Store a waiting worker's task token at its queue, unless something has arrived meanwhile.

Storing a known token changes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tidegate.deploys.rules.queue import works_here
from tidegate.messages import WaitForSignal
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import TooLate


def wait_for_signal(ports: Ports, message: WaitForSignal) -> None:
    """Store the token if the queue is as the worker saw it; otherwise wake the worker immediately.

    Raise Conflict, or CloudUnavailable if Step Functions refuses for now: try again.
    """
    deciding_again(lambda: _wait(ports, message))


def _wait(ports: Ports, message: WaitForSignal) -> None:
    head, _ = ports.queues.read(message.queue)
    if head.token == message.token:
        return
    if head.version == message.version and works_here(head, message.execution):
        ports.queues.commit(head, replace(head, token=message.token))
        return
    with suppress(TooLate):
        ports.workflows.settle(message.token, {"reason": "The queue changed since this worker last read it."})
