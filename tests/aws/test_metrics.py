"""Alarms and the dashboard look at metrics that have data, and the dashboard reads logs for states that there are."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.aws import metrics
from tests.aws.contract import Template, states

_OPERATIONS = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


def test_each_metric_has_data(installation: dict[str, Any]):
    assert metrics.findings(installation) == []


def test_each_row_names_its_document():
    assert all(row["url"].startswith("https://docs.aws.amazon.com/") for row in metrics.ROWS)


def _dashboard(document: dict[str, Any]) -> dict[str, Any]:
    (found,) = [each for each in document["Resources"].values() if each["Type"] == "AWS::CloudWatch::Dashboard"]
    return found["Properties"]


def test_the_dashboard_has_what_operators_look_for_and_is_free_as_one_of_the_first_three(other: dict[str, Any]):
    """The first three of an account cost nothing while they have at most 50 metrics (prices.toml)."""
    properties = _dashboard(other)
    assert properties["DashboardName"] == "acme-prod"
    widgets = metrics.body(properties["DashboardBody"])["widgets"]
    shown = [each for each in metrics.metrics(other) if each.where in {w["properties"].get("title") for w in widgets}]
    assert 30 < len(shown) <= 50
    titles = " ".join(widget["properties"].get("title", "") for widget in widgets).lower()
    for word in ("oldest message", "reviews", "runner starts", "failed", "quota", "throttled", "dollars", "alarms"):
        assert word in titles, word
    assert all(widget["x"] + widget["width"] <= 24 for widget in widgets)


def test_the_dashboard_reads_logs_of_machines_for_states_that_they_have(other: dict[str, Any]):
    template = Template(other)
    machines = {
        template.referred(
            each["Properties"]["LoggingConfiguration"]["Destinations"][0]["CloudWatchLogsLogGroup"]["LogGroupArn"]
        ).name: {name for name, _ in states(json.loads(each["Properties"]["DefinitionString"]))}
        for each in other["Resources"].values()
        if each["Type"] == "AWS::StepFunctions::StateMachine"
    }
    _, parts = _dashboard(other)["DashboardBody"]["Fn::Join"]
    text = "".join(part if isinstance(part, str) else f"<{part.get('Ref', 'other')}>" for part in parts)
    queries = [widget["properties"]["query"] for widget in json.loads(text)["widgets"] if widget["type"] == "log"]
    assert len(queries) == 3
    for query in queries:
        logs = [template.referred({"Ref": name}).name for name in re.findall(r"SOURCE '<(\w+)>'", query)]
        known = set().union(*(machines[log] for log in logs))
        asked = set(re.findall(r'"([A-Z][^"]+)"', query)) - {"Entered"}
        assert asked, query
        assert asked <= known, query
        assert query.count("| stats ") <= 2, "Logs Insights takes no third"


def _headings() -> set[str]:
    """Return the anchors of docs/operations.md, as forges and site generators make them."""
    headings = re.findall(r"^#+ (.+)$", _OPERATIONS, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_each_alarm_says_what_it_means_and_links_to_what_to_do(template: dict[str, Any], other: dict[str, Any]):
    for document, docs, dashboard in (
        (template, "docs", False),
        (other, "https://docs.example.com/tidegate", True),
    ):
        alarms = [each["Properties"] for each in document["Resources"].values() if "::Alarm" in each["Type"]]
        assert len(alarms) == 12
        for alarm in alarms:
            description = alarm["AlarmDescription"]
            text = description if isinstance(description, str) else json.dumps(description)
            (part,) = re.findall(rf"What to do: {re.escape(docs)}/operations\.md#([a-z-]+)", text)
            assert part in _headings(), alarm["AlarmName"]
            assert ("#dashboards:name=acme-prod" in text) == dashboard
            assert len(text) < 1024, "what CloudWatch takes"


def test_the_dashboards_page_is_in_the_documents():
    widgets = _OPERATIONS.partition("## The dashboard")[2].partition("\n## ")[0]
    for title in (
        "Oldest message of each queue",
        "Waiting plan reviews",
        "Runner starts, plans and applies",
        "Charges",
    ):
        assert title in widgets


def _changed(change: Callable[[str], str]) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        for name, each in document["Resources"].items():
            if each["Type"].startswith("AWS::CloudWatch::"):
                document["Resources"][name] = json.loads(change(json.dumps(each)))

    return apply


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (_changed(lambda text: text.replace("5xx", "5XXError")), "no row has AWS/ApiGateway 5XXError by ['ApiId']"),
        (_changed(lambda text: text.replace("ApiId", "ApiName")), "by ['ApiName']"),
        (_changed(lambda text: text.replace("us-east-1", "eu-west-1")), "AWS/Billing is in us-east-1"),
        (_changed(lambda text: text.replace("Standard/OnDemand", "OnDemand")), "AWS/Usage has no Class OnDemand"),
        (
            _changed(lambda text: text.replace('"QueueName"]', '"Arn"]')),
            "QueueName takes the name of an AWS::SQS::Queue",
        ),
        (_changed(lambda text: text.replace('"Audit', '"Auditing')), "no filter counts acme-prod Auditing"),
        (
            _changed(lambda text: text.replace("RuleName", "Rule")),
            "no row has AWS/Events MatchedEvents by ['EventBusName', 'Rule']",
        ),
        (_changed(lambda text: text.replace("-outcome-unknown", "-outcome")), "RuleName acme-prod-outcome is no"),
    ],
    ids=["a REST API's", "by name", "region", "value", "ARN for name", "uncounted", "dimension", "another rule"],
)
def test_a_metric_that_never_has_data_is_found(
    other: dict[str, Any], broken: Callable[[dict[str, Any]], None], found: str
):
    document = copy.deepcopy(other)
    broken(document)
    assert [line for line in metrics.findings(document) if found in line]
