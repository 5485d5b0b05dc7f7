"""The model of AWS's latencies: what the local cloud waits for, and that each number says where it is from."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time

import pytest

from tidegate_local.client import LocalCloud
from tidegate_local.latency import AWS, Latency, seconds_of, table
from tidegate_local.options import Options


def test_each_number_of_the_model_says_what_it_is_where_it_is_from_and_of_when():
    for kind, parts in table().items():
        for name, part in parts.items():
            assert part.keys() == {"what", "seconds", "source", "date"}, f"{kind}.{name}"
            assert part["seconds"] > 0, f"{kind}.{name}"
            assert part["source"].startswith("https://"), f"{kind}.{name}"
            assert isinstance(part["date"], dt.date), f"{kind}.{name}"


def test_the_seconds_of_a_kind_are_those_of_its_parts():
    cold = table()["lambda_zip"]
    assert seconds_of(AWS)["lambda_zip"] == pytest.approx(sum(part["seconds"] for part in cold.values()))
    assert seconds_of("") == {}


def test_without_a_model_nothing_waits_and_what_comes_later_is_at_once():
    latency, done = Latency(), []
    latency.wait("runner_fargate")
    latency.later("runner_fargate", "task", lambda: done.append(threading.current_thread()))
    assert (latency.waits(), done) == ([], [threading.current_thread()])


def test_with_a_model_waits_are_as_long_as_it_says_and_are_remembered():
    latency, done = Latency(), threading.Event()
    latency.follow(AWS, 0.001)
    begun = time.monotonic()
    latency.later("runner_fargate", "a task", done.set)
    assert done.wait(60)
    assert time.monotonic() - begun >= seconds_of(AWS)["runner_fargate"] * 0.001
    latency.wait("nothing that it knows")
    assert [(wait.kind, wait.what) for wait in latency.waits()] == [("runner_fargate", "a task")]


def test_the_environment_names_the_model_and_no_other_is_taken(monkeypatch):
    monkeypatch.setenv("TIDEGATE_LATENCY", "aws")
    assert Options().latency == AWS
    monkeypatch.setenv("TIDEGATE_LATENCY", "mars")
    with pytest.raises(ValueError, match="TIDEGATE_LATENCY is 'mars'"):
        Options()


def test_a_cloud_with_the_model_waits_for_cold_functions_and_not_for_warm_ones(assembly):
    with LocalCloud(assembly=assembly, forge=False, latency=AWS, latency_scale=0.001) as cloud:
        worker = cloud.functions["Worker"]
        for _ in range(2):
            answer = cloud.client("lambda").invoke(FunctionName=worker, Payload='{"n": 1}')
            assert json.loads(answer["Payload"].read()) == {"n": 2}
        waited = [(wait["kind"], wait["what"]) for wait in cloud.read("latency") if wait["kind"].startswith("lambda")]
        assert waited == [("lambda_zip", worker)]


def test_calls_of_operators_are_as_late_as_others_and_an_event_is_late_once(assembly):
    """Bare commands call as an operator. What a bus adds lies between it and the function, not in the call as well."""
    with LocalCloud(assembly=assembly, forge=False, latency=AWS, latency_scale=0.001) as cloud:
        cloud.client("dynamodb").list_tables()
        cloud.client("s3").list_buckets()
        cloud.client("events").put_events(Entries=[{"Source": "test", "DetailType": "nothing", "Detail": "{}"}])
        waited = {(wait["kind"], wait["what"]) for wait in cloud.read("latency")}
    assert {("dynamodb", "ListTables"), ("s3", "ListBuckets")} <= waited
    assert "events_delivery" in seconds_of(AWS)
    assert not [what for kind, what in waited if kind.startswith("events") and what == "PutEvents"]
