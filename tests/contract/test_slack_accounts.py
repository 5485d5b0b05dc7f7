"""What every store of Slack's users does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.stores import dynamodb_client, new_table
from tests.fakes.notifications import MemorySlackAccounts
from tests.unit.notifications.interactions import USER
from tidegate.notifications.adapters.slack_accounts import DynamoSlackAccounts
from tidegate.notifications.rules.slack_account import SlackLink, SlackLinkRequest
from tidegate.rules.errors import Conflict

LINK = SlackLink(USER, "reviewer", 1000, "reviewer.at.work", "acme")


@pytest.fixture(params=["memory", "dynamodb"])
def accounts(request):
    if request.param == "memory":
        yield MemorySlackAccounts()
        return
    with dynamodb_client() as client:
        yield DynamoSlackAccounts(client, new_table(client))


def test_a_link_is_of_one_user_of_one_app_and_a_code_counts_once(accounts):
    assert accounts.link(USER) is None
    accounts.keep(LINK)
    assert accounts.link(USER) == LINK
    for field in ("app", "team", "id"):
        assert accounts.link(replace(USER, **{field: "OTHER"})) is None
    for ends in (999, 1000):
        with pytest.raises(Conflict):
            accounts.keep(replace(LINK, login="somebody", ends=ends))
    later = replace(LINK, login="", ends=1001)
    accounts.keep(later)
    assert accounts.link(USER) == later


def test_an_account_knows_who_acts_as_it_now(accounts):
    other = replace(LINK, user=replace(USER, team="OTHER"))
    for link in (LINK, other, replace(LINK, user=replace(USER, id="OTHER"), login="somebody")):
        accounts.keep(link)
    assert set(accounts.links_of("Reviewer")) == {LINK, other}
    accounts.keep(replace(LINK, login="somebody", ends=1001))
    accounts.keep(replace(other, login="", ends=1001))
    assert accounts.links_of("reviewer") == []


def test_attempts_to_type_a_code_are_counted_for_each_request(accounts):
    request = SlackLinkRequest(USER, "reviewer.at.work", "acme", 1000)
    assert [accounts.count_attempt(request) for _ in range(3)] == [1, 2, 3]
    assert accounts.count_attempt(replace(request, ends=1001)) == 1
    assert accounts.count_attempt(replace(request, user=replace(USER, id="OTHER"))) == 1
    assert accounts.link(USER) is None
