"""Deployments searched by a tag query, by the API and on the page."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.builders import REPOSITORY, any_deployment, any_root, deployment_in
from tests.instants import utc
from tidegate.deploys.rules.state import State
from tidegate.deploys.search_deployments import SEARCHED
from tidegate.ports import KnownRepository

LIST = f"/repositories/{REPOSITORY}/deployments"
API = f"/api/v1/deployments?repository={REPOSITORY}"


@pytest.fixture
def made(wires):
    """A gated deployment of prod, an applied one of dev, and one of another root."""
    gated = deployment_in(State.GATED, 3, stack="prod", change_set="c-1")
    applied = deployment_in(State.APPLIED, 2, stack="dev", change_set="c-1")
    other = any_deployment(1, root=any_root(name="orders", dir="live/orders"))
    return {name: wires.deployed(one).id for name, one in (("other", other), ("applied", applied), ("gated", gated))}


def asked(client, query, **more):
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    return client.get(f"{API}&query={quote(query)}{rest}")


def ids(answer):
    assert answer.status == 200, answer.text
    return [one["id"] for one in answer.json["deployments"]]


def test_the_api_gives_what_matches_with_its_stack_and_change(made, reader):
    answer = asked(reader, "stack_name:prod and state:waiting")
    assert ids(answer) == [made["gated"]]
    one = answer.json["deployments"][0]
    assert (one["stack"], one["change_set"], one["layer"]) == ("prod", "c-1", 1)
    assert (answer.json["searched"], answer.json["next"]) == (3, None)


def test_the_api_gives_what_matches_page_by_page(made, reader):
    first = asked(reader, "not root:orders", limit=1)
    second = asked(reader, "not root:orders", limit=1, after=first.json["next"])
    assert ids(first) + ids(second) == [made["gated"], made["applied"]]


def test_one_root_is_searched_alone(made, reader):
    assert ids(asked(reader, "state:waiting", root="orders")) == [made["other"]]


@pytest.mark.parametrize("query", ["state:", "status:waiting", "root:a and", "(", "x" * 3000])
def test_a_query_that_means_nothing_is_refused_with_its_column(made, reader, query):
    answer = asked(reader, query)
    assert (answer.status, answer.json["error"]["code"]) == (400, "invalid_query")
    assert answer.json["error"]["message"].startswith("Column ")


def test_without_a_query_nothing_is_searched(made, reader):
    answer = asked(reader, "")
    assert len(ids(answer)) == 3
    assert answer.json["searched"] is None


def test_the_page_shows_what_matches_and_keeps_the_query(made, browser):
    page = browser.get(f"{LIST}?query={quote('state:waiting and not stack_name:default')}")
    assert page.status == 200
    assert f"/deployments/{made['gated']}" in page.body
    assert f"/deployments/{made['other']}" not in page.body
    assert 'value="state:waiting and not stack_name:default"' in page.body


def test_the_page_tells_below_the_box_where_a_query_is_wrong(made, browser):
    page = browser.get(f"{LIST}?query=root:a+or+status:orders&root=network")
    assert page.status == 400
    assert "Column 11 of the tag query" in page.text
    assert 'value="root:a or status:orders"' in page.body


def test_the_page_says_how_many_were_searched_and_goes_on(wires, browser):
    for number in range(SEARCHED + 2):
        at = utc(f"2026-03-02T09:{number // 60:02}:{number % 60:02}")
        wires.deployed(any_deployment(number, requested_at=at, stack="dev" if number else "prod"))
    page = browser.get(f"{LIST}?query=stack_name:prod")
    assert "None of the 1,000 searched deployments matches." in page.text
    following = page.body.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "/deployments/infra-network-0000000-" in browser.get(following).body


def test_deployments_of_one_change_stand_together_stack_by_stack(made, browser):
    text = browser.get(LIST).text
    assert text.index("stack dev") < text.index("stack prod") < text.index("orders")
    assert 'href="/changes/c-1"' in browser.get(LIST).body


def test_a_stack_that_is_not_there_is_told_with_the_nearest(made, browser, reader):
    asked = "query=stack_name:prodd"
    told = reader.get(f"{API}&{asked}").json["hint"]
    assert told.startswith("None of the deployments searched has the stack 'prodd'. Did you mean stack_name:prod?")
    body = browser.get(f"{LIST}?{asked}").body
    assert "No results" in body
    assert "Did you mean stack_name:prod?" in body


def test_without_a_repository_all_that_one_may_read_are_searched(made, wires, reader, visitor):
    wires.repository_index.remember(KnownRepository("acme/other", "main", "0" * 40, utc("2026-03-02T09:00")))
    other = wires.deployed(any_deployment(7, repository="acme/other", stack="prod")).id
    first = reader.get("/api/v1/deployments?query=stack_name:prod+and+state:waiting&limit=1")
    second = reader.get(
        f"/api/v1/deployments?query=stack_name:prod+and+state:waiting&limit=1&after={first.json['next']}"
    )
    assert ids(first) + ids(second) == [other, made["gated"]]
    assert first.json["unsearched"] == 0
    assert ids(reader.get("/api/v1/deployments?query=repository:acme/other")) == [other]
    assert ids(visitor.get("/api/v1/deployments?query=stack_name:prod")) == []


def test_without_a_repository_and_without_a_query_the_newest_of_all_are_listed(made, reader):
    assert set(ids(reader.get("/api/v1/deployments"))) == set(made.values())
    assert reader.get("/api/v1/deployments?query=root:network&after=none").status == 404


def test_a_list_does_not_begin_after_what_one_may_not_read(made, visitor):
    hidden = visitor.get(f"/api/v1/deployments?after={made['gated']}")
    unknown = visitor.get(f"/api/v1/deployments?after={'x' * len(made['gated'])}")
    assert (hidden.status, unknown.status) == (404, 404)
    assert hidden.text.replace(made["gated"], "") == unknown.text.replace("x" * len(made["gated"]), "")
