"""Plans as rows: on a page of their own, and on those of deployments, pull requests, changes and drift."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from tests.api.plans import CHANGES, HOSTILE, many, planned, pull
from tests.builders import (
    NOW,
    REPOSITORY,
    amended,
    any_drift,
    any_drift_finding,
    any_job,
    any_layer,
    any_plan,
    deployment_in,
    stored_rows,
)
from tests.functions.wires import Context
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State


def addresses(page):
    return re.findall(r'<details class="resource[^>]*>.*?<code>([^<]*)</code>', page.body)


@pytest.fixture
def url(wires):
    return f"/jobs/{planned(wires).planned.plan.job}/plan"


def test_a_plan_is_rows_of_all_that_it_changes_by_module(browser, url):
    page = browser.get(url)
    assert addresses(page)[:2] == ["terraform_data.gone", "aws_security_group.web"]
    for words in ("All 15", "± 2 to replace", "moved from terraform_data.old_name", "imported: existing-id"):
        assert words in page.text
    for words in ("description forces replacement", "leaves the state, is not destroyed", "(known after apply)"):
        assert words in page.text
    assert "(sensitive value)" in page.text
    assert "-of-the-database" not in page.body


@pytest.mark.parametrize(("count", "is_open"), [(1, True), (3, True), (4, False)])
def test_a_short_plan_is_open(wires, browser, count, is_open):
    page = browser.get(f"/jobs/{planned(wires, many(count)).planned.plan.job}/plan")
    assert bool(re.search(r'<details class="resource[^>]* open', page.body)) == is_open


def test_chips_the_filter_and_addresses_narrow_the_rows_without_scripts(browser, url):
    assert addresses(browser.get(f"{url}?show=add")) == ["aws_db_instance.orders", "terraform_data.each[&#34;new&#34;]"]
    assert addresses(browser.get(f"{url}?filter=QUEUE")) == ["module.queue.terraform_data.queue", "queue"]
    one = browser.get(f"{url}?resource={quote('aws_security_group.web')}")
    assert addresses(one) == ["aws_security_group.web"]
    assert re.search(r'<details class="resource[^>]* open', one.body)
    assert "No rows match" in browser.get(f"{url}?filter=nothing").text


@pytest.mark.parametrize("query", ["show=everything", "after=-1", "after=x"])
def test_what_cannot_be_shown_is_refused(browser, url, query):
    assert browser.get(f"{url}?{query}").status == 400


def test_the_text_is_the_second_tab(browser, url, wires):
    assert "+ resource" in browser.get(f"{url}?text=yes").text
    wires.artifacts.put("plans/network-plan-1/plan.txt", b"altered")
    assert "was changed after it was made" in browser.get(f"{url}?text=yes").text
    wires.artifacts.objects.clear()
    assert "has expired" in browser.get(url).text


def test_a_plan_of_an_older_attempt_and_a_job_without_a_plan_are_not_found(wires, browser):
    one = planned(wires)
    wires.jobs.create(any_job(id=f"{one.id}-plan-2", deployment=one.id))
    assert browser.get(f"/jobs/{one.id}-plan-2/plan").status == 404


def test_a_large_plan_sends_rows_first_and_attributes_by_a_link(wires, browser):
    page = browser.get(url := f"/jobs/{planned(wires, many(300)).planned.plan.job}/plan")
    assert len(addresses(page)) == 300
    assert 'class="attribute ' not in page.body
    link = re.search(r'data-plan="([^"]+)"', page.body).group(1)
    assert 'class="attribute remove' in browser.get(link).body
    expanded = browser.get(f"{url}?expand=yes")
    assert expanded.body.count('class="attribute ') == 100
    following = browser.get(re.search(r'rel="next" href="([^"]+)"', expanded.body).group(1).replace("&amp;", "&"))
    assert set(addresses(following)).isdisjoint(addresses(expanded))


def test_the_page_of_a_deployment_begins_with_what_is_destroyed(wires, browser):
    page = browser.get(f"/deployments/{planned(wires, many(300)).id}")
    assert len(addresses(page)) == 200
    assert "All 300 rows" in page.text
    assert "Show the plan" not in page.text


def test_tasks_of_a_cluster_are_rows_in_their_order_with_why_they_are_due(wires, browser):
    tasks = [
        {"address": f"task.{name}", "type": "task", "config_values": {"why": f"{name} is due."}}
        for name in ("validate", "create-cluster")
    ]
    cluster = {"address": "cluster.fleet", "change": {"actions": ["create"], "after": {"kubernetes": "1.31"}}}
    document = {"format_version": "1.2", "resource_changes": [cluster], "action_invocations": tasks}
    page = browser.get(f"/deployments/{planned(wires, document).id}")
    assert addresses(page) == ["cluster.fleet", "task.validate", "task.create-cluster"]
    assert "create-cluster is due." in page.text


def test_names_and_values_are_text(wires, browser):
    change = {
        "actions": ["delete", "create"],
        "before": {HOSTILE: HOSTILE},
        "after": {HOSTILE: [HOSTILE, {HOSTILE: 1}]},
    }
    fields = {"module_address": HOSTILE, "previous_address": HOSTILE, "deposed": HOSTILE}
    resource = {"address": HOSTILE, "change": {**change, "replace_paths": [[HOSTILE]], "importing": {"id": HOSTILE}}}
    outputs = {HOSTILE: {"actions": ["create"], "after": HOSTILE}}
    document = {"format_version": "1.2", "resource_changes": [{**resource, **fields}], "output_changes": outputs}
    one = planned(wires, document)
    for path in (f"/deployments/{one.id}", f"/jobs/{one.planned.plan.job}/plan?filter={quote(HOSTILE)}"):
        page = browser.get(path)
        assert page.status == 200
        assert "<script>alert" not in page.body
        assert "\x1b" not in page.body


def test_a_pull_request_shows_few_plans_at_once_and_leads_to_many(wires, browser):
    layers = pull(wires, 2)
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert len(addresses(page)) == 30
    assert len(re.findall(r' id="([^"]+)"', page.body)) == len(set(re.findall(r' id="([^"]+)"', page.body)))
    assert "terraform_data.gone" in browser.get(f"/jobs/{layers[0].job}/plan").text


def test_plans_of_many_roots_are_read_when_somebody_opens_them(wires, browser):
    layers = pull(wires, 4)
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert addresses(page) == []
    for each in layers:
        assert f'data-plan="/jobs/{each.job}/plan"' in page.body


def test_a_change_shows_its_plans(wires, browser):
    one = planned(wires)
    wires.changed(amended(deployment_in(State.AWAITING_REVIEW, 2), plan=replace(one.planned.plan)))
    assert "aws_security_group.web" in browser.get("/changes/c-1").text


def test_drift_leads_to_the_plan_that_undoes_it(wires, browser):
    layer = any_layer(state=LayerState.PLANNED, schedule="nightly")
    plan = stored_rows(wires.artifacts, any_plan(job=f"{layer.id}-speculate-1"), CHANGES)
    wires.speculative_plans.create([replace(layer, job=plan.job, plan=plan)])
    wires.jobs.create(any_job(JobKind.SPECULATE, id=plan.job, deployment=layer.id))
    finding = any_drift_finding(changes=plan.changes, job=plan.job)
    wires.drifts.save(any_drift(ended_at=NOW, findings=(finding,)))
    assert f'data-plan="/jobs/{plan.job}/plan"' in browser.get("/drift").body
    assert "by the schedule nightly" in browser.get(f"/jobs/{plan.job}/plan").text


def test_large_answers_are_compressed_for_who_accepts_that(wires, browser, url):
    plain = browser.get(url)
    event = browser.event("GET", url, None, {"accept-encoding": "br, gzip;q=0.5"})
    answer = wires.web.answer(event, Context())
    assert (answer["headers"]["Content-Encoding"], answer["headers"]["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(base64.b64decode(answer["body"])).decode() == plain.body
