"""Figures of deployments on their page, as CSV and by the API."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from io import StringIO

import pytest

from tests.api.scenario import Client
from tests.builders import NOW, REPOSITORY, any_drift, any_drift_finding, any_root, deployment_in
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.insights.count import count_deployment, count_drift
from tidegate.insights.get_insights import MOST_READS
from tidegate.insights.rules.day import Day
from tidegate.ports import KnownRepository

SPANS = ("7d", "30d", "13w", "52w")
OTHER = "acme/secret"


def went(wires, number, state=State.APPLIED, **fields):
    """Count a deployment that took an hour, most of it in review."""
    spent = ((State.QUEUED, 60), (State.PLANNING, 55), (State.AWAITING_REVIEW, 50), (State.APPLYING, 4), (state, 0))
    history = tuple(Step(each, NOW - timedelta(minutes=minutes)) for each, minutes in spent)
    at = {"requested_at": history[0].at, "changed_at": NOW}
    one = deployment_in(state, number, history=history, **{**at, **fields})
    wires.deployed(one)
    count_deployment(wires.ports, one)


@pytest.fixture
def counted(wires):
    aws = ProviderTime("hashicorp/aws", 3, 120, 86)
    went(wires, 1, tags=("team:sre",), stack="prod", providers=(aws,))
    went(wires, 2, State.APPLY_FAILED, stack="dev", root=any_root(name="dns"))
    went(wires, 3, State.REJECTED, stack="dev", root=any_root(name="app"))
    count_drift(wires.ports, any_drift(findings=(any_drift_finding(drifted_since=NOW),), ended_at=NOW))


def options(page):
    return re.findall(r"<option[^>]*>([^<]*)<", page.body)


def test_without_figures_the_page_says_how_they_come(browser):
    page = browser.get("/insights")
    assert page.status == 200
    assert "No figures yet" in page.text
    assert "<svg" not in page.body


def test_the_page_shows_figures_charts_and_tables(counted, browser):
    page = browser.get("/insights")
    assert "Failure rate 50 % 1 of 2" in page.text
    assert "Lead time 52 min 90 %: 58 min" in page.text
    assert page.body.count("<svg") == page.body.count("<details>") > 5
    assert {"prod", "dev", "sre", "without a team"} <= set(options(page))
    assert f'href="/queue?repository={REPOSITORY.replace("/", "%2F")}&amp;root=network"' in page.body
    assert "hashicorp/aws 1.4 min 40 s 2 min 3" in page.text


@pytest.mark.parametrize("span", [*SPANS, "nonsense"])
def test_each_time_can_be_shown(counted, browser, span):
    assert "Failure rate 50 %" in browser.get(f"/insights?span={span}").text


def test_figures_can_be_of_a_stack_or_a_team(counted, browser):
    assert "Failure rate 100 % 1 of 1" in browser.get("/insights?stack=dev").text
    assert "Failure rate 0 % 0 of 1" in browser.get("/insights?team=sre").text
    assert "Failure rate 100 % 1 of 1" in browser.get("/insights?team=-").text
    nothing = browser.get("/insights?stack=%3Cb%3E&team=nobody")
    assert "Nothing ended in this time" in nothing.text
    assert "<b>" not in nothing.body


def test_the_api_tells_the_same(counted, reader):
    found = reader.get(f"/api/v1/insights?repository={REPOSITORY}").json
    total = found["total"]
    assert (total["applied"], total["failed"], total["other"], total["failure_rate"]) == (1, 1, 1, 0.5)
    assert (total["review_wait"]["count"], total["lead_time"]["count"]) == (3, 1)
    assert 45 * 60 < total["lead_time"]["median"] <= 3600
    assert total["cost_usd"] > 0
    assert (len(found["periods"]), found["periods"][-1]["applied"]) == (30, 1)
    assert (found["periods"][-1]["drifted_roots"], found["periods"][0]["drifted_roots"]) == (1, None)
    assert [each["name"] for each in found["stacks"]] == ["dev", "prod"]
    assert {each["root"] for each in found["slowest_roots"]} == {"network", "dns", "app"}
    aws = {"provider": "hashicorp/aws", "changes": 3, "total": 120, "mean": 40.0, "longest": 86}
    assert found["slowest_providers"] == [aws]
    assert reader.get("/api/v1/insights?span=1y").status == 422


def test_the_csv_file_has_a_line_for_each_day_stack_and_team(counted, browser):
    answer = browser.get("/insights/csv?span=7d")
    assert answer.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(StringIO(answer.body)))
    assert [(line["date"], line["stack"], line["team"], line["applied"], line["failed"]) for line in lines] == [
        ("2026-03-02", "prod", "sre", "1", "0"),
        ("2026-03-02", "dev", "", "0", "1"),
    ]
    assert (lines[0]["lead_median"] != "", lines[1]["lead_median"]) == (True, "")
    assert len(browser.get("/insights/csv?stack=prod").body.splitlines()) == 2


def test_the_csv_file_of_providers_has_their_times(counted, browser):
    (address,) = re.findall(r'href="([^"]*table=providers[^"]*)"', browser.get("/insights?span=7d").body)
    (line,) = csv.DictReader(StringIO(browser.get(address.replace("&amp;", "&")).body))
    assert (line["stack"], line["team"], line["provider"], line["longest"]) == ("prod", "sre", "hashicorp/aws", "86")


def test_no_cell_of_the_csv_file_is_a_formula(wires, browser):
    went(wires, 1, stack="=1+2")
    (line,) = csv.DictReader(StringIO(browser.get("/insights/csv").body))
    assert line["stack"] == "'=1+2"


def test_who_may_not_read_a_repository_sees_none_of_its_figures(wires, counted):
    visitor, program = Client(wires).sign_in("visitor"), Client(wires, "token-of-visitor")
    assert "No figures yet" in visitor.get("/insights").text
    assert REPOSITORY not in visitor.get("/insights/csv").body
    assert program.get("/api/v1/insights").json["total"]["applied"] == 0
    for path in (f"/insights?repository={REPOSITORY}", f"/insights/csv?repository={REPOSITORY}"):
        assert visitor.get(path).status == 404
    assert program.get(f"/api/v1/insights?repository={REPOSITORY}").status == 404


def test_what_is_beyond_the_reads_of_a_page_is_named(wires, browser):
    for number in range(MOST_READS + 1):
        wires.repository_index.remember(KnownRepository(f"acme/more-{number}", "main", "0" * 40, NOW))
        wires.ports.insights.save(Day(f"acme/more-{number}", "2026-03-02"))
    wires.forge.readers |= {"reviewer"}
    assert "Choose a repository, or a shorter time" in browser.get("/insights").text
