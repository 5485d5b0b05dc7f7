from __future__ import annotations

from datetime import datetime

import pytest

from tidegate.config_updates.rules.replay import Announced, Author, Commit, Entry, chain_problem
from tidegate.config_updates.rules.trailers import Trailers

US = Author()
BASE = "b" * 40


def chain(*names: str) -> list[Commit]:
    """Commits of ours on the base, each with its name as its message."""
    return [Commit(name, (below,), (US, US), f"{name}\n") for below, name in zip((BASE, *names), names, strict=False)]


def test_an_entry_knows_the_zone_of_its_time():
    trailers = Trailers("01J00000000000", "shop", "staging", "promotion")
    with pytest.raises(ValueError, match="has no zone"):
        Entry(trailers, datetime(2031, 5, 6), "images/staging.json", Announced("{}\n"))  # noqa: DTZ001  # That is it.


def test_a_chain_of_the_expected_commits_has_no_problem():
    assert chain_problem(BASE, "2", chain("1", "2"), [("1", US), ("2", US)]) is None
    assert chain_problem(BASE, BASE, [], []) is None


@pytest.mark.parametrize(
    ("commits", "problem"),
    [
        (chain("1"), "There are 1 commits where 2 were expected."),
        (chain("1", "3"), "The commit 3 has another message than its entry."),
        (chain("1", "2")[::-1], "The commit 2 does not follow"),
        ([chain("1")[0], Commit("2", ("1", BASE), (US, US), "2")], "The commit 2 does not follow 1 alone."),
        ([chain("1")[0], Commit("2", (), (US, US), "2")], "The commit 2 does not follow 1 alone."),
        ([chain("1")[0], Commit("2", ("1",), (US, Author("Eve")), "2")], "The commit 2 is by somebody else"),
    ],
)
def test_a_chain_with_anything_else_is_told(commits: list[Commit], problem: str):
    told = chain_problem(BASE, "2", commits, [("1", US), ("2", US)])
    assert told is not None
    assert told.startswith(problem)


def test_a_tip_elsewhere_is_told():
    assert chain_problem(BASE, "3", chain("1"), [("1", US)]) == "The highest commit is 1, not 3."
