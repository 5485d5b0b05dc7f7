"""Commit statuses on a GitLab that makes pipelines of its own for the same commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.forges import shown
from tidegate.vcs.gitlab.access import GitLabAccess, GitLabCredentials, project
from tidegate.vcs.gitlab.deploy_notes import notify_deployments
from tidegate.vcs.rules.check_run import Conclusion


@pytest.fixture
def scenario(tmp_path, forges):
    with forges.tried("gitlab", tmp_path) as scenario:
        yield scenario


def test_a_status_ends_in_the_pipeline_that_it_began_in(scenario):
    head = scenario.push({"network/main.tf": "# one\n"})
    made = scenario.forge.create_check_run(scenario.repository, shown(head))
    person = scenario.person()
    (begun,) = person.statuses(scenario.repository, head)
    person.start_pipeline(scenario.repository, "main")
    done = shown(head, "Applied", "completed", Conclusion.SUCCESS)
    scenario.forge.update_check_run(scenario.repository, made, done)
    (ended,) = [each for each in person.statuses(scenario.repository, head) if each["name"] == done.name]
    assert (ended["status"], ended["pipeline_id"]) == ("success", begun["pipeline_id"])


def test_an_older_check_run_of_the_same_name_does_not_hide_the_newer_one(scenario):
    head = scenario.push({"network/main.tf": "# one\n"})
    older = scenario.forge.create_check_run(scenario.repository, shown(head, "Older"))
    newer = scenario.forge.create_check_run(scenario.repository, shown(head, "Newer", external_id="network-2"))
    assert newer > older
    scenario.forge.update_check_run(scenario.repository, older, shown(head, "Done", "completed", Conclusion.NEUTRAL))
    words = [each["description"] for each in scenario.person().statuses(scenario.repository, head)]
    assert words == ["Newer"]
    scenario.forge.create_check_run(scenario.repository, shown(head, "Older, again"))
    scenario.forge.update_check_run(scenario.repository, newer, shown(head, "Newer, again"))
    words = [each["description"] for each in scenario.person().statuses(scenario.repository, head)]
    assert words == ["Newer, again"]


def links(scenario, head):
    return [each["target_url"] for each in scenario.person().statuses(scenario.repository, head)]


def test_a_status_leads_to_the_page_of_what_it_shows_or_else_to_one_of_tidegates_pages(scenario):
    head = scenario.push({"network/main.tf": "# one\n"})
    scenario.forge.web = "https://tidegate.example"
    page = "https://tidegate.example/deployments/network-1"
    scenario.forge.create_check_run(scenario.repository, replace(shown(head), details_url=f"{page}#plan"))
    assert links(scenario, head) == [f"{page}#network-1"]
    scenario.forge.create_check_run(scenario.repository, shown(head, external_id="db-1", name="db"))
    assert "https://tidegate.example/repositories/acme/infra#db-1" in links(scenario, head)


def test_a_status_leads_to_where_a_plan_is_approved_rather_than_to_its_log(scenario):
    head = scenario.push({"network/main.tf": "# one\n"})
    log, page = (f"https://tidegate.example/{each}/network-1" for each in ("jobs", "deployments"))
    scenario.forge.create_check_run(scenario.repository, replace(shown(head), details_url=log, page_url=page))
    assert links(scenario, head) == [f"{page}#network-1"]


def test_without_pages_a_status_leads_to_its_commit(scenario):
    head = scenario.push({"network/main.tf": "# one\n"})
    scenario.forge.create_check_run(scenario.repository, shown(head))
    assert links(scenario, head) == [f"{scenario.forge.commit_url(scenario.repository, head)}#network-1"]


@pytest.mark.parametrize("external_id", ["x" * 300, "group/" * 40 + "infra#nightly@0123456789ab", "ü" * 60])
@pytest.mark.parametrize("page", [None, "https://tidegate.example/pulls/" + "group/" * 40 + "infra/7"])
def test_a_check_run_whose_link_would_be_too_long_is_found_again_all_the_same(scenario, external_id, page):
    head = scenario.push({"network/main.tf": "# one\n"})
    scenario.forge.web = "https://tidegate.example"
    begun = replace(shown(head, external_id=external_id), details_url=page)
    made = scenario.forge.create_check_run(scenario.repository, begun)
    (link,) = links(scenario, head)
    assert len(link) <= 255
    assert link.startswith("https://tidegate.example/repositories/acme/infra#")
    assert scenario.forge.find_check_run(scenario.repository, head, external_id) == made
    done = replace(begun, status="completed", title="Applied", conclusion=Conclusion.SUCCESS)
    scenario.forge.update_check_run(scenario.repository, made, done)
    assert scenario.forge.create_check_run(scenario.repository, done) == made
    (ended,) = scenario.person().statuses(scenario.repository, head)
    assert (ended["status"], ended["description"]) == ("success", "Applied")


def test_of_two_notes_on_deployments_that_are_begun_at_a_time_one_stays_and_tells_all(scenario):
    """The other is written when the first has seen that there is none, and before it writes its own."""
    scenario.push({"network/main.tf": "# one\n"})
    scenario.push({"network/main.tf": "# two\n"}, "feature")
    merged = scenario.merge(number := scenario.open("feature"))
    access = GitLabAccess(
        lambda: GitLabCredentials(scenario.server.bot_token, scenario.server.clone_token),
        api_url=scenario.server.api_url,
    )
    told = [[{"id": 1, "name": "tidegate/deploy: db", "status": "running", "description": "Planning"}]]

    def statuses():
        if len(told) == 1:
            told.append([*told[0], {**told[0][0], "id": 2, "name": "tidegate/deploy: app"}])
            notify_deployments(access, scenario.repository, merged, lambda: told[1])
            return told[0]
        return told[1]

    notify_deployments(access, scenario.repository, merged, statuses)
    (note,) = scenario.forge.our_comments(scenario.repository, number, "<!-- tidegate:deployments").values()
    assert [line.split("|")[1].strip() for line in note.splitlines()[5:]] == ["app", "db"]
    assert access.delete(f"{project(scenario.repository)}/merge_requests/{number}/notes/1000000") is None
