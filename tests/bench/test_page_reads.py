"""Each page and each GET route of the API: how much it reads and weighs in a large installation."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.pages import PAGE_KILOBYTES, READS, run
from tests.bench.installation import Installation
from tests.bench.page_reads import measured, pages

#: What this installation has not set up, or what needs a code.
_REFUSED = ("/.well-known/", "/account/slack", "/login", "/setup/created")


@pytest.fixture(scope="module")
def large():
    return Installation(roots=1_000, deployments=3_000, resources=500)


@pytest.mark.parametrize(("route", "path"), list(pages()))
def test_each_page_stays_within_its_reads_and_its_size(large, route, path):
    page = measured(large, route, path, runs=0)
    assert page.status == 200 or path.startswith(_REFUSED)
    assert page.count <= READS, page.reads
    assert page.compressed <= PAGE_KILOBYTES * 1000


def test_the_page_of_a_plan_is_measured_by_itself():
    measures = ["plan_rows_made", "plan_page_rendered", "plan_page_sent"]
    assert [line.name for line in islice(run(quick=True), len(measures))] == measures
