"""What others read of events and audit messages is what docs/schemas says, in every state and of every kind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from tests.builders import (
    NOW,
    any_artifact,
    any_deployment,
    any_drift,
    any_drift_finding,
    any_lock,
    any_queue,
    deployment_in,
)
from tidegate.changes.rules.wave import Wave, WaveDecision
from tidegate.clusters.rules.audit import ClusterOperation
from tidegate.clusters.rules.audit import operator_message as cluster_message
from tidegate.clusters.rules.record import ClusterRecord, ClusterRun, Identity
from tidegate.clusters.rules.workflow import Operation
from tidegate.config.rules.drift import DriftState
from tidegate.config_updates.rules.audit import AuditedAction, Subject, operator_message
from tidegate.deploys.adapters.audit import SnsAuditLog
from tidegate.deploys.adapters.event_publisher import AwsEventPublisher, Channels
from tidegate.deploys.rules import audit
from tidegate.deploys.rules.cluster import ClusterKind, ProviderName
from tidegate.deploys.rules.locking import Locking, lock_by_hand
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.repository_locks import scoped_lock
from tidegate.deploys.rules.state import State
from tidegate.drift.adapters.drift_events import AwsDriftEvents
from tidegate.plans.rules.plan import PlannedChanges

#: What the topic hears of deployments: all words of the module but those that have a message of their own.
WORDS_OF_DEPLOYMENTS = {"SUCCESS", "FAILURE", "UNKNOWN"} | {
    word for name, word in vars(audit).items() if name.isupper() and word == name
} - {audit.LOCKED, audit.UNLOCKED, audit.UNCONFIRMED, audit.STOPPED, audit.CONTINUED}
SCHEMAS = Path(__file__).parents[2] / "docs/schemas"


class Taken:
    """The clients of SQS, EventBridge and SNS: takes everything, and keeps what others read."""

    def __init__(self):
        self.published = []

    def send_message(self, **_):
        return {}

    def put_events(self, Entries):
        self.published += [json.loads(entry["Detail"]) for entry in Entries]
        return {"FailedEntryCount": 0}

    def publish(self, **message):
        self.published.append(json.loads(message["Message"]))


@pytest.fixture
def taken():
    return Taken()


def mistakes(name, document):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def test_every_state_of_a_deployment_is_an_event_of_the_published_schema(taken):
    event_publisher = AwsEventPublisher(taken, taken, Channels("queue", "bus"))
    for state in State:
        event_publisher.changed(deployment_in(state))
    event_publisher.changed(any_deployment())
    assert {event["state"] for event in taken.published} == set(State)
    assert [mistakes("deployment-changed", event) for event in taken.published] == [[]] * len(taken.published)


def test_a_review_that_expires_and_locks_are_events_of_the_published_schemas(taken):
    event_publisher = AwsEventPublisher(taken, taken, Channels("queue", "bus"))
    event_publisher.review_expires_soon(deployment_in(State.AWAITING_REVIEW))
    event_publisher.locked("acme/infra", "network", any_lock(), ("dev", "prod"))
    event_publisher.locked("acme/infra", "", scoped_lock("dev", Locking("maintainer", NOW)))
    expiring, *locks = taken.published
    assert mistakes("deployment-changed", expiring) == []
    assert [mistakes("queue-locked", lock) for lock in locks] == [[], []]


def test_what_a_drift_schedule_found_is_an_event_of_the_published_schema(taken):
    roots = [any_drift_finding(f"root-{state}", state=state, changes=PlannedChanges(add=1)) for state in DriftState]
    AwsDriftEvents(taken, "bus").looked_for(any_drift())
    AwsDriftEvents(taken, "bus").looked_for(replace(any_drift(), findings=tuple(roots), ended_at=NOW))
    assert [mistakes("drift", event) for event in taken.published] == [[], []]


def test_every_audit_message_is_one_of_the_published_schema(taken):
    log, unlocking = SnsAuditLog(taken, "topic"), Unlocking("reviewer", NOW)
    lock = any_lock()
    for state in State:
        for word in WORDS_OF_DEPLOYMENTS:
            log.publish(audit.audit_message(deployment_in(state), word, NOW))
    log.publish(audit.unlock_message(QueueHead(any_queue(), lock=lock), lock, unlocking))
    by_hand = lock_by_hand(Locking("maintainer", NOW))
    log.publish(audit.lock_message(QueueHead(any_queue()), by_hand))
    log.publish(audit.unlock_message(QueueHead(any_queue(), lock=by_hand), by_hand, unlocking))
    log.publish(audit.unconfirmed_message("delivery", "acme/infra", "somebody", "No such comment.", NOW))
    for word in (audit.STOPPED, audit.CONTINUED):
        decision = WaveDecision("maintainer", NOW, "It was a quota.")
        log.publish(audit.wave_message("acme/infra", Wave("change", "prod"), word, decision))
    for action in AuditedAction:
        about = Subject("shop", "staging", "entry", "eu") if action is AuditedAction.ROLLED_BACK else Subject()
        log.publish(operator_message(action, "acme/config", "maintainer", NOW, about))
    place = ClusterRun("d1", "d1", "workload-create", any_artifact(), Identity(Operation.CREATE, "", "", ""), NOW)
    record = ClusterRecord("acme/infra", "shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, run=place)
    for operation in ClusterOperation:
        log.publish(cluster_message(operation, record, "maintainer", NOW))
    assert [found for message in taken.published if (found := mistakes("audit", message))] == []


def test_the_schemas_refuse_what_they_do_not_name(taken):
    AwsEventPublisher(taken, taken, Channels("queue", "bus")).changed(any_deployment())
    (event,) = taken.published
    assert mistakes("deployment-changed", {**event, "more": 1})
    assert mistakes("deployment-changed", {name: value for name, value in event.items() if name != "root"})
