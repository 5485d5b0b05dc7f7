"""Each event of a function finds the verb that it is for, and what none is for is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.builders import any_deployment
from tests.functions.wires import VERBS, call_function, handler_of, sqs_event
from tidegate.bootstrap import dispatch, prepared
from tidegate.bootstrap.dispatch import UnknownKind
from tidegate.bootstrap.prepared import FIRST, prepare
from tidegate.bootstrap.table import STEPS
from tidegate.messages.queues import PublishDeployment
from tidegate.ports import Ports
from tidegate_cdk.function_specs import FUNCTION_OF, SPECS

#: What has a handler of its own.
OF_ITS_OWN = {"receive_webhook", "answer_request", "reconcile"}
#: The memory, in MB, with which a function has one processor.
PROCESSOR = 1769
QUEUE = "arn:aws:sqs:eu-central-1:123456789012:"


def test_a_function_has_the_verbs_that_its_rights_are_for():
    expected = {spec.name: set(spec.verbs) - OF_ITS_OWN for spec in SPECS if set(spec.verbs) - OF_ITS_OWN}
    assert expected == VERBS
    assert sum(len(spec.verbs) for spec in SPECS) == len(FUNCTION_OF), "a verb has one function"


@pytest.mark.parametrize("function", [name for name in VERBS if STEPS.get(name)])
def test_a_function_takes_no_step_of_another(wires, function):
    for kind in {kind for verbs in STEPS.values() for kind in verbs} - set(STEPS[function]):
        with pytest.raises(UnknownKind, match=f"{function} does not support events of the kind '{kind}'"):
            call_function(function, {"kind": kind, "queue": "q"})


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"kind": None},
        {"kind": "publish_check_run"},
        {"Records": []},
        sqs_event("{}"),
        {**sqs_event("{}"), "source": "aws.states"},
        {"source": "aws.states"},
    ],
)
@pytest.mark.parametrize("function", ["steps", "forge_steps", "api", "workers"])
def test_an_event_that_no_verb_is_for_is_refused(wires, function, event):
    with pytest.raises(UnknownKind):
        call_function(function, event)


def test_a_queue_is_known_by_its_whole_name(wires):
    deployment = any_deployment()
    wires.deployments.add(deployment)
    event = sqs_event(PublishDeployment(deployment=deployment.id).body(), group=["one"])
    (record,) = event["Records"]
    for name in ("other-check-runs.fifo", "check-runs", "clicks"):
        with pytest.raises(UnknownKind):
            call_function("forge_steps", {"Records": [{**record, "eventSourceARN": QUEUE + name}]})
    call_function("forge_steps", {"Records": [{**record, "eventSourceARN": f"{QUEUE}check-runs.fifo"}]})
    assert wires.check_runs.published(deployment.id) is not None


def test_a_queue_that_the_function_does_not_know_is_none_of_its_own(wires):
    del wires.environ["TIDEGATE_ACTION_QUEUE"]
    with pytest.raises(UnknownKind):
        call_function("api", {"Records": [{**sqs_event("{}")["Records"][0], "eventSourceARN": ""}]})


def test_a_request_is_answered_and_nothing_of_it_logged(wires, caplog, monkeypatch):
    request = {"requestContext": {"http": {"method": "GET", "path": "/static/none"}}, "rawPath": "/static/none"}
    page = SimpleNamespace(answer=lambda event, _context: {"statusCode": 404, "body": event["rawPath"]})
    monkeypatch.setattr(dispatch, "_application", lambda _ports: page)
    assert handler_of("api").lambda_handler(request, None) == {"statusCode": 404, "body": "/static/none"}
    assert not caplog.records


@pytest.mark.parametrize("function", FIRST)
def test_a_function_makes_what_its_events_need_while_it_starts(wires, monkeypatch, function):
    made = []
    monkeypatch.setattr(dispatch, "prepare", lambda *what: made.append(what))
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
    dispatch.handler_of(function)
    assert made == [(function, wires.ports)]
    prepare(function, wires.ports)


def test_only_functions_with_a_share_of_a_processor_are_prepared():
    """Who has most of a processor is as fast later as at its start, and may never need what it would make."""
    small = {spec.name for spec in SPECS if spec.memory * 2 < PROCESSOR}
    assert set(FIRST) == small - {"reconcile"}, "nobody waits for what a schedule repairs"


def test_what_lacks_its_settings_says_so_once_it_is_used(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setitem(prepared.FIRST, "steps", ((), ("audit", "artifacts")))
    prepare("steps", Ports({}))
