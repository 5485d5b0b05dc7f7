"""Clusters by the API and on pages: what they are, how far a workflow is, and what operators do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.api.calls import failed_cluster
from tests.api.scenario import Client
from tests.builders import REPOSITORY, any_root, deployment_in
from tests.unit.clusters.cluster_scenario import ClusterScenario
from tidegate.deploys.rules.job import log_key
from tidegate.deploys.rules.state import State
from tidegate.ports import LogChunk
from tidegate.rules.access import Access
from tidegate.web.nested import flattened, in_path

LIST = f"/clusters/{REPOSITORY}"
PAGE = f"{LIST}/fleet"
API = f"/api/v1{PAGE}"


@pytest.fixture
def cluster(wires):
    """A management cluster whose upgrade has failed: it holds its backup."""
    return failed_cluster(wires)


@pytest.fixture
def running(wires):
    cluster = ClusterScenario(ports=wires.ports)
    cluster.begin()
    cluster.do("validate")
    cluster.start("back-up")
    return cluster


def form(client, path=PAGE, **fields):
    return client.post_form(path, csrf=client.form_token(), **fields)


def test_the_api_lists_the_clusters_of_a_repository(cluster, reader):
    answer = reader.get(f"/api/v1{LIST}").json
    (one,) = answer["clusters"]
    assert (one["name"], one["kind"], one["state"], one["kubernetes"]) == ("fleet", "management", "failed", "1.31")
    assert one["url"].endswith(PAGE)


def test_the_api_tells_each_task_and_hook_of_the_workflow(cluster, reader):
    one = reader.get(API).json
    assert (one["state"], one["resumable"], one["releasable"], one["lock"]) == ("failed", True, True, None)
    assert [each["name"] for each in one["held"]] == ["backup"]
    workflow = one["workflow"]
    assert (workflow["name"], workflow["operation"], workflow["error"]["error"]) == (
        "management-upgrade", "upgrade", "Oops",
    )  # fmt: skip
    states = {each["task"]["task"]: each["task"]["state"] for each in workflow["tasks"]}
    assert (states["upgrade-cluster"], states["delete-backup"]) == ("failed", "not-reached")
    assert workflow["tasks"][2]["after"][0]["hook"] == "authority"
    assert workflow["versions"] == [{"name": "kubernetes", "before": "1.31", "after": "1.32"}]
    assert workflow["tasks"][0]["task"]["job"] == "d1-task-1"


def test_the_api_tells_who_works_on_a_cluster(running, reader):
    one = reader.get(API).json
    assert (one["state"], one["lock"]["deployment"], one["lock"]["fence"]) == ("working", "d1", 1)
    assert one["workflow"]["error"] is None


def test_a_cluster_that_no_workflow_has_worked_on_is_shown_without_one(wires, reader, browser):
    ClusterScenario(ports=wires.ports)
    assert reader.get(API).json["workflow"] is None
    assert "No workflow" in browser.get(PAGE).text
    assert "Ready" in browser.get(LIST).text


def test_an_unknown_cluster_is_named_and_a_hidden_one_is_not(cluster, reader, visitor, browser):
    unknown = reader.get(f"/api/v1{LIST}/none")
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "unknown_cluster")
    assert visitor.get(API).json["error"]["code"] == "not_found"
    assert browser.get(f"{LIST}/none").status == 404
    assert browser.get(f"{LIST}/{'a' * 3000}").status == 404


def test_what_hooks_have_produced_is_not_shown(wires, cluster, reader, browser):
    wires.ports.clusters.keep_values(REPOSITORY, "fleet", "d1", {"their-token": "s3cret"})
    assert {"key": "their-token", "value": None} in reader.get(API).json["context"]
    body = browser.get(PAGE).body
    assert "their-token" in body
    assert "s3cret" not in body + reader.get(API).body


def test_a_failed_workflow_is_resumed_by_the_api(wires, cluster, reviewer):
    assert reviewer.post_json(f"{API}/resume", {}).status == 200
    (asked,) = wires.events.sent
    assert asked.fields["roots"] == ["fleet"]


def test_a_failed_workflow_is_given_up_by_the_api_with_a_reason(wires, cluster, reviewer):
    assert reviewer.post_json(f"{API}/release", {}).status == 422
    assert reviewer.post_json(f"{API}/release", {"reason": "  "}).status == 422
    assert reviewer.post_json(f"{API}/release", {"reason": "It is hopeless."}).status == 200
    (asked,) = wires.cluster_workflows.errors
    assert "reviewer gave it up. It is hopeless." in asked
    assert wires.audit.published[-1].body["reason"] == "It is hopeless."
    assert reviewer.get(API).json["state"] == "releasing"


@pytest.mark.parametrize("what", ["resume", "release"])
def test_what_is_not_possible_is_refused_with_its_reason(running, reviewer, what):
    running.ports.cluster_workflows.running = {("cluster-management-upgrade-simulated", "d1")}
    answer = reviewer.post_json(f"{API}/{what}", {"reason": "Now."} if what == "release" else {})
    assert (answer.status, answer.json["error"]["code"]) == (409, "not_possible")
    assert "d1 works on fleet" in answer.json["error"]["message"]


@pytest.mark.parametrize("what", ["resume", "release"])
def test_readers_and_visitors_operate_nothing(wires, cluster, reader, visitor, what):
    given = {"reason": "Now."} if what == "release" else {}
    assert reader.post_json(f"{API}/{what}", given).json["error"]["code"] == "not_allowed"
    assert visitor.post_json(f"{API}/{what}", given).json["error"]["code"] == "not_found"
    assert (wires.events.sent, wires.cluster_workflows.errors) == ([], [])


def test_access_control_of_the_clusters_root_says_who_operates_it(wires, cluster, reviewer, reader):
    deployment = wires.deployments.get("d1")
    access = Access(apply=("user:reader",), unlock=("user:reviewer",))
    wires.deployments.save(replace(deployment, settings=replace(deployment.settings, access=access)))
    assert reviewer.post_json(f"{API}/resume", {}).status == 403
    assert reader.post_json(f"{API}/release", {"reason": "Now."}).status == 403
    browser = Client(wires).sign_in("reviewer")
    assert 'class="primary">Resume' not in browser.get(PAGE).body
    assert ">Release</button>" in browser.get(PAGE).body
    assert reader.post_json(f"{API}/resume", {}).status == 200


def test_one_look_tells_what_failed_why_what_is_held_and_what_was_not_reached(cluster, browser):
    text = browser.get(PAGE).text
    assert "upgrade-cluster failed" in text
    assert "backup taken by back-up" in text
    assert "Not reached" in text
    assert "kubernetes 1.31 → 1.32" in text
    assert text.index("upgrade-cluster failed") < text.index("management-upgrade")


def test_the_page_has_a_picture_whose_boxes_lead_to_rows_that_are_there(cluster, browser):
    body = browser.get(PAGE).body
    assert "<svg" in body
    for anchor in set(re.findall(r'href="#([\w-]+)"', body)) - {"main"}:
        assert f'id="{anchor}"' in body


def test_while_a_workflow_runs_its_page_follows_and_offers_no_resume(running, browser):
    body = browser.get(PAGE).body
    assert 'data-live="3"' in body
    assert "/resume" not in body
    assert "Running" in body


def test_a_workflow_whose_plan_has_expired_is_a_list_of_what_ran(wires, cluster, browser):
    record = cluster.record
    gone = replace(record.run, plan=replace(record.run.plan, key="gone"))
    cluster.clusters.save(record.with_run(gone))
    answer = browser.get(PAGE)
    assert "The plan has expired" in answer.text
    assert '<svg class="graph' not in answer.body


def test_a_failed_workflow_is_resumed_on_its_page(wires, cluster, browser):
    answer = form(browser, f"{PAGE}/resume")
    assert (answer.status, answer.headers["location"]) == (303, f"{PAGE}?done=resume")
    assert len(wires.events.sent) == 1
    assert 'class="notice"' not in browser.get(f"{PAGE}?done=resume").body
    wires.queues.enqueue(deployment_in(State.QUEUED, 9, root=any_root(name="fleet")))
    assert "A new deployment is requested" in browser.get(f"{PAGE}?done=resume").text


def test_a_workflow_is_given_up_on_its_page_once_that_is_confirmed_with_a_reason(wires, cluster, browser):
    for fields in ({}, {"reason": "It is hopeless."}, {"reason": " ", "confirm": "yes"}):
        assert form(browser, f"{PAGE}/release", **fields).status == 400
    assert wires.cluster_workflows.errors == []
    assert form(browser, f"{PAGE}/release", reason="It is hopeless.", confirm="yes").status == 303
    assert len(wires.cluster_workflows.errors) == 1
    assert "Being released" in browser.get(PAGE).text
    assert "The next one starts over." in browser.get(f"{PAGE}?done=release").text


def test_a_link_cannot_claim_a_release(cluster, browser):
    assert 'class="notice"' not in browser.get(f"{PAGE}?done=release").body


def test_a_form_of_another_page_operates_nothing(wires, cluster, browser):
    answer = browser.post_form(f"{PAGE}/resume", csrf="forged")
    assert (answer.status, wires.events.sent) == (403, [])


def test_texts_of_providers_are_escaped(cluster, browser):
    record = cluster.record
    error = replace(record.run.first_error, cause="<script>alert(1)</script>")
    cluster.clusters.save(record.with_run(replace(record.run, first_error=error, warnings=("<b>bold</b>",))))
    body = browser.get(PAGE).body
    assert "<script>alert" not in body
    assert "<b>bold" not in body


def test_workload_clusters_and_their_management_cluster_lead_to_each_other(wires, cluster, browser):
    cluster.known(replace(cluster.plan.cluster, name="shop", management="fleet"), cluster.current)
    assert f'href="{LIST}/shop"' in browser.get(PAGE).body
    assert f'href="{PAGE}"' in browser.get(f"{LIST}/shop").body
    assert f'href="{PAGE}"' in browser.get(LIST).body


def test_the_deployment_and_the_repository_lead_to_the_cluster_and_back(cluster, browser):
    assert f'href="{PAGE}"' in browser.get("/deployments/d1").body
    assert 'href="/deployments/d1"' in browser.get(PAGE).body
    assert f'href="{LIST}"' in browser.get(f"/repositories/{REPOSITORY}").body


def test_a_repository_without_clusters_says_how_to_declare_one(wires, browser):
    assert "No clusters yet" in browser.get(LIST).text
    assert f'href="{LIST}"' not in browser.get(f"/repositories/{REPOSITORY}").body


def test_each_task_has_its_log(wires, running, browser):
    assert 'href="/jobs/d1-task-2"' in browser.get(PAGE).body
    assert 'href="/jobs/d1-task-2"' in browser.get("/deployments/d1").body
    wires.job_logs.append("d1-task-2", LogChunk(0, ("Backing up",)))
    page = browser.get("/jobs/d1-task-2")
    assert "Backing up" in page.text
    assert f'href="{PAGE}"' in page.body
    wires.artifacts.put(log_key("d1-task-1"), b"Validated\n")
    assert "Validated" in browser.get("/jobs/d1-task-1").text


def test_a_deployment_that_waits_for_its_first_workflow_leads_nowhere(wires, browser):
    ClusterScenario(current=None, ports=wires.ports).deployed()
    answer = browser.get("/deployments/d1")
    assert answer.status == 200
    assert PAGE not in answer.body


def test_clusters_of_nested_groups_are_found_at_their_addresses():
    assert in_path("acme/platform/infra") == "acme:platform/infra"
    assert flattened("/clusters/acme/platform/infra/hub") == "/clusters/acme:platform/infra/hub"
    assert flattened("/api/v1/clusters/a/b/c/hub/resume") == "/api/v1/clusters/a:b/c/hub/resume"
    assert flattened("/clusters/acme/infra/hub/release") == "/clusters/acme/infra/hub/release"
    assert flattened("/clusters/acme/infra") == "/clusters/acme/infra"
