"""Record in its queue how a deployment ended.

A repeated call changes nothing and publishes all changes again.
"""

from __future__ import annotations

from tidegate.deploys.queue.end_deployment import announce_end, end_deployment
from tidegate.deploys.slots.keep_slots import release_slot
from tidegate.messages import OutcomeRecorded, RecordOutcome
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def record_outcome(ports: Ports, message: RecordOutcome) -> OutcomeRecorded:
    """End the deployment in its queue.

    Raise Conflict, or CloudUnavailable if the audit topic does not accept the message: try again.
    """
    recorded = deciding_again(lambda: _record(ports, message))
    release_slot(ports, message.deployment)
    return recorded


def _record(ports: Ports, message: RecordOutcome) -> OutcomeRecorded:
    head, deployment = ports.queues.read_with(message.queue, message.deployment)
    if head.in_flight == deployment.id:
        deployment = end_deployment(ports, head, deployment, message.error, head.worker)
    else:
        announce_end(ports, deployment, head)
    return OutcomeRecorded(state=deployment.state.value)
