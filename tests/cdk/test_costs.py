"""What a month costs in which nothing happens, counted in the template, and that what costs more is asked for."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tidegate_cdk.costs import PAGE, TABLE, Line, UncountedResource, idle, opt_ins, page, runner_second

#: What the defaults may cost in a month, where an account uses nothing else of what AWS gives without an end.
_MOST = 3.00


def test_a_month_in_which_nothing_happens_costs_less_than_three_dollars(template: dict[str, Any]):
    bill = idle(template)
    assert sum(dollars for _, dollars in bill.after_allowances()) < _MOST
    assert bill.dollars < 4.60, "also where all of that is used up, this is what it says"


def test_the_page_shows_what_the_template_costs(template: dict[str, Any]):
    assert PAGE.read_text(encoding="utf-8") == page(template), "run `make docs` and review what changed"


def test_each_price_has_its_page_and_each_metric_and_poller_counts(template: dict[str, Any]):
    assert all(price["url"].startswith("https://aws.amazon.com/") for price in TABLE["price"].values())
    units = {line.price: line.units for line in idle(template).lines}
    metrics = [
        sum("MetricStat" in each for each in alarm["Properties"].get("Metrics", [])) or 1
        for alarm in template["Resources"].values()
        if alarm["Type"] == "AWS::CloudWatch::Alarm"
    ]
    assert units["each metric of an alarm"] == sum(metrics)
    assert units["a secret"] == 2
    month, polls = 730 * 3600, 5 / 20
    assert units["requests to standard queues"] + units["requests to FIFO queues"] == 6 * month * polls


def test_what_is_free_is_used_once_and_by_what_is_cheaper_first(template: dict[str, Any]):
    charged = {line.price: (line, dollars) for line, dollars in idle(template).after_allowances()}
    standard, paid = charged["requests to standard queues"]
    assert standard.dollars - paid == pytest.approx(0.40)
    ordered, paid = charged["requests to FIFO queues"]
    assert paid == ordered.dollars
    assert Line("", "requests to functions", 10).beyond(11) == 0


def test_what_is_off_by_default_is_priced_and_does_not_fit(template: dict[str, Any], other: dict[str, Any]):
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    assert not kinds & {row["of"] for row in TABLE["opt_in"] if "of" in row}
    prices = dict(opt_ins())
    assert prices["dashboard: true"] == 3.0
    assert prices["nat_gateways: 1"] == pytest.approx(32.85)
    asked = prices["dashboard: true"] + 2 * prices["identity_keys, for each"]
    asked += prices["destinations (without their secrets)"]
    assert idle(other).dollars - idle(template).dollars == pytest.approx(asked)
    alone = {line.price: dollars for line, dollars in idle(other).after_allowances()}
    assert alone["a dashboard"] == 0


def test_a_site_pays_for_its_key(own: dict[str, Any], template: dict[str, Any]):
    """Its plans begin on Lambda, with the image that tasks have."""
    assert idle(own).dollars - idle(template).dollars == pytest.approx(dict(opt_ins())["kms_key: create"])


def test_a_kind_of_resource_whose_price_nobody_has_said_is_refused(template: dict[str, Any]):
    document = copy.deepcopy(template)
    document["Resources"]["Database"] = {"Type": "AWS::RDS::DBInstance"}
    with pytest.raises(UncountedResource, match="Database is an AWS::RDS::DBInstance"):
        idle(document)


def test_a_runner_costs_what_fargate_asks_for_its_size():
    assert runner_second("arm64") * 3600 == pytest.approx(0.03238 + 2 * 0.00356 + 10 * 0.000111)
    assert runner_second("x86_64") > runner_second("arm64")
