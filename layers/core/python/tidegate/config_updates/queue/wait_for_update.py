"""Store a waiting worker's task token at its queue, unless something has happened meanwhile.

Storing a known token changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.rules.queue import works_here
from tidegate.deploys.queue.ensure_worker import wake
from tidegate.messages.config_updates import WaitForUpdate
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def wait_for_update(ports: Ports, message: WaitForUpdate) -> None:
    """Store the token if the queue is as the worker saw it; otherwise wake the worker immediately.

    Raise Conflict, or CloudUnavailable if Step Functions refuses for now: try again.
    """
    deciding_again(lambda: _wait(ports, message))


def _wait(ports: Ports, message: WaitForUpdate) -> None:
    head = ports.config_updates.head(message.repository)
    if head.token == message.token:
        return
    if head.version == message.version and works_here(head, message.execution):
        ports.config_updates.commit(head, replace(head, token=message.token))
    else:
        wake(ports, message.token)
