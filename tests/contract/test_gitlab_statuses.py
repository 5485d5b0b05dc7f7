"""Commit statuses on a GitLab that makes pipelines of its own for the same commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.forges import shown
from tidegate.vcs.gitlab.access import GitLabAccess, GitLabCredentials, project
from tidegate.vcs.gitlab.deploy_notes import notify_deployments
from tidegate.vcs.rules.check_run import Conclusion


@pytest.fixture
def world(tmp_path, forges):
    with forges.tried("gitlab", tmp_path) as world:
        yield world


def test_a_status_ends_in_the_pipeline_that_it_began_in(world):
    head = world.push({"network/main.tf": "# one\n"})
    made = world.forge.create_check_run(world.repository, shown(head))
    person = world.person()
    (begun,) = person.statuses(world.repository, head)
    person.start_pipeline(world.repository, "main")
    done = shown(head, "Applied", "completed", Conclusion.SUCCESS)
    world.forge.update_check_run(world.repository, made, done)
    (ended,) = [each for each in person.statuses(world.repository, head) if each["name"] == done.name]
    assert (ended["status"], ended["pipeline_id"]) == ("success", begun["pipeline_id"])


def test_an_older_check_run_of_the_same_name_does_not_hide_the_newer_one(world):
    head = world.push({"network/main.tf": "# one\n"})
    older = world.forge.create_check_run(world.repository, shown(head, "Older"))
    newer = world.forge.create_check_run(world.repository, shown(head, "Newer", external_id="network-2"))
    assert newer > older
    world.forge.update_check_run(world.repository, older, shown(head, "Done", "completed", Conclusion.NEUTRAL))
    words = [each["description"] for each in world.person().statuses(world.repository, head)]
    assert words == ["Newer"]
    world.forge.create_check_run(world.repository, shown(head, "Older, again"))
    world.forge.update_check_run(world.repository, newer, shown(head, "Newer, again"))
    words = [each["description"] for each in world.person().statuses(world.repository, head)]
    assert words == ["Newer, again"]


def links(world, head):
    return [each["target_url"] for each in world.person().statuses(world.repository, head)]


def test_a_status_leads_to_the_page_of_what_it_shows_or_else_to_one_of_tidegates_pages(world):
    head = world.push({"network/main.tf": "# one\n"})
    world.forge.web = "https://tidegate.example"
    page = "https://tidegate.example/deployments/network-1"
    world.forge.create_check_run(world.repository, replace(shown(head), details_url=f"{page}#plan"))
    assert links(world, head) == [f"{page}#network-1"]
    world.forge.create_check_run(world.repository, shown(head, external_id="db-1", name="db"))
    assert "https://tidegate.example/repositories/acme/infra#db-1" in links(world, head)


def test_a_status_leads_to_where_a_plan_is_confirmed_rather_than_to_its_log(world):
    head = world.push({"network/main.tf": "# one\n"})
    log, page = (f"https://tidegate.example/{each}/network-1" for each in ("jobs", "deployments"))
    world.forge.create_check_run(world.repository, replace(shown(head), details_url=log, page_url=page))
    assert links(world, head) == [f"{page}#network-1"]


def test_without_pages_a_status_leads_to_its_commit(world):
    head = world.push({"network/main.tf": "# one\n"})
    world.forge.create_check_run(world.repository, shown(head))
    assert links(world, head) == [f"{world.forge.commit_url(world.repository, head)}#network-1"]


@pytest.mark.parametrize("external_id", ["x" * 300, "group/" * 40 + "infra#nightly@0123456789ab", "ü" * 60])
@pytest.mark.parametrize("page", [None, "https://tidegate.example/pulls/" + "group/" * 40 + "infra/7"])
def test_a_check_run_whose_link_would_be_too_long_is_found_again_all_the_same(world, external_id, page):
    head = world.push({"network/main.tf": "# one\n"})
    world.forge.web = "https://tidegate.example"
    begun = replace(shown(head, external_id=external_id), details_url=page)
    made = world.forge.create_check_run(world.repository, begun)
    (link,) = links(world, head)
    assert len(link) <= 255
    assert link.startswith("https://tidegate.example/repositories/acme/infra#")
    assert world.forge.find_check_run(world.repository, head, external_id) == made
    done = replace(begun, status="completed", title="Applied", conclusion=Conclusion.SUCCESS)
    world.forge.update_check_run(world.repository, made, done)
    assert world.forge.create_check_run(world.repository, done) == made
    (ended,) = world.person().statuses(world.repository, head)
    assert (ended["status"], ended["description"]) == ("success", "Applied")


def test_of_two_notes_on_deployments_that_are_begun_at_a_time_one_stays_and_tells_all(world):
    """The other is written when the first has seen that there is none, and before it writes its own."""
    world.push({"network/main.tf": "# one\n"})
    world.push({"network/main.tf": "# two\n"}, "feature")
    merged = world.merge(number := world.open("feature"))
    access = GitLabAccess(
        lambda: GitLabCredentials(world.server.bot_token, world.server.clone_token), api_url=world.server.api_url
    )
    told = [[{"id": 1, "name": "tidegate/deploy: db", "status": "running", "description": "Planning"}]]

    def statuses():
        if len(told) == 1:
            told.append([*told[0], {**told[0][0], "id": 2, "name": "tidegate/deploy: app"}])
            notify_deployments(access, world.repository, merged, lambda: told[1])
            return told[0]
        return told[1]

    notify_deployments(access, world.repository, merged, statuses)
    (note,) = world.forge.our_comments(world.repository, number, "<!-- tidegate:deployments").values()
    assert [line.split("|")[1].strip() for line in note.splitlines()[5:]] == ["app", "db"]
    assert access.delete(f"{project(world.repository)}/merge_requests/{number}/notes/1000000") is None
