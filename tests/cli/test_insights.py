"""``tidegate insights``: what people, spreadsheets and scripts see of figures."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest

FIGURES = {
    "applied": 41,
    "failed": 4,
    "failure_rate": 4 / 45,
    "lead_time": {"count": 41, "median": 1860.0, "p90": 5040.0},
    "review_wait": {"count": 0, "median": None, "p90": None},
    "queue_time": {"count": 45, "median": 42.4, "p90": 186.0},
    "cost_usd": 0.052,
}
FOUND = {
    "total": FIGURES,
    "stacks": [{"name": "prod", **FIGURES}, {"name": "=1+2", "failure_rate": None}],
    "slowest_roots": [{"repository": "acme/live", "root": f"root-{number}", "runs": 1} for number in range(9)],
    "slowest_providers": [
        {"provider": "hashicorp/[red]aws", "changes": 361, "total": 34_560, "mean": 96.0, "longest": 1200}
    ],
}


@pytest.fixture
def known(api):
    api.answers["GET /api/v1/insights"] = FOUND
    return api


def rows(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_figures_are_shown_by_stack_with_their_sum(known, tidegate):
    shown = rows(tidegate("insights", "acme/live").stdout)
    assert "prod 41 9 % (4 of 45) 31 min - 42 s $0.052" in shown
    assert "=1+2 0 - - - - $0.00" in shown
    assert "(all) 41 9 % (4 of 45) 31 min - 42 s $0.052" in shown
    assert known.asked[-1].query == {"repository": "acme/live", "span": "30d"}


def test_the_slowest_roots_and_providers_are_shown(known, tidegate):
    shown = tidegate("insights").stdout
    assert "hashicorp/[red]aws 20 min 1.6 min 361" in rows(shown)
    assert "acme/live root-4 0 s 0 s 1" in rows(shown)
    assert "root-5" not in shown
    assert "root-4 0 s 0 s 1" in rows(tidegate("insights", "acme/live").stdout)


@pytest.mark.parametrize(("days", "span"), [("7", "7d"), ("30", "30d"), ("91", "13w"), ("364", "52w")])
def test_figures_are_of_the_days_that_are_asked_for(known, tidegate, days, span):
    assert tidegate("insights", "--days", days).exit_code == 0
    assert known.asked[-1].query == {"span": span}


def test_other_days_are_refused_with_those_that_there_are(tidegate):
    result = tidegate("insights", "--days", "5")
    assert (result.exit_code, "'364'" in result.stderr) == (2, True)


def test_spreadsheets_get_a_line_for_each_stack_and_no_formula(known, tidegate):
    prod, other = csv.DictReader(StringIO(tidegate("insights", "--csv").stdout))
    assert (prod["stack"], prod["applied"], prod["lead_time_p90"], prod["cost_usd"]) == ("prod", "41", "5040", "0.052")
    assert (prod["review_wait_median"], other["stack"]) == ("", "'=1+2")


def test_programs_get_all_of_it(known, tidegate):
    assert len(json.loads(tidegate("insights", "--json").stdout)["slowest_roots"]) == 9


def test_one_format_at_a_time(known, tidegate):
    assert tidegate("insights", "--json", "--csv").exit_code == 2


def test_without_figures_it_says_so(api, tidegate):
    api.answers["GET /api/v1/insights"] = {"stacks": []}
    assert "No deployment ended in the last 7 days." in tidegate("insights", "--days", "7").stdout


def test_what_was_not_read_is_said(api, tidegate):
    api.answers["GET /api/v1/insights"] = {**FOUND, "left_out": ["acme/large"], "unchecked": 3}
    said = tidegate("insights").stderr
    assert "Not all figures of acme/large" in said
    assert "not checked yet for 3 repositories" in said


def test_a_repository_that_one_may_not_read_is_not_found(api, tidegate):
    assert tidegate("insights", "acme/none").exit_code == 3
