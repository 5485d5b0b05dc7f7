"""The same is asked for twice at the same moment: one is carried out, and whoever asked for the other is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pages import SECONDS
from tests.e2e.project import title
from tests.e2e.pulls import open_pull
from tests.stepfunctions.scenario import OperatorPorts
from tidegate.deploys.rules.request import Trigger
from tidegate.roots.rules.root import queue_id

pytestmark = pytest.mark.nightly

FILE = """
version: 1
apply: in_pull_request
apply_requirements: {approved: {enabled: false}, undiverged: {enabled: false}}
"""
PEOPLE = ("maintainer", "reviewer")


def at_once(do, people=PEOPLE):
    """Let people do the same at the same moment; return what came of it for each."""
    ready = Barrier(len(people))

    def one(person):
        ready.wait(SECONDS)
        return do(person)

    with ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(one, people))


def by_hand(project):
    """Return the deployments that somebody asked for by hand."""
    found = (
        OperatorPorts(project.tidegate.cloud).repository_index.of_queue(queue_id(project.name, "app"), 10).deployments
    )
    return {one.id for one in found if one.trigger is Trigger.MANUAL}


@pytest.mark.parametrize("verb", ["apply", "deploy"])
def test_of_two_comments_at_the_same_moment_one_is_carried_out_and_the_other_is_answered(project, verb):
    project.deployed(project.push({"app": thing("one")}, **{"tidegate.yaml": FILE}), "app")
    pull, head = open_pull(project, {"app": thing("two")})
    at_once(lambda person: project.person(person).comment(project.name, pull.number, f"tidegate {verb}"))
    told = f"`app` at `{head[:7]}` is already queued"
    eventually(lambda: any(told in one["body"] for one in pull.comments()), what="an answer to the other")
    asked = project.approved(head, "app")
    assert title(project.ended(head, "app")).startswith("Applied")
    assert by_hand(project) == {asked["external_id"]}
    assert project.value("app") == "two"
    assert project.tidegate.audited(asked["external_id"]) == ["RUNNING", "SUCCESS"]


def test_of_two_requests_at_the_same_moment_one_is_carried_out_and_the_other_leads_to_it(project):
    # What is by hand waits behind the review of what was merged, however much later the second one comes.
    project.reviewed(project.push({"app": thing("one")}), "app")
    asked = {"repository": project.name, "roots": ["app"]}
    token = {"Authorization": "Bearer reviewer"}
    with httpx.Client(base_url=project.tidegate.cloud.api_url, headers=token, trust_env=False, timeout=SECONDS) as api:

        def request(**more):
            answer = api.post("/api/v1/deployments", json={**asked, **more})
            assert answer.status_code == 202
            path = f"/api/v1/requests/{answer.json()['request']}"
            return eventually(lambda: (found := api.get(path).json())["outcome"] and found, what="what came of it")

        found = at_once(lambda _: request())
        outcomes = sorted(each["outcome"] for each in found)
        assert outcomes[0].startswith("Enqueued at ")
        assert "is already queued (" in outcomes[1]
        assert len({one["id"] for each in found for one in each["deployments"]}) == 1
        assert len(by_hand(project)) == 1
