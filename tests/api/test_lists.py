"""What lists of roots and of deployments show besides: what rests, and what a lock holds back."""

from __future__ import annotations

from dataclasses import replace

from tests.api.scenario import QUEUE, lock
from tests.builders import NOW, REPOSITORY, any_deployed, any_deployment, any_lock, any_root, deployment_in
from tests.instants import utc
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import Orphaned
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State

LISTS = (f"/repositories/{REPOSITORY}", f"/repositories/{REPOSITORY}/deployments", QUEUE)


def test_a_root_that_nothing_was_deployed_to_for_long_is_folded_away(wires, browser):
    old, new = (
        wires.deployed(deployment_in(State.APPLIED, number, root=any_root(name=name), changed_at=at))
        for number, name, at in ((1, "old", utc("2025-06-01T00:00")), (2, "new", NOW))
    )
    for one in (old, new):
        head, line = wires.queues.read(one.queue)
        attempted = replace(any_deployed(), deployment=one.id)
        wires.queues.commit(head, replace(head, length=0, attempted=attempted), take=line)
    body = browser.get(f"/repositories/{REPOSITORY}").body
    folded = body[body.index("<details>") : body.index("</details>", body.index("<details>"))]
    assert "1 root without a deployment for half a year" in folded
    assert "root=old" in folded
    assert "root=new" not in folded
    head, _ = wires.queues.read(old.queue)
    wires.queues.commit(head, replace(head, lock=any_lock()))
    assert "<details>" not in browser.get(f"/repositories/{REPOSITORY}").body


def test_lists_say_of_what_failed_which_newer_revision_is_deployed_in_its_place(wires, browser):
    newer = wires.deployed(deployment_in(State.APPLIED, 2))
    wires.deployed(deployment_in(State.APPLY_FAILED, 1, contained_by=newer.id))
    wires.deployed(deployment_in(State.REJECTED, 3))
    for path in LISTS:
        page = browser.get(path)
        assert f"superseded by {newer.revision.short} , which is" in page.text
        assert page.text.count("superseded by") == 1
        assert 'class="state bad"' not in page.body
    assert "superseded by a newer revision , which is deployed" in browser.get(f"{LISTS[1]}?query=state:failed").text


def test_the_page_and_the_api_find_roots_by_stack_and_tag(wires, browser, reader):
    for number, (name, stack, tags) in enumerate([("orders", "prod", ("team:sre",)), ("network", "dev", ())], 1):
        one = wires.deployed(any_deployment(number, root=any_root(name=name), stack=stack, tags=tags))
        head, line = wires.queues.read(one.queue)
        wires.queues.commit(head, replace(head, length=0, in_flight=one.id), take=line)
    roots = f"/api/v1/repositories/{REPOSITORY}/roots"
    assert [(each["name"], each["stacks"], each["tags"]) for each in reader.get(roots).json["roots"]] == [
        ("network", ["dev"], []),
        ("orders", ["prod"], ["team:sre"]),
    ]
    for query in ("stack_name:prod", "team:sre", "not stack_name:dev"):
        answer = reader.get(f"{roots}?query={query}").json
        assert [each["name"] for each in answer["roots"]] == ["orders"]
        page = browser.get(f"{LISTS[0]}?query={query}").body
        found = page[page.index('aria-label="Roots"') : page.index("</table>")]
        assert ("root=orders" in found, "root=network" in found) == (True, False)
        assert "team:sre" in found
    nothing = browser.get(f"{LISTS[0]}?query=stack_name:prood")
    assert "Did you mean stack_name:prod?" in nothing.text
    assert "prod" in reader.get(f"{roots}?query=stack_name:prood").json["hint"]


def test_a_query_that_means_nothing_is_refused_below_its_box(wires, browser, reader):
    wires.deployed()
    for page, route in ((LISTS[0], f"/api/v1/repositories/{REPOSITORY}/roots"), ("/pulls", "/api/v1/pulls")):
        shown, answer = browser.get(f"{page}?query=root:a and"), reader.get(f"{route}?query=root:a and")
        assert (shown.status, answer.status) == (400, 400)
        assert "follows 'and'" in shown.text
        assert "follows 'and'" in answer.json["error"]["message"]


def test_lists_say_what_a_lock_holds_back(wires, browser):
    wires.deployed()
    wires.deployed(any_deployment(2, trigger=Trigger.MANUAL))
    assert not any("Blocked by a lock" in browser.get(path).text for path in LISTS)
    lock(wires)
    for path in LISTS:
        assert browser.get(path).text.count("Blocked by a lock") == 1


def test_lists_say_what_destroys(wires, browser, reviewer):
    one = wires.deployed(deployment_in(State.APPLIED, trigger=Trigger.MANUAL, destroy=Destruction("last")))
    head, line = wires.queues.read(one.queue)
    deployed = replace(any_deployed(), deployment=one.id, destroyed=True)
    for path in LISTS:
        assert "manual destroy" in browser.get(path).text
    listed = reviewer.get(f"/api/v1/deployments?repository={REPOSITORY}").json["deployments"]
    assert [each["destroy"] for each in listed] == [True]
    queue = f"/api/v1/queue?repository={REPOSITORY}&root={one.root.name}"
    assert [each["destroy"] for each in reviewer.get(queue).json["waiting"]] == [True]
    wires.queues.commit(head, replace(head, deployed=deployed, attempted=deployed), take=line)
    assert reviewer.get(queue).json["destroyed"] is True
    assert "Destroyed: " in browser.get(LISTS[-1]).text


def test_lists_say_what_is_destroyed_and_what_stays_behind_of_a_root_that_is_gone(wires, browser, reviewer):
    for number, name in enumerate(("over", "gone"), 1):
        one = wires.deployed(deployment_in(State.APPLIED, number, root=any_root(name=name)))
        head, line = wires.queues.read(one.queue)
        left = {"orphaned": Orphaned(one.revision.sha, NOW, 12)} if name == "gone" else {"destroyed": True}
        deployed = replace(any_deployed(), deployment=one.id, **left)
        wires.queues.commit(head, replace(head, deployed=deployed, attempted=deployed), take=line)
    page = browser.get(f"/repositories/{REPOSITORY}").text
    assert "destroyed" in page
    assert "removed, 12 resources remain" in page
    listed = reviewer.get(f"/api/v1/repositories/{REPOSITORY}/roots").json["roots"]
    assert [
        (each["name"], each["destroyed"], each["orphaned"] and each["orphaned"]["resources"]) for each in listed
    ] == [
        ("gone", False, 12),
        ("over", True, None),
    ]
