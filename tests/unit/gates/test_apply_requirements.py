"""What is missing before an apply: judged on the pull requests that what is applied came with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, amended, any_deployment, any_pull_request, any_review, seen, sha
from tests.fakes import MemoryForge, MemoryPullRequests
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval, Override
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Change
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict
from tidegate.vcs.rules.push import Pushed

BEFORE, HEAD, MERGED = sha(2), sha(3), sha(4)
TWO = Requirements(approvals=2, any_of=("team:sre",))
ROLES = dict.fromkeys(("ann", "ben", "eve", "author", "maintainer"), Permission.WRITE)
PULL = PullRequest(5, HEAD, "feature", "main", "author", False, False, merged=True)
AUTHORS = Authors(("author",))


@pytest.fixture
def forge():
    merged = replace(seen(any_pull_request(5)), is_open=False, merged=True, merge_sha=MERGED)
    return MemoryForge(
        roles=ROLES,
        teams={"acme/sre": {"ann", "ben", "author", "maintainer"}},
        changes={
            (BEFORE, MERGED): Change(BEFORE, AUTHORS, commits=(HEAD, MERGED)),
            (BEFORE, HEAD): Change(BEFORE, AUTHORS, commits=(HEAD,)),
        },
        seen={5: merged},
        pull_requests={5: PULL},
        came_with={MERGED: (5,), HEAD: (5,)},
    )


def merge(*requires, **fields):
    """Return the deployment of the merge of pull request 5."""
    fields = {"pushed": (Pushed(BEFORE, MERGED, "main"),), "authors": ("author",), **fields}
    return any_deployment(4, requires=requires, **fields)


def approve(forge, *logins, head=HEAD, number=5):
    verdict = ReviewVerdict.APPROVED
    forge.reviewed.setdefault(number, []).extend(PullRequestReview(login, verdict, head, NOW) for login in logins)


def missing(forge, deployment):
    records = MemoryPullRequests()
    for each in forge.seen.values():
        records.save(PullRequestRecord(each.spec))
    return missing_requirements(memory_ports(forge=forge, pull_requests=records), deployment).sentences


def here(*logins):
    return tuple(Approval(login, NOW) for login in logins)


def test_a_merge_lacks_the_approvals_that_its_pull_request_lacked(forge):
    (told,) = missing(forge, merge(TWO))
    assert told.startswith("#5: 2 approvals")
    approve(forge, "ann")
    assert "there is 1 (by `ann`)" in missing(forge, merge(TWO))[0]
    approve(forge, "ben")
    assert missing(forge, merge(TWO)) == ()


@pytest.mark.parametrize(("login", "head"), [("author", HEAD), ("eve", HEAD), ("ben", sha(9))])
def test_the_author_outsiders_and_approvals_of_another_head_do_not_count(forge, login, head):
    approve(forge, "ann")
    approve(forge, login, head=head)
    assert missing(forge, merge(TWO))


def test_what_asks_for_nothing_costs_no_call(forge):
    forge.failures.append(ForgeUnavailable("asked"))
    for each in (merge(), merge(Requirements()), merge(TWO, forced=True), merge(TWO, override=Override("o", NOW, "r"))):
        assert missing(forge, each) == ()


def test_a_root_that_no_check_matches_waits(forge):
    (told,) = missing(forge, merge(unmatched=True))
    assert "No check of `apply_requirements` matches" in told


def test_conflicts_and_a_moved_base_are_settled_by_the_merge_and_failed_checks_are_not(forge):
    wanted = Requirements(mergeable=True, undiverged=True, checks=True)
    assert missing(forge, merge(wanted)) == ()
    forge.pull_requests[5] = replace(PULL, failing_checks=("build",))
    assert "`build`" in missing(forge, merge(wanted))[0]


def test_approvals_here_count_beside_those_of_the_pull_request_but_not_its_authors(forge):
    approve(forge, "ann")
    assert missing(forge, merge(TWO, approved_here=here("author")))
    assert missing(forge, merge(TWO, approved_here=here("Ann")))
    assert missing(forge, merge(TWO, approved_here=here("ben"))) == ()


def test_who_approved_the_plan_approved_it(forge):
    approve(forge, "ann")
    assert missing(forge, merge(TWO, review=any_review(approved=True, approvals=here("ben")))) == ()


def test_a_commit_that_came_with_no_pull_request_meets_no_requirement(forge):
    forge.came_with = {MERGED: (), HEAD: ()}
    (told,) = missing(forge, merge(Requirements(mergeable=True)))
    assert told == "Commit `0000000`, `0000000` was pushed directly, so it cannot meet the requirements."
    told = missing(forge, merge(replace(TWO, checks=True, all_of=("user:ben",))))
    assert len(told) == 3
    assert "2 approvals by people among" in told[0]


def test_only_others_than_who_made_and_pushed_it_can_vouch_for_such_a_commit(forge):
    forge.came_with = {MERGED: (), HEAD: ()}
    wanted = Requirements(approvals=1)
    assert missing(forge, merge(wanted, approved_here=here("author", "maintainer")))
    assert missing(forge, merge(wanted, approved_here=here("ann"))) == ()
    assert missing(forge, merge(wanted, approved_here=here("ann"), authors_known=False))
    assert missing(forge, merge(wanted, approved_here=here("ann", "ben"), authors_known=False)) == ()


def test_each_commit_of_a_push_must_come_with_a_pull_request(forge):
    stray = sha(7)
    forge.changes[BEFORE, MERGED] = Change(BEFORE, AUTHORS, commits=(stray, HEAD, MERGED))
    forge.came_with[stray] = ()
    approve(forge, "ann", "ben")
    (told,) = missing(forge, merge(TWO))
    assert "was pushed directly" in told


def test_all_pull_requests_of_a_push_are_judged_and_each_is_read_once(forge):
    other = replace(seen(any_pull_request(6, head_sha=sha(8))), is_open=False, merged=True)
    forge.seen[6], forge.pull_requests[6] = other, replace(PULL, number=6, head_sha=sha(8))
    forge.changes[BEFORE, MERGED] = Change(BEFORE, AUTHORS, commits=(HEAD, sha(8), MERGED))
    forge.changes[BEFORE, sha(8)] = Change(BEFORE, AUTHORS, commits=(sha(8),))
    forge.came_with[sha(8)] = (6,)
    approve(forge, "ann", "ben")
    (told,) = missing(forge, merge(TWO))
    assert told.startswith("#6: ")


def test_a_pull_request_that_is_open_or_went_to_another_branch_brought_nothing(forge):
    approve(forge, "ann", "ben")
    for other in (
        seen(any_pull_request(5)),
        replace(seen(any_pull_request(5, base="next")), is_open=False, merged=True),
    ):
        forge.seen[5] = other
        assert "was pushed directly" in missing(forge, merge(TWO))[0]


@pytest.mark.parametrize("before", ["", "0" * 40, sha(6)])
def test_where_it_is_not_known_what_a_push_brought_something_is_missing(forge, before):
    approve(forge, "ann", "ben")
    told = missing(forge, merge(TWO, pushed=(Pushed(before, MERGED, "main"),)))
    assert "The origin of some commits is unknown" in told[-1]
    assert missing(forge, merge(TWO, pushed=()))


def test_what_a_merge_holds_besides_its_pull_request_is_vouched_for_by_people_here(forge):
    approve(forge, "ann", "ben")
    altered = merge(TWO, pushed=(Pushed(BEFORE, MERGED, "main", (MERGED,)),))
    assert "changes more than the branch that it merged" in missing(forge, altered)[0]
    assert missing(forge, merge(TWO)) == ()


def test_of_very_many_commits_not_all_are_looked_at(forge):
    many = tuple(sha(100 + number) for number in range(60))
    forge.changes[BEFORE, MERGED] = Change(BEFORE, AUTHORS, commits=many)
    forge.came_with |= dict.fromkeys(many, (5,))
    approve(forge, "ann", "ben")
    assert "The origin of some commits is unknown" in missing(forge, merge(TWO))[0]
    forge.changes[BEFORE, MERGED] = Change(BEFORE, AUTHORS, commits=None)
    assert "The origin of some commits is unknown" in missing(forge, merge(TWO))[0]


def test_a_commit_that_is_deployed_again_is_judged_on_its_own_pull_request(forge):
    approve(forge, "ann", "ben")
    assert missing(forge, merge(TWO, pushed=(Pushed(MERGED, MERGED, "main"),))) == ()


def test_the_head_of_a_pull_request_is_judged_on_its_approvals_alone(forge):
    head = amended(any_deployment(3), trigger=Trigger.MANUAL, pull_request=5, requires=(TWO,))
    forge.pull_requests[5] = replace(PULL, is_open=True, merged=False, failing_checks=("build",), head_sha=sha(9))
    wanted = replace(head, settings=replace(head.settings, requires=(replace(TWO, checks=True),)))
    assert missing(forge, wanted)
    approve(forge, "ann", "ben")
    assert missing(forge, wanted) == ()


def test_what_the_forge_refuses_to_tell_is_missing_and_what_it_cannot_tell_now_is_asked_again(forge):
    forge.failures.append(ForgeRefused(403, "no"))
    assert "could not be checked" in missing(forge, merge(TWO, approved_here=here("ann")))[0]
    forge.came_with.clear()
    assert "could not be checked" in missing(forge, merge(TWO))[0]
    forge.failures.append(ForgeUnavailable("down"))
    with pytest.raises(ForgeUnavailable):
        missing(forge, merge(TWO))


def test_what_was_withdrawn_while_it_waits_is_not_applied_whatever_is_there(forge):
    approve(forge, "ann", "ben")
    withdrawn = merge(TWO, withdrawn="#5 was closed.", state=State.AWAITING_REQUIREMENTS)
    assert missing(forge, withdrawn) == ("#5 was closed.",)


def test_what_destroys_is_approved_here_whatever_brought_its_files(forge):
    approve(forge, "ann", "ben")
    one = merge(TWO, destroy=Destruction("last"), pushed=(), trigger=Trigger.MANUAL)
    assert missing(forge, one)
    assert missing(forge, amended(one, approved_here=here("ann", "ben"))) == ()
