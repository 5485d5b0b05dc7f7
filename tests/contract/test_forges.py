"""What every adapter of the port ``Forge`` does, on GitHub and on GitLab alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from tests.contract.forges import KINDS, shown
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.pull_request import ReviewVerdict

MISSING, MARKER = "d" * 40, "<!-- ours"


def with_base(scenario):
    base = scenario.push({"network/main.tf": "# one\n"})
    return {"base": base}


def with_head(scenario):
    return {**with_base(scenario), "head": scenario.push({"network/main.tf": "# two\n"}, "feature", by="developer")}


def with_number(scenario):
    return {**with_head(scenario), "number": scenario.open("feature")}


@pytest.fixture(params=KINDS)
def scenario(request, tmp_path, forges):
    needed = {"number": with_number, "head": with_head, "base": with_base}
    prepare = next((needed[name] for name in needed if name in request.fixturenames), None)
    with forges.tried(request.param, tmp_path, prepare) as scenario:
        yield scenario


@pytest.fixture
def base(scenario):
    """Return the first commit of ``main``; from then on the App is installed."""
    return scenario.made["base"]


@pytest.fixture
def head(scenario, base):
    return scenario.made["head"]


@pytest.fixture
def number(scenario, head):
    return scenario.made["number"]


def test_commits_are_compared_and_missing_ones_told_apart(scenario, base, head):
    compare = scenario.forge.compare
    assert compare(scenario.repository, base, head) is Comparison.AHEAD
    assert compare(scenario.repository, head, base) is Comparison.BEHIND
    assert compare(scenario.repository, head, head) is Comparison.IDENTICAL
    assert compare(scenario.repository, base, "main") is Comparison.IDENTICAL
    assert compare(scenario.repository, MISSING, head) is Comparison.BASE_MISSING
    assert compare(scenario.repository, head, MISSING) is Comparison.HEAD_MISSING
    other = scenario.push({"db/main.tf": "# three\n"})
    assert compare(scenario.repository, other, head) is Comparison.DIVERGED


def test_branches_are_where_they_are(scenario, base, head):
    assert scenario.forge.default_branch(scenario.repository) == "main"
    assert scenario.forge.branch_head(scenario.repository, "main") == base
    assert scenario.forge.branch_head(scenario.repository, "feature") == head
    with pytest.raises(NotFound):
        scenario.forge.branch_head(scenario.repository, "none")


def test_a_branch_with_a_slash_is_a_branch(scenario, base):
    head = scenario.push({"x.tf": "# x\n"}, "people/dev#1 me".replace(" ", "-"))
    assert scenario.forge.branch_head(scenario.repository, "people/dev#1-me") == head
    assert scenario.forge.change(scenario.repository, "main", "people/dev#1-me").after == base


def test_a_change_tells_who_made_and_who_committed_its_commits(scenario, base, head):
    scenario.push({"network/main.tf": "# three\n"}, "feature", by="reviewer")
    change = scenario.forge.change(scenario.repository, "main", "feature")
    # GitLab tells who somebody is by addresses that people publish, or by those that it gives out itself.
    assert set(change.authors.logins) == set(change.committers.logins) == {"developer", "reviewer"}
    assert change.authors.known
    assert change.committers.known
    assert set(scenario.forge.change(scenario.repository, "main", head).committers.logins) == {"developer"}


def test_who_made_all_that_a_commit_has_is_told_from_the_first_on(scenario, base, head):
    newest = scenario.push({"network/main.tf": "# three\n"}, "feature", by="reviewer")
    made = scenario.forge.authors(scenario.repository, newest)
    assert (set(made.logins), made.known) == ({"maintainer", "developer", "reviewer"}, True)
    with pytest.raises(NotFound):
        scenario.forge.authors(scenario.repository, MISSING)


def test_a_change_begins_where_the_branches_part(scenario, base, head):
    assert scenario.forge.change(scenario.repository, base, head).fork_sha == base
    newer = scenario.push({"db/main.tf": "# three\n"})
    assert newer != base
    assert scenario.forge.change(scenario.repository, newer, base).fork_sha == base
    assert scenario.forge.change(scenario.repository, "main", head).after == base
    # GitLab does not tell what else the commits of both come after.
    assert scenario.forge.change(scenario.repository, newer, head).forks_once is not scenario.is_gitlab
    with pytest.raises(NotFound):
        scenario.forge.change(scenario.repository, "main", MISSING)


def test_a_pull_request_is_seen_as_it_is(scenario, base, head, number):
    seen = scenario.forge.seen_pull_request(scenario.repository, number)
    spec = seen.spec
    assert (seen.is_open, seen.merged) == (True, False)
    assert (spec.repository, spec.number) == (scenario.repository, number)
    assert (spec.branch, spec.base, spec.head_sha, spec.base_sha) == ("feature", "main", head, base)
    assert (spec.author, spec.title, spec.is_draft, spec.from_fork) == ("developer", "A change", False, False)
    assert seen.opened_at.tzinfo is UTC
    with pytest.raises(NotFound):
        scenario.forge.seen_pull_request(scenario.repository, 10**6)


def test_a_draft_a_newer_commit_and_another_base_are_seen(scenario, head, number):
    scenario.draft(number, is_draft=True)
    assert scenario.forge.seen_pull_request(scenario.repository, number).spec.is_draft
    scenario.draft(number, is_draft=False)
    assert not scenario.forge.seen_pull_request(scenario.repository, number).spec.is_draft
    newer = scenario.person("developer").push(scenario.repository, {"x.tf": "# x\n"}, "More", branch="feature")
    assert scenario.forge.seen_pull_request(scenario.repository, number).spec.head_sha == newer
    scenario.push({"y.tf": "# y\n"}, "release")
    scenario.retarget(number, "release")
    assert scenario.forge.seen_pull_request(scenario.repository, number).spec.base == "release"


def test_open_pull_requests_are_listed_by_number(scenario, head, number):
    scenario.push({"y.tf": "# y\n"}, "second")
    other = scenario.open("second")
    listed = scenario.forge.open_pull_requests(scenario.repository)
    assert [each.spec.number for each in listed] == sorted([number, other])
    assert listed[0].spec.head_sha == head
    scenario.close(number)
    assert [each.spec.number for each in scenario.forge.open_pull_requests(scenario.repository)] == [other]
    closed = scenario.forge.seen_pull_request(scenario.repository, number)
    assert (closed.is_open, closed.merged) == (False, False)


def test_a_merge_is_seen_and_told_of_with_its_commit(scenario, number):
    merged = scenario.merge(number)
    seen = scenario.forge.seen_pull_request(scenario.repository, number)
    assert (seen.is_open, seen.merged) == (False, True)
    (found,) = scenario.forge.pull_requests_of(scenario.repository, merged)
    assert (found.spec.number, found.spec.author, found.spec.base, found.merged) == (number, "developer", "main", True)
    with pytest.raises(NotFound):
        scenario.forge.pull_requests_of(scenario.repository, MISSING)


def test_a_commit_and_a_pull_request_tell_what_they_are_and_who_made_them(scenario, head, number):
    told = scenario.forge.headline(scenario.repository, head)
    assert (told.title, told.author) == ("Change", "developer")
    with pytest.raises(NotFound):
        scenario.forge.headline(scenario.repository, MISSING)
    spec = scenario.forge.seen_pull_request(scenario.repository, number).spec
    assert spec.title == "A change"
    assert spec.avatar.startswith(f"{scenario.forge.picture_origin()}/")


def test_a_change_tells_all_of_its_commits(scenario, base, head):
    assert scenario.forge.change(scenario.repository, base, head).commits == (head,)
    assert scenario.forge.change(scenario.repository, head, head).commits == ()


def test_a_commit_that_was_pushed_came_with_no_pull_request(scenario, base):
    pushed = scenario.push({"z.tf": "# z\n"})
    assert scenario.forge.pull_requests_of(scenario.repository, pushed) == []


def test_a_pull_request_is_read_for_what_holds_it_up(scenario, head, number):
    read = scenario.forge.pull_request(scenario.repository, number)
    assert (read.number, read.head_sha, read.head_branch, read.base_branch) == (number, head, "feature", "main")
    assert (read.author, read.is_open, read.from_fork, read.failing_checks) == ("developer", True, False, ())
    scenario.forge.create_check_run(scenario.repository, shown(head))
    assert scenario.forge.pull_request(scenario.repository, number).failing_checks == ()
    with pytest.raises(NotFound):
        scenario.forge.pull_request(scenario.repository, 10**6)


def test_an_approval_is_of_the_head_that_it_was_given_for(scenario, head, number):
    assert list(scenario.forge.reviews(scenario.repository, number)) == []
    scenario.approve(number)
    (review,) = scenario.forge.reviews(scenario.repository, number)
    assert (review.by, review.verdict, review.sha) == ("reviewer", ReviewVerdict.APPROVED, head)
    scenario.person("developer").push(scenario.repository, {"x.tf": "# x\n"}, "More", branch="feature")
    (review,) = scenario.forge.reviews(scenario.repository, number)
    assert review.sha == head


def test_our_comments_are_told_from_those_of_others_and_changed_in_place(scenario, number):
    scenario.say(number, f"{MARKER} -->\nforged")
    first = scenario.forge.comment(scenario.repository, number, f"{MARKER} -->\nfirst")
    scenario.forge.comment(scenario.repository, number, "a reply without it")
    assert scenario.forge.our_comments(scenario.repository, number, MARKER) == {first: f"{MARKER} -->\nfirst"}
    scenario.forge.update_comment(scenario.repository, number, first, f"{MARKER} -->\nsecond")
    assert scenario.forge.our_comments(scenario.repository, number, MARKER) == {first: f"{MARKER} -->\nsecond"}
    with pytest.raises(NotFound):
        scenario.forge.update_comment(scenario.repository, number, 10**9, "text")


def test_reactions_are_put_on_a_comment_as_often_as_one_likes(scenario, number):
    comment = scenario.say(number, "tidegate help")
    for reaction in ("rocket", "rocket", "eyes", "eyes", "confused", "confused"):
        scenario.forge.react(scenario.repository, number, comment, reaction)


def test_people_may_do_what_the_forge_lets_them(scenario, base):
    may = {
        name: scenario.forge.permission(scenario.repository, name)
        for name in ("maintainer", "visitor", "nobody-at-all")
    }
    assert may["maintainer"] is Permission.ADMIN
    assert may["visitor"] is Permission.READ
    assert may["nobody-at-all"] is Permission.NONE
    assert scenario.forge.permission(scenario.repository, "developer") >= Permission.WRITE


def test_who_is_in_a_team_is_told(scenario, base):
    members = {
        name: scenario.forge.is_team_member(scenario.repository, "platform", name) for name in ("reviewer", "visitor")
    }
    assert members == {"reviewer": True, "visitor": False}
    assert scenario.forge.is_team_member(scenario.repository, "none", "reviewer") is False


def test_a_check_run_is_found_again_by_its_external_id(scenario, head):
    made = scenario.forge.create_check_run(scenario.repository, shown(head))
    assert made > 0
    assert scenario.forge.find_check_run(scenario.repository, head, "network-1") == made
    assert scenario.forge.find_check_run(scenario.repository, head, "network-2") is None
    assert scenario.forge.commit_check_runs(scenario.repository, head) == {made: "network-1"}


def test_a_check_run_is_told_again_what_it_says_already(scenario, head):
    made = scenario.forge.create_check_run(scenario.repository, shown(head, status="queued", title="Queued"))
    for title in ("Queued", "2nd in line"):
        scenario.forge.update_check_run(scenario.repository, made, shown(head, status="queued", title=title))
    for title in ("Planning", "Planning on"):
        scenario.forge.update_check_run(scenario.repository, made, shown(head, title=title))
    assert scenario.forge.find_check_run(scenario.repository, head, "network-1") == made


def test_a_check_run_takes_every_conclusion(scenario, head):
    for conclusion in Conclusion:
        begun = shown(head, external_id=f"network-{conclusion}", name=conclusion)
        made = scenario.forge.create_check_run(scenario.repository, begun)
        ended = replace(begun, status="completed", conclusion=conclusion)
        scenario.forge.update_check_run(scenario.repository, made, ended)
        assert scenario.forge.find_check_run(scenario.repository, head, begun.external_id) == made, conclusion


def test_check_runs_of_several_names_stand_side_by_side(scenario, head):
    made = [
        scenario.forge.create_check_run(scenario.repository, shown(head, external_id=f"{name}-1", name=name))
        for name in ("network", "db")
    ]
    assert scenario.forge.commit_check_runs(scenario.repository, head) == dict(
        zip(made, ("network-1", "db-1"), strict=True)
    )


def test_a_clone_token_reads_the_repository(scenario, base):
    assert scenario.forge.clone_token(scenario.repository)
    assert scenario.forge.clone_url(scenario.repository) == f"{scenario.server.url}/{scenario.repository}.git"


def test_what_a_merge_deploys_is_told_where_people_look(scenario, number):
    merged = scenario.merge(number)
    for name, title in (("network", "Planning"), ("db", "Planning")):
        scenario.forge.create_check_run(scenario.repository, shown(merged, title, external_id=f"{name}-1", name=name))
    done = shown(merged, "Applied: 1 added", "completed", Conclusion.SUCCESS)
    found = scenario.forge.find_check_run(scenario.repository, merged, "network-1")
    scenario.forge.update_check_run(scenario.repository, found, done)
    if scenario.is_gitlab:
        texts = list(scenario.forge.our_comments(scenario.repository, number, "<!-- tidegate:deployments").values())
        assert len(texts) == 1
        assert "Applied: 1 added" in texts[0]
        assert [line.split("|")[1].strip() for line in texts[0].splitlines()[5:]] == ["db", "network"]
    else:
        (run,) = scenario.person().check_runs(scenario.repository, merged, name="tidegate/deploy: network")
        assert run["output"]["title"] == "Applied: 1 added"


def test_no_line_of_a_comment_is_a_command_to_the_forge(scenario, number):
    text = "Look:\n/close\n  /merge\n```\n/approve\n```\na/b"
    made = scenario.forge.comment(scenario.repository, number, text)
    (shown_text,) = scenario.forge.our_comments(scenario.repository, number, "Look").values()
    if scenario.is_gitlab:
        assert not [line for line in shown_text.splitlines() if line.strip().startswith("/")]
        assert shown_text.replace("\u200b", "").splitlines()[-1] == "a/b"
    scenario.forge.update_comment(scenario.repository, number, made, "/close")
    assert scenario.forge.seen_pull_request(scenario.repository, number).is_open


def test_a_pull_request_of_a_fork_is_told_apart_and_can_be_answered(scenario, base):
    number, head = scenario.open_from_fork({"network/main.tf": "# offered\n"})
    seen = scenario.forge.seen_pull_request(scenario.repository, number)
    assert (seen.spec.from_fork, seen.spec.head_sha, seen.spec.author) == (True, head, "visitor")
    assert scenario.forge.pull_request(scenario.repository, number).from_fork
    made = scenario.forge.create_check_run(scenario.repository, shown(head))
    scenario.forge.update_check_run(
        scenario.repository, made, shown(head, "Not planned", "completed", Conclusion.NEUTRAL)
    )
    assert scenario.forge.comment(scenario.repository, number, "It is a fork's.") > 0
