"""The search over everything: what it finds, where that leads, and what it hides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.scenario import Client
from tests.builders import REPOSITORY, any_deployment, any_pull_request, any_pull_request_record, sha
from tidegate.ports import RepositoryNames
from tidegate.vcs.rules.headline import Headline


@pytest.fixture
def filled(wires):
    names = RepositoryNames(REPOSITORY, ("live/network", "live/queues"), ("prod", "staging"), ("fleet",))
    wires.repository_index.keep_names(names)
    spec = any_pull_request(12, title="Grow the subnets")
    wires.pull_requests.save(replace(any_pull_request_record(12), spec=spec))
    one = any_deployment(0xABCDEF1)
    request = replace(one.request, headline=Headline("Rename the queues", "developer", pull_request=9))
    return wires.deployed(replace(one, request=request))


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("network", "Roots", f"/queue?repository={REPOSITORY.replace('/', '%2F')}&amp;root=live%2Fnetwork"),
        ("infra NETWORK", "Roots", "root=live%2Fnetwork"),
        ("prod", "Stacks", f"/repositories/{REPOSITORY}?query=stack_name%3Aprod"),
        ("fleet", "Clusters", f"/clusters/{REPOSITORY}/fleet"),
        ("infra", "Repositories", f"/repositories/{REPOSITORY}"),
        ("#12", "Pull requests", f"/pulls/{REPOSITORY}/12"),
        ("subnets grow", "Pull requests", f"/pulls/{REPOSITORY}/12"),
        ("rename queues", "Deployments", "/deployments/"),
        ("#9", "Deployments", "/deployments/"),
        (sha(0xABCDEF1), "Commits", f"query=revision%3A{sha(0xABCDEF1)}"),
    ],
)
def test_it_finds_each_kind_of_thing_and_leads_there(filled, browser, text, kind, address):
    page = browser.get(f"/search?q={text.replace(' ', '+').replace('#', '%23')}")
    part = page.body.split(f">{kind}</h2>")[1].partition("</section>")[0]
    assert address in part


def test_it_finds_a_deployment_by_its_id(filled, browser):
    assert f'href="/deployments/{filled.id}"' in browser.get(f"/search?q={filled.id}").body


def test_it_finds_nothing_that_one_may_not_read(filled, wires):
    visitor = Client(wires).sign_in("visitor")
    for text in (filled.id, "network", "prod", "fleet", "infra", "%2312", "rename", sha(0xABCDEF1)):
        assert "No results" in visitor.get(f"/search?q={text}").text


def test_what_is_searched_is_no_markup_and_of_bounded_length(filled, browser):
    page = browser.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E" + "x" * 5000)
    assert page.status == 200
    assert "<script>alert" not in page.body


def test_of_many_results_some_are_listed(wires, browser):
    wires.repository_index.keep_names(RepositoryNames(REPOSITORY, tuple(f"root-{each:03}" for each in range(50))))
    page = browser.get("/search?q=root")
    assert "root-019" in page.text
    assert "root-020" not in page.text
    assert "Add a word" in page.text


def test_a_search_for_nothing_asks_what_to_find(browser):
    page = browser.get("/search")
    assert page.status == 200
    assert "No results" not in page.text
