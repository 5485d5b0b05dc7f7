"""A merge that holds more than its pull request and its branch is no pull request's: nobody reviewed it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, seen, sha
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports
from tests.unit.discovery.trees import Trees, merged
from tidegate.ports import Change
from tidegate.pushes.check_merges import check_merges
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.push import Pushed

BEFORE, HEAD, MERGE, OTHER, SECOND = (sha(number) for number in (1, 2, 3, 4, 5))
FILES = {"app/main.tf": "", "db/main.tf": ""}
CHANGED = {**FILES, "app/main.tf": "# new"}
BOTH = {**CHANGED, "db/main.tf": "# new"}


class Scenario:
    """A push from BEFORE to MERGE, by which the head of pull request 5 was merged; ``trees`` are files of commits."""

    def __init__(self):
        self.trees = {BEFORE: FILES, HEAD: CHANGED, MERGE: CHANGED}
        self.forge = MemoryForge(main="main")
        self.pull(5, HEAD, MERGE)
        self.came(BEFORE, HEAD, HEAD)
        self.came(BEFORE, MERGE, HEAD, MERGE)
        self.forge.came_with = {HEAD: (5,), MERGE: (5,)}

    def pull(self, number, head, merge_sha, *, is_merged=True, base="main"):
        found = seen(replace(seen().spec, number=number, head_sha=head, base=base), is_open=False, merged=is_merged)
        self.forge.seen[number] = replace(found, merge_sha=merge_sha)

    def came(self, before, after, *commits):
        self.forge.changes[before, after] = Change(BEFORE, Authors(), commits=commits)

    @contextmanager
    def fetch(self, _url, _token, before, after):
        if after not in self.trees:
            raise NotFound("commit", after)
        yield Trees(self.trees[before], self.trees[after])

    @contextmanager
    def merge(self, _url, _token, base, head, common):
        if head not in self.trees:
            raise NotFound("commit", head)
        yield merged(self.trees[base], self.trees[head], self.trees[common], {})

    def altered(self, before=BEFORE, after=MERGE):
        push = Pushed(before, after, "main")
        return check_merges(memory_ports(forge=self.forge, history=self), REPOSITORY, push).altered


@pytest.fixture
def scenario():
    return Scenario()


def test_a_merge_as_git_makes_it_holds_nothing_else(scenario):
    assert scenario.altered() == ()


@pytest.mark.parametrize(
    "held",
    [{**CHANGED, "db/main.tf": "# evil"}, {**CHANGED, "more/main.tf": ""}, FILES],
    ids=["changed", "new", "less"],
)
def test_a_merge_that_holds_something_else_is_told(scenario, held):
    scenario.trees[MERGE] = held
    assert scenario.altered() == (MERGE,)


def test_a_conflict_that_somebody_resolved_in_the_merge_is_something_else(scenario):
    scenario.trees |= {OTHER: {**FILES, "app/main.tf": "# theirs"}, MERGE: CHANGED}
    scenario.came(OTHER, MERGE, MERGE)
    scenario.came(OTHER, HEAD, HEAD)
    assert scenario.altered(before=OTHER) == (MERGE,)


def test_a_head_that_nobody_has_any_more_cannot_be_merged_again(scenario):
    del scenario.trees[HEAD]
    assert scenario.altered() == (MERGE,)


def test_a_head_that_became_the_branch_is_what_was_reviewed(scenario):
    scenario.pull(5, HEAD, HEAD)
    scenario.trees[HEAD] = BOTH
    assert scenario.altered(after=HEAD) == ()


def test_each_merge_of_several_is_made_upon_the_one_before(scenario):
    scenario.trees |= {OTHER: {**FILES, "db/main.tf": "# new"}, SECOND: BOTH}
    scenario.pull(6, OTHER, SECOND)
    scenario.came(BEFORE, SECOND, HEAD, MERGE, OTHER, SECOND)
    scenario.came(BEFORE, OTHER, OTHER)
    scenario.came(MERGE, OTHER, OTHER)
    scenario.forge.came_with |= {OTHER: (6,), SECOND: (6,)}
    assert scenario.altered(after=SECOND) == ()
    scenario.trees[MERGE] = {**CHANGED, "db/main.tf": "# evil"}
    assert MERGE in scenario.altered(after=SECOND)


def test_commits_that_were_rebased_are_those_of_one_merge(scenario):
    scenario.came(BEFORE, MERGE, OTHER, MERGE)
    scenario.forge.came_with |= {OTHER: (5,)}
    scenario.trees[OTHER] = FILES
    assert scenario.altered() == ()


@pytest.mark.parametrize("fields", [{"is_merged": False}, {"base": "release"}], ids=["open", "another branch"])
def test_what_was_not_merged_here_is_looked_at_by_nobody(scenario, fields):
    scenario.pull(5, HEAD, MERGE, **fields)
    scenario.trees[MERGE] = BOTH
    assert scenario.altered() == ()


@pytest.mark.parametrize("before", ["0" * 40, OTHER], ids=["a new branch", "gone"])
def test_where_the_commits_are_not_known_the_requirements_say_so(scenario, before):
    assert scenario.altered(before=before) == ()


def test_of_very_many_commits_so_many_are_asked_for(scenario):
    many = [sha(number) for number in range(100, 200)]
    scenario.came(BEFORE, sha(199), *many)
    scenario.forge.came_with |= dict.fromkeys(many, ())
    assert scenario.altered(after=sha(199)) == ()
