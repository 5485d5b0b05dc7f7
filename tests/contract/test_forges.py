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


def with_base(world):
    base = world.push({"network/main.tf": "# one\n"})
    return {"base": base}


def with_head(world):
    return {**with_base(world), "head": world.push({"network/main.tf": "# two\n"}, "feature", by="developer")}


def with_number(world):
    return {**with_head(world), "number": world.open("feature")}


@pytest.fixture(params=KINDS)
def world(request, tmp_path, forges):
    needed = {"number": with_number, "head": with_head, "base": with_base}
    prepare = next((needed[name] for name in needed if name in request.fixturenames), None)
    with forges.tried(request.param, tmp_path, prepare) as world:
        yield world


@pytest.fixture
def base(world):
    """Return the first commit of ``main``; from then on the App is installed."""
    return world.made["base"]


@pytest.fixture
def head(world, base):
    return world.made["head"]


@pytest.fixture
def number(world, head):
    return world.made["number"]


def test_commits_are_compared_and_missing_ones_told_apart(world, base, head):
    compare = world.forge.compare
    assert compare(world.repository, base, head) is Comparison.AHEAD
    assert compare(world.repository, head, base) is Comparison.BEHIND
    assert compare(world.repository, head, head) is Comparison.IDENTICAL
    assert compare(world.repository, base, "main") is Comparison.IDENTICAL
    assert compare(world.repository, MISSING, head) is Comparison.BASE_MISSING
    assert compare(world.repository, head, MISSING) is Comparison.HEAD_MISSING
    other = world.push({"db/main.tf": "# three\n"})
    assert compare(world.repository, other, head) is Comparison.DIVERGED


def test_branches_are_where_they_are(world, base, head):
    assert world.forge.default_branch(world.repository) == "main"
    assert world.forge.branch_head(world.repository, "main") == base
    assert world.forge.branch_head(world.repository, "feature") == head
    with pytest.raises(NotFound):
        world.forge.branch_head(world.repository, "none")


def test_a_branch_with_a_slash_is_a_branch(world, base):
    head = world.push({"x.tf": "# x\n"}, "people/dev#1 me".replace(" ", "-"))
    assert world.forge.branch_head(world.repository, "people/dev#1-me") == head
    assert world.forge.change(world.repository, "main", "people/dev#1-me").after == base


def test_a_change_tells_who_made_and_who_committed_its_commits(world, base, head):
    world.push({"network/main.tf": "# three\n"}, "feature", by="reviewer")
    change = world.forge.change(world.repository, "main", "feature")
    # GitLab tells who somebody is by addresses that people publish, or by those that it gives out itself.
    assert set(change.authors.logins) == set(change.committers.logins) == {"developer", "reviewer"}
    assert change.authors.known
    assert change.committers.known
    assert set(world.forge.change(world.repository, "main", head).committers.logins) == {"developer"}


def test_who_made_all_that_a_commit_has_is_told_from_the_first_on(world, base, head):
    newest = world.push({"network/main.tf": "# three\n"}, "feature", by="reviewer")
    made = world.forge.authors(world.repository, newest)
    assert (set(made.logins), made.known) == ({"maintainer", "developer", "reviewer"}, True)
    with pytest.raises(NotFound):
        world.forge.authors(world.repository, MISSING)


def test_a_change_begins_where_the_branches_part(world, base, head):
    assert world.forge.change(world.repository, base, head).fork_sha == base
    newer = world.push({"db/main.tf": "# three\n"})
    assert newer != base
    assert world.forge.change(world.repository, newer, base).fork_sha == base
    assert world.forge.change(world.repository, "main", head).after == base
    # GitLab does not tell what else the commits of both come after.
    assert world.forge.change(world.repository, newer, head).forks_once is not world.is_gitlab
    with pytest.raises(NotFound):
        world.forge.change(world.repository, "main", MISSING)


def test_a_pull_request_is_seen_as_it_is(world, base, head, number):
    seen = world.forge.seen_pull_request(world.repository, number)
    spec = seen.spec
    assert (seen.is_open, seen.merged) == (True, False)
    assert (spec.repository, spec.number) == (world.repository, number)
    assert (spec.branch, spec.base, spec.head_sha, spec.base_sha) == ("feature", "main", head, base)
    assert (spec.author, spec.title, spec.is_draft, spec.from_fork) == ("developer", "A change", False, False)
    assert seen.opened_at.tzinfo is UTC
    with pytest.raises(NotFound):
        world.forge.seen_pull_request(world.repository, 10**6)


def test_a_draft_a_newer_commit_and_another_base_are_seen(world, head, number):
    world.draft(number, is_draft=True)
    assert world.forge.seen_pull_request(world.repository, number).spec.is_draft
    world.draft(number, is_draft=False)
    assert not world.forge.seen_pull_request(world.repository, number).spec.is_draft
    newer = world.person("developer").push(world.repository, {"x.tf": "# x\n"}, "More", branch="feature")
    assert world.forge.seen_pull_request(world.repository, number).spec.head_sha == newer
    world.push({"y.tf": "# y\n"}, "release")
    world.retarget(number, "release")
    assert world.forge.seen_pull_request(world.repository, number).spec.base == "release"


def test_open_pull_requests_are_listed_by_number(world, head, number):
    world.push({"y.tf": "# y\n"}, "second")
    other = world.open("second")
    listed = world.forge.open_pull_requests(world.repository)
    assert [each.spec.number for each in listed] == sorted([number, other])
    assert listed[0].spec.head_sha == head
    world.close(number)
    assert [each.spec.number for each in world.forge.open_pull_requests(world.repository)] == [other]
    closed = world.forge.seen_pull_request(world.repository, number)
    assert (closed.is_open, closed.merged) == (False, False)


def test_a_merge_is_seen_and_told_of_with_its_commit(world, number):
    merged = world.merge(number)
    seen = world.forge.seen_pull_request(world.repository, number)
    assert (seen.is_open, seen.merged) == (False, True)
    (found,) = world.forge.pull_requests_of(world.repository, merged)
    assert (found.spec.number, found.spec.author, found.spec.base, found.merged) == (number, "developer", "main", True)
    with pytest.raises(NotFound):
        world.forge.pull_requests_of(world.repository, MISSING)


def test_a_change_tells_all_of_its_commits(world, base, head):
    assert world.forge.change(world.repository, base, head).commits == (head,)
    assert world.forge.change(world.repository, head, head).commits == ()


def test_a_commit_that_was_pushed_came_with_no_pull_request(world, base):
    pushed = world.push({"z.tf": "# z\n"})
    assert world.forge.pull_requests_of(world.repository, pushed) == []


def test_a_pull_request_is_read_for_what_holds_it_up(world, head, number):
    read = world.forge.pull_request(world.repository, number)
    assert (read.number, read.head_sha, read.head_branch, read.base_branch) == (number, head, "feature", "main")
    assert (read.author, read.is_open, read.from_fork, read.failing_checks) == ("developer", True, False, ())
    world.forge.create_check_run(world.repository, shown(head))
    assert world.forge.pull_request(world.repository, number).failing_checks == ()
    with pytest.raises(NotFound):
        world.forge.pull_request(world.repository, 10**6)


def test_an_approval_is_of_the_head_that_it_was_given_for(world, head, number):
    assert list(world.forge.reviews(world.repository, number)) == []
    world.approve(number)
    (review,) = world.forge.reviews(world.repository, number)
    assert (review.by, review.verdict, review.sha) == ("reviewer", ReviewVerdict.APPROVED, head)
    world.person("developer").push(world.repository, {"x.tf": "# x\n"}, "More", branch="feature")
    (review,) = world.forge.reviews(world.repository, number)
    assert review.sha == head


def test_our_comments_are_told_from_those_of_others_and_changed_in_place(world, number):
    world.say(number, f"{MARKER} -->\nforged")
    first = world.forge.comment(world.repository, number, f"{MARKER} -->\nfirst")
    world.forge.comment(world.repository, number, "a reply without it")
    assert world.forge.our_comments(world.repository, number, MARKER) == {first: f"{MARKER} -->\nfirst"}
    world.forge.update_comment(world.repository, number, first, f"{MARKER} -->\nsecond")
    assert world.forge.our_comments(world.repository, number, MARKER) == {first: f"{MARKER} -->\nsecond"}
    with pytest.raises(NotFound):
        world.forge.update_comment(world.repository, number, 10**9, "text")


def test_reactions_are_put_on_a_comment_as_often_as_one_likes(world, number):
    comment = world.say(number, "tidegate help")
    for reaction in ("rocket", "rocket", "eyes", "eyes", "confused", "confused"):
        world.forge.react(world.repository, number, comment, reaction)


def test_people_may_do_what_the_forge_lets_them(world, base):
    may = {name: world.forge.permission(world.repository, name) for name in ("maintainer", "visitor", "nobody-at-all")}
    assert may["maintainer"] is Permission.ADMIN
    assert may["visitor"] is Permission.READ
    assert may["nobody-at-all"] is Permission.NONE
    assert world.forge.permission(world.repository, "developer") >= Permission.WRITE


def test_who_is_in_a_team_is_told(world, base):
    members = {name: world.forge.is_team_member(world.repository, "platform", name) for name in ("reviewer", "visitor")}
    assert members == {"reviewer": True, "visitor": False}
    assert world.forge.is_team_member(world.repository, "none", "reviewer") is False


def test_a_check_run_is_found_again_by_its_external_id(world, head):
    made = world.forge.create_check_run(world.repository, shown(head))
    assert made > 0
    assert world.forge.find_check_run(world.repository, head, "network-1") == made
    assert world.forge.find_check_run(world.repository, head, "network-2") is None
    assert world.forge.commit_check_runs(world.repository, head) == {made: "network-1"}


def test_a_check_run_is_told_again_what_it_says_already(world, head):
    made = world.forge.create_check_run(world.repository, shown(head, status="queued", title="Queued"))
    for title in ("Queued", "2nd in line"):
        world.forge.update_check_run(world.repository, made, shown(head, status="queued", title=title))
    for title in ("Planning", "Planning on"):
        world.forge.update_check_run(world.repository, made, shown(head, title=title))
    assert world.forge.find_check_run(world.repository, head, "network-1") == made


def test_a_check_run_takes_every_conclusion(world, head):
    for conclusion in Conclusion:
        begun = shown(head, external_id=f"network-{conclusion}", name=conclusion)
        made = world.forge.create_check_run(world.repository, begun)
        ended = replace(begun, status="completed", conclusion=conclusion)
        world.forge.update_check_run(world.repository, made, ended)
        assert world.forge.find_check_run(world.repository, head, begun.external_id) == made, conclusion


def test_check_runs_of_several_names_stand_side_by_side(world, head):
    made = [
        world.forge.create_check_run(world.repository, shown(head, external_id=f"{name}-1", name=name))
        for name in ("network", "db")
    ]
    assert world.forge.commit_check_runs(world.repository, head) == dict(zip(made, ("network-1", "db-1"), strict=True))


def test_a_clone_token_reads_the_repository(world, base):
    assert world.forge.clone_token(world.repository)
    assert world.forge.clone_url(world.repository) == f"{world.server.url}/{world.repository}.git"


def test_what_a_merge_deploys_is_told_where_people_look(world, number):
    merged = world.merge(number)
    for name, title in (("network", "Planning"), ("db", "Planning")):
        world.forge.create_check_run(world.repository, shown(merged, title, external_id=f"{name}-1", name=name))
    done = shown(merged, "Applied: 1 added", "completed", Conclusion.SUCCESS)
    found = world.forge.find_check_run(world.repository, merged, "network-1")
    world.forge.update_check_run(world.repository, found, done)
    if world.is_gitlab:
        texts = list(world.forge.our_comments(world.repository, number, "<!-- tidegate:deployments").values())
        assert len(texts) == 1
        assert "Applied: 1 added" in texts[0]
        assert [line.split("|")[1].strip() for line in texts[0].splitlines()[5:]] == ["db", "network"]
    else:
        (run,) = world.person().check_runs(world.repository, merged, name="tidegate/deploy: network")
        assert run["output"]["title"] == "Applied: 1 added"


def test_no_line_of_a_comment_is_a_command_to_the_forge(world, number):
    text = "Look:\n/close\n  /merge\n```\n/approve\n```\na/b"
    made = world.forge.comment(world.repository, number, text)
    (shown_text,) = world.forge.our_comments(world.repository, number, "Look").values()
    if world.is_gitlab:
        assert not [line for line in shown_text.splitlines() if line.strip().startswith("/")]
        assert shown_text.replace("\u200b", "").splitlines()[-1] == "a/b"
    world.forge.update_comment(world.repository, number, made, "/close")
    assert world.forge.seen_pull_request(world.repository, number).is_open


def test_a_pull_request_of_a_fork_is_told_apart_and_can_be_answered(world, base):
    number, head = world.open_from_fork({"network/main.tf": "# offered\n"})
    seen = world.forge.seen_pull_request(world.repository, number)
    assert (seen.spec.from_fork, seen.spec.head_sha, seen.spec.author) == (True, head, "visitor")
    assert world.forge.pull_request(world.repository, number).from_fork
    made = world.forge.create_check_run(world.repository, shown(head))
    world.forge.update_check_run(world.repository, made, shown(head, "Not planned", "completed", Conclusion.NEUTRAL))
    assert world.forge.comment(world.repository, number, "It is a fork's.") > 0
