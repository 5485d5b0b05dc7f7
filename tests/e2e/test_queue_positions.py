"""The line of a root's queue as its check runs show it: places that move up, a lock that anybody takes away."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import title, words

pytestmark = pytest.mark.nightly


def page(project, run):
    """Return what a check run's link leads to, as it stands in a check run."""
    return f"/{project.name}/runs/{run['id']}"


def leads_to(project, run, other):
    """Tell whether a check run links to another deployment: to its check run, or its page while there was none."""
    return page(project, other) in words(run) or f"/deployments/{other['external_id']}" in words(run)


def test_a_line_of_several_shows_places_and_links_that_move_up(project):
    shas = [project.push({"app": thing(value)}) for value in ("one",)]
    first = project.reviewed(shas[0], "app")
    shas += [project.push({"app": thing(value)}) for value in ("two", "three", "four")]
    second = project.wait(shas[1], "app", lambda run: "waits for a review" in words(run))
    third = project.wait(shas[2], "app", "Queued: place 2")
    fourth = project.wait(shas[3], "app", "Queued: place 3")
    assert title(second) == "Queued: next"
    assert all(page(project, first) in words(run) for run in (second, third, fourth))
    assert leads_to(project, third, second)
    assert leads_to(project, fourth, third)
    assert f"/queue?repository={project.name.replace('/', '%2F')}&root=app" in words(fourth)

    project.click(first, "Reject")
    moved = project.wait(shas[3], "app", "Queued: place 2")
    running = project.reviewed(shas[1], "app")
    project.wait(shas[2], "app", lambda run: leads_to(project, run, running))
    assert moved["id"] == fourth["id"]
    project.click(running, "Reject")
    project.click(project.reviewed(shas[2], "app"), "Reject")
    project.click(project.reviewed(shas[3], "app"), "Reject")
    assert title(project.ended(shas[3], "app")) == "Rejected"


def by_hand(project, value):
    """Ask for a deployment of a pull request's head by hand; return the head."""
    head = project.push_files({"app/main.tf": project.backed("app", thing(value))}, branch="change", base="main")
    author = project.person("maintainer")
    number = author.open_pull_request(project.name, "change", title="Change")
    author.comment(project.name, number, "tidegate deploy -p app --force")
    return head


def test_a_lock_holds_merges_back_says_who_put_it_there_and_anybody_unlocks_on_what_it_holds_back(project):
    project.deployed(project.push({"app": thing("one")}), "app")
    head = by_hand(project, "two")
    review = project.reviewed(head, "app")
    buttons = project.person("reviewer").buttons(project.name, review["id"])
    assert buttons == ["Approve", "Reject", "Unlock"]
    merged = project.push({"app": thing("three")})
    blocked = project.wait(merged, "app", "Blocked: the queue is locked")
    assert "by `maintainer`" in words(blocked)
    assert head[:7] in words(blocked)
    assert page(project, review) in words(blocked)

    project.click(blocked, "Unlock", by="visitor")
    project.wait(merged, "app", lambda run: "visitor needs write access" in words(run))
    project.click(blocked, "Unlock")
    project.wait(merged, "app", "Queued")
    project.wait(head, "app", lambda run: "**Unlocked** by `reviewer`" in words(run))
    project.click(project.newest(head, "app"), "Reject")
    assert title(project.reviewed(merged, "app")).startswith("Review the plan")
    first = project.check_runs(merged, "tidegate/deploy: app")[-1]
    project.wait_for(merged, first["id"], lambda run: title(run) == "Continued in a newer check")


def test_a_click_on_an_outdated_check_run_changes_nothing_and_says_who_decided(project):
    sha = project.push({"app": thing()})
    review = project.approved(sha, "app")
    assert title(project.ended(sha, "app")).startswith("Applied")
    delivery = project.tidegate.sent("check_run", project.name, action="requested_action")
    payload = {**delivery.payload, "requested_action": {"identifier": "Reject"}}
    payload["sender"] = {**payload["sender"], "login": "maintainer"}
    before = project.newest(sha, "app")
    assert project.tidegate.deliver(type(delivery)(0, "", "check_run", payload), guid=f"late-{sha[:12]}")[0] == 202

    def answered():
        runs = {run["id"]: run for run in project.check_runs(sha, "tidegate/deploy: app")}
        told = words(runs[review["id"]])
        return "reviewer approved this plan before" in told and "no effect" in told and str(before["id"]) in told

    eventually(answered)
    assert project.newest(sha, "app") == before
