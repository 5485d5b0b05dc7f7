"""Each message of a queue leads to its verb; what no verb is for is counted, and gone."""

from __future__ import annotations

import inspect
import json
import re
from datetime import UTC
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import tidegate.vcs
from tests.builders import NOW, any_deployment, any_layer, any_lock
from tests.functions.wires import call, call_function, failures, sqs_event
from tidegate.bootstrap.table import QUEUES, RULES
from tidegate.deploys.adapters.event_publisher import AwsEventPublisher, Channels
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.messages import queues as messages
from tidegate.messages.queues import Event, OpenGates, PublishDeployment, Queued
from tidegate.ports import Delivery, EventPublisher
from tidegate.vcs.adapters.deliveries import queues_of_events, to_message


def kinds_of(message):
    """Return the kinds that a class of messages is for."""
    return get_args(message.model_fields["kind"].annotation)


#: Every message: a class that gives ``kind`` values.
MESSAGES = [
    each for each in vars(messages).values() if inspect.isclass(each) and issubclass(each, Queued) and kinds_of(each)
]
#: Every row of a queue: the variable with its URL, the kind, and the verb.
ROWS = [
    (variable, kind, verb)
    for queues in QUEUES.values()
    for variable, queue in queues.items()
    for kind, verb in queue.verbs.items()
]
VERBS = {(variable, kind): verb for variable, kind, verb in ROWS}
#: What calls each function of a queue: its name in ``call``, and a message group if the queue is FIFO.
TAKERS = [
    (queue.name, ["group"] if queue.how == "in order" else None) for each in QUEUES.values() for queue in each.values()
]
ignored_kinds = st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text()))


def test_every_kind_of_message_leads_to_a_verb_that_reads_it():
    assert {kind for _, kind, _ in ROWS} == {kind for message in MESSAGES for kind in kinds_of(message)}
    assert all(kind in kinds_of(verb.message) for _, kind, verb in ROWS)


def test_an_event_is_sent_to_a_queue_where_a_verb_takes_it():
    taken = {kind: variable for variable, kind, verb in ROWS if issubclass(verb.message, Event)}
    assert taken == queues_of_events("TIDEGATE_DISCOVERY_QUEUE", "TIDEGATE_ACTION_QUEUE")


def test_what_webhooks_are_accepted_as_is_sent_to_a_queue():
    (package,) = tidegate.vcs.__path__
    sources = "".join(path.read_text() for path in Path(package).rglob("*.py"))
    accepted = set(re.findall(r'Accepted\(\s*"(\w+)"', sources))
    assert {"push", "check_run", "merge_group"} <= accepted
    assert accepted <= set(queues_of_events("discovery", "actions"))


class Sent:
    """Keeps what is sent to each queue, in place of SQS and of the bus."""

    def __init__(self):
        self.kinds = set()

    def send_message(self, **message):
        self.kinds.add((message["QueueUrl"], json.loads(message["MessageBody"])["kind"]))

    def put_events(self, **_event):
        return {"FailedEntryCount": 0}


def test_whatever_is_announced_leads_to_a_verb_of_its_queue():
    sent = Sent()
    queues = ("TIDEGATE_CHECK_RUN_QUEUE", "bus", "TIDEGATE_POSITIONS_QUEUE", "TIDEGATE_POSITIONS_LATER_QUEUE")
    event_publisher = AwsEventPublisher(sent, sent, Channels(*queues, "TIDEGATE_CHANGE_QUEUE"))
    given = {
        "changed": any_deployment(),
        "review_expires_soon": any_deployment(),
        "layer_changed": any_layer(state=LayerState.PLANNED),
    }
    for name, method in inspect.getmembers(EventPublisher, inspect.isfunction):
        if not name.startswith("_"):
            _, *taken = inspect.signature(method).parameters
            about = {name: {"seconds": 1, "lock": any_lock()}.get(name, "text") for name in taken}
            getattr(event_publisher, name)(*([given[name]] if name in given else about.values()))
    ours = {(variable, kind) for variable, kind, verb in ROWS if not issubclass(verb.message, Event)}
    assert sent.kinds == {(variable, kind) for variable, kind in ours if variable != "TIDEGATE_NOTIFICATION_QUEUE"}


@pytest.mark.parametrize("message", [each for each in MESSAGES if not issubclass(each, Event)])
@given(data=st.data())
def test_a_message_is_read_as_it_was_sent(message, data):
    message.model_rebuild()
    sent = data.draw(st.from_type(message))
    verbs = {kind: verb for _, kind, verb in ROWS}
    assert verbs[sent.kind].message.model_validate(json.loads(sent.body())) == sent


@given(
    st.sampled_from(sorted(queues_of_events("", ""))),
    st.text(),
    st.dictionaries(st.text(), st.text() | st.integers()),
    st.datetimes(timezones=st.just(UTC)),
)
def test_an_event_is_read_as_it_was_sent(kind, text, fields, at):
    sent = json.loads(to_message(Delivery(text, kind, fields, at)))
    (message,) = [verb.message for _, each, verb in ROWS if each == kind]
    assert message.model_validate(sent).model_dump() == sent


@pytest.mark.parametrize(("name", "group"), TAKERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(kind=ignored_kinds)
def test_a_message_that_no_verb_is_for_does_not_come_back(wires, name, group, kind):
    assert failures(call(name, sqs_event(json.dumps({"kind": kind, "fields": {}}), group=group))) == []


@pytest.mark.parametrize("body", ["{}", "[]", '"push"', "null", '{"deployment": "d"}'])
def test_a_message_without_a_kind_is_nothing_in_particular(wires, body):
    for name, group in TAKERS:
        assert failures(call(name, sqs_event(body, group=group))) == []
    assert not wires.deliveries.outcomes


def test_what_is_ignored_is_logged_and_counted(wires, capsys, caplog):
    call("discover_roots", sqs_event(json.dumps({"kind": "release", "fields": {}})))
    (line,) = [json.loads(each) for each in capsys.readouterr().out.splitlines() if "_aws" in each]
    assert (line["IgnoredMessages"], line["function"]) == ([1.0], "discover_roots")
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Tidegate"
    assert ("discover_roots", "release") in [
        (vars(each).get("source"), vars(each).get("ignored")) for each in caplog.records
    ]


def test_others_of_the_batch_are_taken(wires):
    deployment = any_deployment()
    wires.deployments.add(deployment)
    known = PublishDeployment(deployment=deployment.id).body()
    event = sqs_event('{"kind": "new"}', known, group=["one", "one"])
    assert failures(call("publish_check_run", event)) == []
    assert wires.check_runs.published(deployment.id) is not None


@pytest.mark.parametrize(
    "body", ['{"kind": "open_gates"}', '{"kind": "open_gates", "change_set": "c", "typo": 1}', "{"]
)
def test_a_message_that_is_not_what_its_kind_says_comes_back(wires, body):
    assert failures(call("open_gates", sqs_event(body, group=["one"]))) == ["message-0"]


def test_an_event_of_another_queue_is_not_read_as_one_of_this():
    body = json.loads(to_message(Delivery("delivery-1", "check_run", {}, NOW)))
    with pytest.raises(ValidationError):
        VERBS["TIDEGATE_DISCOVERY_QUEUE", "push"].message.model_validate(body)


def test_slots_are_given_without_a_look_at_gates(wires, monkeypatch):
    opened = []
    monkeypatch.setattr("tidegate.gates.open_gates.open_gates", lambda _ports, change: opened.append(change))
    bodies = messages.GiveSlots().body(), OpenGates(change_set="change-1").body()
    assert failures(call("open_gates", sqs_event(*bodies, group=["slots", "change-1"]))) == []
    assert opened == ["change-1"]


@pytest.mark.parametrize("function", RULES)
def test_an_event_of_a_rule_that_no_verb_is_for_is_counted(wires, capsys, function):
    event = {"source": "aws.states", "detail-type": "Scheduled Event", "detail": {}}
    assert call_function(function, event) is None
    assert "IgnoredMessages" in capsys.readouterr().out


def test_the_documented_kinds_are_those_of_the_table():
    page = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
    _, _, rows = page.partition("| Queue | Kinds | Function |")
    documented = {
        (cells[3].strip(" `"), kind)
        for cells in (row.split("|") for row in rows.partition("\n\n")[0].splitlines()[2:])
        for kind in re.findall(r"`(\w+)`", cells[2])
    }
    taken = {(function, kind) for function, queues in QUEUES.items() for each in queues.values() for kind in each.verbs}
    assert documented == taken
