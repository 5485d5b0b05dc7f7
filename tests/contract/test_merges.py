"""What merging a pull request does on every forge, and in the fake that stands in for one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.builders import any_pull_request
from tests.contract.forges import KINDS, Tried
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.pushes.check_merges import check_merges
from tidegate.rules.errors import ForgeRefused
from tidegate.vcs.git.trees import GitSource
from tidegate.vcs.rules.pull_request import MergeMethod, SeenPullRequest
from tidegate.vcs.rules.push import Pushed

AT = utc("2026-03-02T08:00")


@dataclass
class OnForge:
    """A pull request of a branch that changes ``network`` in a commit more than one."""

    tried: Tried

    def __post_init__(self):
        self.head, self.number = self.tried.made

    @property
    def forge(self) -> Any:
        return self.tried.forge

    @property
    def repository(self) -> str:
        return self.tried.repository

    def move_head(self) -> None:
        self.tried.person("developer").push(self.repository, {"x.tf": "# x\n"}, "More", branch="feature")

    def conflict(self) -> None:
        self.tried.push({"network/main.tf": "# three\n"})

    def protect(self) -> None:
        if self.tried.is_gitlab:
            self.tried.person().require_approvals(self.repository, 1)
        else:
            self.tried.person().protect(self.repository, approvals=1)

    def draft(self) -> None:
        self.tried.draft(self.number, is_draft=True)


def with_a_pull_request(scenario):
    scenario.push({"network/main.tf": "# one\n"})
    scenario.push({"network/main.tf": "# two\n"}, "feature", by="developer")
    head = scenario.push({"network/more.tf": "# two\n"}, "feature", by="developer")
    return head, scenario.open("feature")


@dataclass
class InMemory:
    """The same in a fake: what stands in the way is what a test says."""

    def __post_init__(self):
        spec = any_pull_request()
        self.forge, self.repository, self.number, self.head = MemoryForge(), spec.repository, spec.number, spec.head_sha
        self.forge.seen[self.number] = SeenPullRequest(spec, True, False, AT)

    def move_head(self) -> None:
        seen = self.forge.seen[self.number]
        self.forge.seen[self.number] = replace(seen, spec=replace(seen.spec, head_sha="e" * 40))

    def conflict(self) -> None:
        self.forge.unmergeable = ForgeRefused(405, "Pull Request is not mergeable")

    protect = draft = conflict


class Merging(GitSource):
    """A source that knows what it has merged."""

    def __init__(self):
        super().__init__(protocols=("http",))
        self.merged = []

    def merge(self, url, token, base, head, common):
        self.merged.append((base, head))
        return super().merge(url, token, base, head, common)


@pytest.fixture(params=[*KINDS, "memory"])
def pull(request, tmp_path, forges):
    if request.param == "memory":
        yield InMemory()
        return
    with forges.tried(request.param, tmp_path, with_a_pull_request) as scenario:
        yield OnForge(scenario)


@pytest.fixture(params=KINDS)
def real(request, tmp_path, forges):
    with forges.tried(request.param, tmp_path, with_a_pull_request) as scenario:
        yield OnForge(scenario)


def merge(pull, sha=None, method=MergeMethod.MERGE):
    pull.forge.merge_pull_request(pull.repository, pull.number, sha or pull.head, method)


def state(pull):
    seen = pull.forge.seen_pull_request(pull.repository, pull.number)
    return "merged" if seen.merged else "open" if seen.is_open else "closed"


def refused(pull, **arguments):
    with pytest.raises(ForgeRefused) as refusal:
        merge(pull, **arguments)
    return refusal.value


@pytest.mark.parametrize("method", MergeMethod)
def test_the_commit_that_a_merge_brought_to_the_branch_is_told(real, method):
    def told():
        return real.forge.seen_pull_request(real.repository, real.number).merge_sha

    assert told() == ""
    merge(real, method=method)
    assert told() == real.forge.branch_head(real.repository, "main")


@pytest.mark.parametrize("method", MergeMethod)
def test_a_pull_request_is_merged_at_the_head_that_is_named(pull, method):
    merge(pull, method=method)
    assert state(pull) == "merged"


@pytest.mark.parametrize("method", MergeMethod)
def test_what_a_forge_merges_is_what_git_makes_of_it_upon_a_branch_that_moved_on(real, method):
    before = real.tried.push({"other.tf": "# moved on\n"})
    merge(real, method=method)
    push = Pushed(before, real.forge.branch_head(real.repository, "main"), "main")
    source = Merging()
    assert check_merges(memory_ports(forge=real.forge, history=source), real.repository, push).altered == ()
    assert source.merged == [(before, real.head)]


def test_who_asks_for_a_pull_request_is_told_whether_it_is_merged(real):
    def told():
        one = real.forge.pull_request(real.repository, real.number)
        return one.is_open, one.merged

    assert told() == (True, False)
    merge(real)
    assert told() == (False, True)


def test_a_head_that_moved_on_is_not_merged(pull):
    pull.move_head()
    refused(pull)
    assert state(pull) == "open"


def test_what_is_in_conflict_is_not_merged(pull):
    pull.conflict()
    assert refused(pull).problem
    assert state(pull) == "open"


def test_what_is_merged_already_is_refused_and_stays_merged(pull):
    merge(pull)
    refused(pull)
    assert state(pull) == "merged"


def test_a_branch_that_needs_approvals_is_not_merged_into_without_them(pull):
    pull.protect()
    assert refused(pull).problem
    assert state(pull) == "open"


def test_a_draft_is_not_merged(pull):
    pull.draft()
    refused(pull)
    assert state(pull) == "open"


def test_a_refusal_says_what_is_in_the_way(real):
    real.protect()
    assert "approv" in refused(real).problem.lower()


def test_what_was_in_the_way_may_be_done_and_then_it_is_merged(real):
    real.protect()
    refused(real)
    real.tried.approve(real.number)
    merge(real)
    assert state(real) == "merged"


@pytest.mark.parametrize(("method", "squashed"), [(MergeMethod.MERGE, False), (MergeMethod.SQUASH, True)])
def test_a_squash_makes_one_commit_of_all(real, method, squashed):
    merge(real, method=method)
    new = real.forge.change(real.repository, real.head, "main")
    is_contained = new.after == real.head
    assert is_contained is not squashed
