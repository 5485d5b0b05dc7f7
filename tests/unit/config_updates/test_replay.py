from __future__ import annotations

import pytest

from tidegate.config_updates.rules.replay import Author, Commit, chain_problem

US = Author()
BASE = "b" * 40


def chain(*names: str) -> list[Commit]:
    """Commits of ours on the base, each with its name as its message."""
    return [Commit(name, (below,), (US, US), f"{name}\n") for below, name in zip((BASE, *names), names, strict=False)]


def test_a_chain_of_the_expected_commits_has_no_problem():
    assert chain_problem(BASE, chain("1", "2"), [("1", "1"), ("2", "2")], US) is None
    assert chain_problem(BASE, [], [], US) is None


@pytest.mark.parametrize(
    ("commits", "problem"),
    [
        (chain("1"), "There are 1 commits where 2 were expected."),
        (chain("1", "3"), "There is the commit 3 where 2 was expected."),
        (chain("1", "2")[::-1], "There is the commit 2 where 1 was expected."),
        ([chain("1")[0], Commit("2", ("1",), (US, US), "3")], "The commit 2 has a different message than its entry."),
        ([chain("1")[0], Commit("2", ("1", BASE), (US, US), "2")], "The commit 2 does not follow 1 alone."),
        ([chain("1")[0], Commit("2", (), (US, US), "2")], "The commit 2 does not follow 1 alone."),
        ([chain("1")[0], Commit("2", ("1",), (US, Author("Eve")), "2")], "The commit 2 was not made by"),
    ],
)
def test_a_chain_with_anything_else_is_told(commits: list[Commit], problem: str):
    told = chain_problem(BASE, commits, [("1", "1"), ("2", "2")], US)
    assert told is not None
    assert told.startswith(problem)
