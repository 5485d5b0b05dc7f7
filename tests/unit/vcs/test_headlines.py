"""What a change is called, and who made it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from tests.builders import REPOSITORY, any_pull_request, sha
from tests.functions.wires import Wires
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.vcs.find_headline import find_headline
from tidegate.vcs.rules.headline import LONGEST_AVATAR, LONGEST_TITLE, Headline, headline_of, picture

COMMIT = Headline("Merge branch 'queue'", "maintainer")


def test_a_commit_is_called_by_the_first_line_of_its_message():
    assert headline_of("\n  Add a queue\n\nBecause.\n", "developer") == Headline("Add a queue", "developer")


def test_a_change_is_called_by_its_pull_request():
    assert Headline("Merge branch 'queue'", pull_request_title="Add a queue").text == "Add a queue"
    assert Headline("Add a queue").text == "Add a queue"


@given(st.text(), st.text(), st.text())
def test_whatever_a_commit_says_its_headline_is_one_short_line(message, author, avatar):
    found = headline_of(message, author, avatar)
    assert max(len(found.title), len(found.author)) <= LONGEST_TITLE
    assert len(found.avatar) <= LONGEST_AVATAR
    assert "\n" not in found.title + found.author + found.avatar


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "data:image/png;base64,x", "https://a b", "/own.png"])
def test_only_the_whole_address_of_a_picture_is_one(url):
    assert picture(url) == ""
    assert picture("https://avatars.example/u/1?v=4") == "https://avatars.example/u/1?v=4"


@pytest.fixture
def scenario():
    scenario = Wires()
    scenario.forge.headlines[sha(1)] = COMMIT
    return scenario


def seen(scenario, number, **fields):
    spec = any_pull_request(number=number, title=f"Change {number}", author="developer", avatar="https://a.example/d")
    scenario.forge.seen[number] = builders.seen(spec, **fields)


def test_a_merge_is_called_by_the_pull_request_that_it_merged(scenario):
    seen(scenario, 4, merged=False)
    seen(scenario, 5, merged=True, merge_sha=sha(9))
    seen(scenario, 6, merged=True, merge_sha=sha(1))
    scenario.forge.came_with[sha(1)] = (4, 5, 6)
    found = find_headline(scenario.ports, REPOSITORY, sha(1))
    assert found == Headline("Merge branch 'queue'", "developer", "https://a.example/d", 6, "Change 6")


def test_a_pushed_commit_is_called_by_itself(scenario):
    scenario.forge.came_with[sha(1)] = ()
    assert find_headline(scenario.ports, REPOSITORY, sha(1)) == COMMIT


def test_the_head_of_a_pull_request_is_called_by_that_one(scenario):
    seen(scenario, 7)
    assert find_headline(scenario.ports, REPOSITORY, sha(1), 7).text == "Change 7"


@pytest.mark.parametrize("failure", [ForgeUnavailable("down"), ForgeRefused(403, "No")])
def test_what_the_provider_does_not_tell_stays_empty(scenario, failure):
    scenario.forge.failures += [failure, failure]
    assert find_headline(scenario.ports, REPOSITORY, sha(1)) == Headline()
    assert find_headline(scenario.ports, REPOSITORY, sha(2), 7) == Headline()
