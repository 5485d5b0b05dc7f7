"""The measures of pages reach every page: each route that reads is measured, and answers."""

from __future__ import annotations

import pytest

from tests.bench.installation import Installation
from tests.bench.page_reads import measured, pages

#: What this installation has not set up, or what needs a code.
_REFUSED = ("/.well-known/", "/login", "/setup/created")


@pytest.fixture(scope="module")
def small():
    return Installation(roots=40, deployments=80, resources=20)


@pytest.mark.parametrize(("route", "path"), list(pages()))
def test_each_page_is_measured(small, route, path):
    page = measured(small, route, path, runs=0)
    assert page.status == 200 or path.startswith(_REFUSED)
