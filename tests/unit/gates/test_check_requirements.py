"""What the forge is asked to know whether a pull request fulfils its requirements, and what follows."""

from __future__ import annotations

import pytest

from tests.builders import any_pull_request, sha
from tests.fakes import MemoryForge, MemoryPullRequests
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tests.unit.comments.events_scenario import AT, BASE, HEAD, NUMBER, PULL, REPOSITORY
from tidegate.gates.check_requirements import RequirementsChecker
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict
from tidegate.vcs.rules.pushers import HeadPush

AFTER_BASE = sha(8)
ROLES = {"writer": Permission.WRITE, "reader": Permission.READ, "admin": Permission.ADMIN}


@pytest.fixture
def forge():
    teams = {"acme/sre": {"reader", "writer", "stranger"}, "acme/dba": {"writer"}}
    return MemoryForge(roles=ROLES, teams=teams, changes={(PULL.base_branch, HEAD): Change(BASE, Authors(("author",)))})


def approve(forge, *logins, verdict=ReviewVerdict.APPROVED):
    forge.reviewed.setdefault(NUMBER, []).extend(PullRequestReview(login, verdict, HEAD, AT) for login in logins)


def opened(**fields):
    """Return records that know of the pull request, and who pushed its head."""
    records = MemoryPullRequests()
    records.save(PullRequestRecord(any_pull_request(repository=REPOSITORY, number=NUMBER, head_sha=HEAD, **fields)))
    return records


def checker(forge, records, **how):
    return RequirementsChecker(memory_ports(forge=forge, pull_requests=records), **how)


def missing(forge, *wanted, records=None):
    required = {("net", "prod"): wanted}
    return checker(forge, records or opened()).by_root(REPOSITORY, PULL, required)


@pytest.mark.parametrize(
    ("approving", "is_enough"),
    [
        (["writer", "reader"], True),
        (["writer", "admin"], False),
        (["writer", "stranger"], False),
        (["writer"], False),
    ],
)
def test_members_of_the_team_count_if_they_can_read_the_repository(forge, approving, is_enough):
    approve(forge, *approving)
    told = missing(forge, Requirements(approvals=2, any_of=("team:sre", "team:dba")))
    assert (not told) is is_enough


def test_where_nothing_depends_on_people_the_forge_is_asked_for_none(forge):
    approve(forge, "writer")
    assert missing(forge, Requirements(mergeable=True)) == ()
    assert forge.people_asked == forge.teams_asked == []


def test_only_teams_that_count_and_people_who_approve_are_asked_about_each_once(forge):
    approve(forge, "writer")
    approve(forge, "reader", verdict=ReviewVerdict.CHANGES_REQUESTED)
    one, other = Requirements(approvals=1, any_of=("team:sre",)), Requirements(all_of=("team:sre",))
    assert missing(forge, one, other, Requirements(any_of=("team:dba",))) == ()
    assert (forge.people_asked, forge.teams_asked) == (["writer"], [("acme/sre", "writer")])


def test_what_is_required_of_every_root_is_told_without_their_names(forge):
    (told,) = checker(forge, opened()).for_all(REPOSITORY, PULL, Requirements(approvals=1))
    assert told.startswith("1 approval of the current head")


def test_a_root_without_a_matching_check_lacks_one(forge):
    (told,) = checker(forge, opened()).by_root(REPOSITORY, PULL, {("net", "default"): None})
    assert "`net`: No check of `apply_requirements` matches" in told


@pytest.mark.parametrize(
    ("relation", "is_current"),
    [
        (Comparison.AHEAD, True),
        (Comparison.IDENTICAL, True),
        (Comparison.DIVERGED, False),
        (Comparison.BEHIND, False),
    ],
)
def test_the_head_is_compared_with_its_base_branch_only_where_that_is_required(forge, relation, is_current):
    forge.branches["main"], forge.comparison = "1" * 40, relation
    assert checker(forge, opened()).for_all(REPOSITORY, PULL, Requirements()) == ()
    assert forge.compared == []
    assert (checker(forge, opened()).for_all(REPOSITORY, PULL, Requirements(undiverged=True)) == ()) is is_current
    assert (missing(forge, Requirements(undiverged=True)) == ()) is is_current
    assert forge.compared == [("1" * 40, HEAD)] * 2


@pytest.mark.parametrize("change", [Change(BASE, Authors(("Writer",))), Change(BASE, Authors(), Authors(("writer",)))])
def test_who_made_or_committed_a_commit_of_it_does_not_approve_it(forge, change):
    approve(forge, "writer")
    forge.changes[PULL.base_branch, HEAD] = change
    (told,) = missing(forge, Requirements(approvals=1))
    assert "made or pushed one of the commits" in told
    approve(forge, "admin")
    assert missing(forge, Requirements(approvals=1)) == ()


@pytest.mark.parametrize("change", [None, Change(BASE, Authors(), Authors(known=False))])
def test_one_more_must_approve_where_it_is_not_known_who_made_all_commits(forge, change):
    forge.changes = {(PULL.base_branch, HEAD): change} if change else {}
    approve(forge, "writer")
    (told,) = missing(forge, Requirements(approvals=1))
    assert "2 approvals by different people" not in told
    assert "2 approvals of the current head" in told
    assert "the authors and pushers of all of its commits" in told
    approve(forge, "admin")
    assert missing(forge, Requirements(approvals=1)) == ()
    assert missing(forge, Requirements(all_of=("user:writer",))) == ()


@pytest.mark.parametrize(
    ("base", "since", "counts"),
    [
        (PULL.base_branch, None, True),
        (PULL.base_branch, AT, True),
        (PULL.base_branch, utc("2100-01-01"), False),
        ("release", None, False),
    ],
)
def test_an_approval_is_of_the_base_branch_that_the_pull_request_went_to_then(forge, base, since, counts):
    records = opened(base=base, base_since=since)
    approve(forge, "writer")
    required = {("net", "prod"): (Requirements(approvals=1),)}
    told = checker(forge, records).by_root(REPOSITORY, PULL, required)
    assert (not told) is counts
    assert checker(forge, records, merged=False).by_root(REPOSITORY, PULL, required) == ()


@pytest.mark.parametrize("pushes", [(), (HeadPush("", BASE, "author"), HeadPush(AFTER_BASE, HEAD, "author"))])
def test_one_more_must_approve_where_it_is_not_known_who_pushed(forge, pushes):
    approve(forge, "writer")
    (told,) = missing(forge, Requirements(approvals=1), records=opened(pushes=pushes))
    assert "2 approvals of the current head" in told
    approve(forge, "admin")
    assert missing(forge, Requirements(approvals=1), records=opened(pushes=pushes)) == ()


def test_who_pushed_somebody_elses_commit_does_not_approve_it(forge):
    pushes = HeadPush("", BASE, "author"), HeadPush(BASE, HEAD, "Writer")
    approve(forge, "writer")
    assert "there are none" in missing(forge, Requirements(approvals=1), records=opened(pushes=pushes))[0]
    approve(forge, "admin")
    assert missing(forge, Requirements(approvals=1), records=opened(pushes=pushes)) == ()
